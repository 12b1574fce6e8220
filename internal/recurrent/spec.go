// Package recurrent is what all routes of the recurrent layers share: the description of what is computed.
package recurrent

// #include "spec.h"
import "C"

// Cell is the kind of recurrent cell.
type Cell int32

// The cells.
const (
	RNN  Cell = C.REC_RNN
	GRU  Cell = C.REC_GRU
	LSTM Cell = C.REC_LSTM
)

// String is the cell's name.
func (c Cell) String() string {
	switch c {
	case RNN:
		return "RNN"
	case GRU:
		return "GRU"
	case LSTM:
		return "LSTM"
	}
	return "unknown cell"
}

// Gates is the number of blocks of H rows in the cell's weights.
func (c Cell) Gates() int {
	switch c {
	case GRU:
		return 3
	case LSTM:
		return 4
	}
	return 1
}

// Direction is the order in which the steps are taken.
type Direction int32

// The directions.
const (
	Forward       Direction = C.REC_FORWARD
	Reverse       Direction = C.REC_REVERSE
	Bidirectional Direction = C.REC_BIDIRECTIONAL
)

// Reset is the place of a GRU's reset gate.
type Reset int32

// The places of the reset gate.
const (
	ResetAfter  Reset = C.REC_RESET_AFTER
	ResetBefore Reset = C.REC_RESET_BEFORE
)

// ActivationKind is a function of one number.
type ActivationKind int32

// The activations; spec.h has their formulas.
const (
	Identity        ActivationKind = C.REC_IDENTITY
	Tanh            ActivationKind = C.REC_TANH
	Sigmoid         ActivationKind = C.REC_SIGMOID
	ReLU            ActivationKind = C.REC_RELU
	Affine          ActivationKind = C.REC_AFFINE
	LeakyReLU       ActivationKind = C.REC_LEAKY_RELU
	ThresholdedReLU ActivationKind = C.REC_THRESHOLDED_RELU
	ScaledTanh      ActivationKind = C.REC_SCALED_TANH
	HardSigmoid     ActivationKind = C.REC_HARD_SIGMOID
	ELU             ActivationKind = C.REC_ELU
	Softsign        ActivationKind = C.REC_SOFTSIGN
	Softplus        ActivationKind = C.REC_SOFTPLUS
)

// Activation is a function with its parameters.
type Activation struct {
	Kind        ActivationKind
	Alpha, Beta float32
}

// Peephole is the form of an LSTM's peephole weights.
type Peephole int32

// The forms of peepholes.
const (
	NoPeephole       Peephole = C.REC_NO_PEEPHOLE
	PeepholeONNX     Peephole = C.REC_PEEPHOLE_ONNX
	PeepholeMPSGraph Peephole = C.REC_PEEPHOLE_MPSGRAPH
)

// Clip is a set of bits: what is limited.
type Clip int32

// The bits of Clip.
const (
	ClipGates Clip = C.REC_CLIP_GATES
	ClipCell  Clip = C.REC_CLIP_CELL
)

// Mask tells which steps count.
type Mask int32

// The kinds of masks.
const (
	NoMask   Mask = C.REC_NO_MASK
	StepMask Mask = C.REC_STEP_MASK
)

// RecurrentDropout is the form of dropout on the state that enters the recurrent product.
type RecurrentDropout int32

// The forms of recurrent dropout.
const (
	NoRecurrentDropout RecurrentDropout = C.REC_NO_RECURRENT_DROPOUT
	DropState          RecurrentDropout = C.REC_DROP_STATE
	DropStatePerGate   RecurrentDropout = C.REC_DROP_STATE_PER_GATE
)

// LayerNorm is the form of layer normalisation inside of the cell.
type LayerNorm int32

// The forms of layer normalisation.
const (
	NoLayerNorm   LayerNorm = C.REC_NO_LAYER_NORM
	CellLayerNorm LayerNorm = C.REC_LAYER_NORM
)

// InitialState is a set of bits: which initial states are given.
type InitialState int32

// The bits of InitialState.
const (
	InitialH InitialState = C.REC_INITIAL_H
	InitialC InitialState = C.REC_INITIAL_C
)

// CellOutput is the place of the LSTM's function of the cell in Spec.Activation.
const CellOutput = C.REC_CELL_OUTPUT

// Spec is what a recurrent layer computes: the Go form of rec_spec in spec.h, where the fields are described.
// It has the same memory layout and can be the key of a map.
type Spec struct {
	Dtype       int32
	WeightDtype int32

	Time       int32
	Batch      int32
	Input      int32
	Hidden     int32
	Projection int32

	Cell             Cell
	Direction        Direction
	Reset            Reset
	Coupled          int32
	Peephole         Peephole
	LayerNorm        LayerNorm
	LayerNormEpsilon float32
	Clip             Clip
	ClipGates        float32
	ClipCell         float32
	Activation       [C.REC_ACTIVATIONS]Activation

	Bias         int32
	InitialState InitialState
	Lengths      int32
	Mask         Mask
	ZeroMasked   int32
	Attention    int32
	Projected    int32

	Training         int32
	RecurrentDropout RecurrentDropout
	ZoneoutH         float32
	ZoneoutC         float32
	SaveGates        int32
}

// DefaultActivations are the usual functions of a cell: tanh for the RNN, sigmoid gates and tanh elsewhere.
func DefaultActivations(c Cell) (a [C.REC_ACTIVATIONS]Activation) {
	switch c {
	case GRU:
		a[0].Kind, a[1].Kind, a[2].Kind = Sigmoid, Sigmoid, Tanh
	case LSTM:
		a[0].Kind, a[1].Kind, a[2].Kind, a[3].Kind = Sigmoid, Sigmoid, Tanh, Sigmoid
		a[CellOutput].Kind = Tanh
	default:
		a[0].Kind = Tanh
	}
	return a
}
