// What a recurrent layer computes, as one plain struct. Every route (composed, CPU, Metal, MPSGraph) reads it and
// every cache uses the whole of it as its key, so it has only 32-bit fields: no padding, no pointers, and equal
// layers have equal bytes. Metal source can include it. spec.go mirrors it; a test compares the two field by field.
#pragma once

#ifndef __METAL_VERSION__
#include <stdint.h>
#endif

enum { REC_RNN, REC_GRU, REC_LSTM };

enum { REC_FORWARD, REC_REVERSE, REC_BIDIRECTIONAL };

// Where a GRU's reset gate acts: on the product R h, or on h before the product.
enum { REC_RESET_AFTER, REC_RESET_BEFORE };

// The activations of ONNX, and the identity.
//   affine alpha*x + beta, leaky_relu alpha*x below 0, thresholded_relu 0 up to alpha, scaled_tanh alpha*tanh(beta*x),
//   hard_sigmoid clamp(alpha*x + beta, 0, 1), elu alpha*(exp(x) - 1) below 0, softsign x/(1 + |x|), softplus log(1 + exp(x)).
enum {
  REC_IDENTITY,
  REC_TANH,
  REC_SIGMOID,
  REC_RELU,
  REC_AFFINE,
  REC_LEAKY_RELU,
  REC_THRESHOLDED_RELU,
  REC_SCALED_TANH,
  REC_HARD_SIGMOID,
  REC_ELU,
  REC_SOFTSIGN,
  REC_SOFTPLUS
};

// Peephole weights of an LSTM. ONNX: three vectors i, f, o, where o sees the new cell. MPSGraph: one vector for
// each of the four gates, all of which see the old cell.
enum { REC_NO_PEEPHOLE, REC_PEEPHOLE_ONNX, REC_PEEPHOLE_MPSGRAPH };

// Bits of clip: limits of the gates' pre-activations, and of the new cell.
enum { REC_CLIP_GATES = 1, REC_CLIP_CELL = 2 };

// Which steps count: all, or those of a mask [T, N]. A step that does not count keeps the state.
enum { REC_NO_MASK, REC_STEP_MASK };

// Recurrent dropout: one mask [N, H] for all steps on the state that enters R, or one for each gate.
enum { REC_NO_RECURRENT_DROPOUT, REC_DROP_STATE, REC_DROP_STATE_PER_GATE };

// Layer normalisation inside of the cell: of both products, x W and h R (and of the LSTM's cell before its activation).
enum { REC_NO_LAYER_NORM, REC_LAYER_NORM };

// Bits of initial_state: which initial states are given; an absent one is zero.
enum { REC_INITIAL_H = 1, REC_INITIAL_C = 2 };

typedef struct {
  int32_t kind;
  float alpha;
  float beta;
} rec_activation;

// The places of rec_spec.activation. The gates stand in MLX's order: r, z, n and i, f, g, o. The last place is
// the LSTM's function of the cell. An RNN uses the first; places that a cell has no use for stay zero.
enum { REC_ACTIVATIONS = 5, REC_CELL_OUTPUT = 4 };

typedef struct {
  // Types, numbered as mlx.Dtype: of x, states and outputs, and of the weights.
  int32_t dtype;
  int32_t weight_dtype;

  // Sizes: T steps, N rows, I features, H hidden units, P units after the projection (0: none).
  int32_t time;
  int32_t batch;
  int32_t input;
  int32_t hidden;
  int32_t projection;

  // The cell.
  int32_t cell;
  int32_t direction;
  int32_t reset;
  int32_t coupled;  // f = 1 - i
  int32_t peephole;
  int32_t layer_norm;
  float layer_norm_epsilon;
  int32_t clip;
  float clip_gates;
  float clip_cell;
  rec_activation activation[REC_ACTIVATIONS];

  // Which operands there are.
  int32_t bias;
  int32_t initial_state;
  int32_t lengths;    // an array [N] of the rows' lengths
  int32_t mask;
  int32_t zero_masked;  // outputs of steps that do not count are zero, not the kept state
  int32_t attention;  // AUGRU: an array [T, N] that scales the update gate
  int32_t projected;  // x is x W + b already, [T, N, gates*H]

  // Training: whether random masks are drawn, at which rates, and whether the gates are kept for the gradient.
  int32_t training;
  int32_t recurrent_dropout;
  float zoneout_h;
  float zoneout_c;
  int32_t save_gates;
} rec_spec;
