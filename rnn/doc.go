// Package rnn has recurrent layers: [RNN], [GRU] and [LSTM] over whole sequences, and [RNNCell], [GRUCell] and
// [LSTMCell] for one step.
//
// # Equations
//
// They are those of mlx.nn and PyTorch. x is the input of a step, h and c are the states that it starts from, * is
// the product of elements.
//
//	RNN   h' = tanh(Wxh x + Whh h + bias), or ReLU in place of tanh
//
//	GRU   r  = sigmoid(Wx_r x + b_r + Wh_r h)
//	      z  = sigmoid(Wx_z x + b_z + Wh_z h)
//	      n  = tanh(Wx_n x + b_n + r * (Wh_n h + bhn))        reset after the product
//	      n  = tanh(Wx_n x + b_n + Wh_n (r * h))              with ResetBefore
//	      h' = (1 - z) * n + z * h
//
//	LSTM  i, f, o = sigmoid(Wx x + Wh h + bias)               each with its own rows
//	      g  = tanh(Wx_g x + Wh_g h + bias_g)
//	      c' = f * c + i * g
//	      h' = o * tanh(c')
//
// # Parameters
//
// The parameters have the names, shapes and gate orders of mlx.nn: a GRU has Wx [3H, D], Wh [3H, H], b [3H] and bhn
// [H] in the order r, z, n; an LSTM has Wx [4H, D], Wh [4H, H] and bias [4H] in the order i, f, g, o; an RNN has
// Wxh [H, D], Whh [H, H] and bias [H]. D is the number of input features and H that of hidden units.
//
// A layer that is no stack holds them directly, so that a file of mlx.nn's GRU, LSTM or RNN fits it as it is. In a
// stack of two or more they belong to its layers, and the second direction of a bidirectional layer is called reverse:
//
//	one layer            Wx, Wh, b, bhn
//	bidirectional        Wx, Wh, b, bhn, reverse.Wx, reverse.Wh, reverse.b, reverse.bhn
//	two layers           layers.0.Wx, ..., layers.1.bhn
//	both                 layers.0.Wx, ..., layers.0.reverse.Wx, ..., layers.1.reverse.bhn
//
// A layer of direction [Reverse] has its parameters under the plain names.
//
// PyTorch has two biases; here the two are added, but for the n rows of a GRU's second bias, which are bhn.
//
// # Input, output and state
//
// The input is x [N, L, D]: N rows of L steps; with TimeMajor x [L, N, D]; or one row without a batch axis, x [L, D].
// The output y has the same axes, with H features (2H for a bidirectional layer that is merged by [Concat], the
// forward half first). y at a step is the state after that step, also in the reverse direction.
//
// A [State] is [layers*directions, N, H] ([layers*directions, H] without a batch axis) whichever axis of x comes
// first: entry layer*directions + direction, as in PyTorch. The final state of the reverse direction is that
// after step 0, the last one that it takes. An absent initial state, or the absent one of H and C, is zero.
//
// # Types
//
// The computation runs in the smallest floating point type that holds those of x, of the weights and of the states
// that are given: float16 with float32 gives float32, float16 with bfloat16 gives float32, any with float64 gives
// float64. y and the final states have that type. Integers are an error: convert them with AsType.
//
// # Errors
//
// Constructors return an error that lists all the faults of a configuration. A fault of a call (a wrong shape,
// type or length) comes as outputs that carry an error, which names the argument, what was given and what was expected.
//
// # Routes
//
// Plan tells how a layer is computed and why not otherwise. In this version that is the composed route: plain MLX operations,
// step by step, with the gradient through time written out. It serves all dtypes, second derivatives and vmap. On a
// CPU with several cores (GOMAXPROCS) it shares out the rows of a large batch, or the two directions of a layer, to
// streams that run side by side; the last bits of a gradient can differ between machines with other numbers of cores.
//
// A layer may be used by several goroutines at once as long as nobody changes its parameters.
package rnn
