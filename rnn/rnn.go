package rnn

import (
	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// RNNConfig says what an RNN is made like. The zero values of all but Input and Hidden mean the usual.
type RNNConfig struct {
	Input        int          // D, the features of x
	Hidden       int          // H, the features of the state
	Layers       int          // layers above each other; 0 means 1
	Direction    Direction    // of all layers
	Merge        Merge        // of a bidirectional layer's outputs
	Nonlinearity Nonlinearity // Tanh or ReLU
	NoBias       bool         // leaves out bias
	TimeMajor    bool         // x and y are [L, N, D], not [N, L, D]
	Dropout      float64      // probability that an element between two layers is dropped in training; one layer has none
	Dtype        mlx.Dtype    // of the parameters; the zero value means Float32
}

func (c RNNConfig) common() config {
	return config{
		cell: recurrent.RNN, input: c.Input, hidden: c.Hidden, layers: c.Layers, direction: c.Direction, merge: c.Merge,
		noBias: c.NoBias, timeMajor: c.TimeMajor, dropout: c.Dropout, dtype: c.Dtype, nonlinearity: c.Nonlinearity,
	}
}

// RNNWeights are the parameters of an RNN's layer in one direction.
type RNNWeights struct {
	Wxh  *mlx.Array `mlx:"Wxh"`  // [H, D]
	Whh  *mlx.Array `mlx:"Whh"`  // [H, H]
	Bias *mlx.Array `mlx:"bias"` // [H]; nil without bias
}

func (w *RNNWeights) parameters(c *config, layer int) []parameter {
	H := c.hidden
	list := []parameter{
		{place: &w.Wxh, shape: []int{H, c.inputs(layer)}},
		{place: &w.Whh, shape: []int{H, H}},
	}
	if !c.noBias {
		list = append(list, parameter{place: &w.Bias, shape: []int{H}})
	}
	return list
}

// weights gives the arrays by their role; w may be nil.
func (w *RNNWeights) weights() weights {
	all := weights{names: weightNames{"Wxh", "Whh", "bias", ""}}
	if w != nil {
		all.wx, all.wh, all.b = w.Wxh, w.Whh, w.Bias
	}
	return all
}

// RNNLayer is one layer of an RNN: the parameters of its only or forward direction, and of the other one.
type RNNLayer struct {
	RNNWeights
	Reverse *RNNWeights // nil unless the layer is bidirectional
}

func (l *RNNLayer) parameters(c *config, layer int) []parameter {
	list := l.RNNWeights.parameters(c, layer)
	if c.direction == Bidirectional {
		l.Reverse = new(RNNWeights)
		list = append(list, l.Reverse.parameters(c, layer)...)
	}
	return list
}

// RNN is a plain recurrent network ("Finding Structure in Time", 1990) over whole sequences, of one or more layers.
type RNN struct {
	RNNLayer             // the only layer; empty in a stack
	Layers   []*RNNLayer // the layers of a stack of two or more; else nil
	net      network
}

// NewRNN makes an RNN with parameters drawn from U(-1/sqrt(H), 1/sqrt(H)). The same key gives the same parameters.
func NewRNN(cfg RNNConfig, key *mlx.Array, opts ...Option) (*RNN, error) {
	r := new(RNN)
	return construct(r, "rnn.NewRNN", &r.net, cfg.common(), key, opts, func(c *config) (params []parameter) {
		r.Layers, params = assemble(c, &r.RNNLayer, (*RNNLayer).parameters)
		return params
	})
}

// Layer gives layer i from below, 0 being the one that x enters; nil when there is none.
func (r *RNN) Layer(i int) *RNNLayer { return pick(&r.RNNLayer, r.Layers, i) }

func (r *RNN) network() *network {
	return r.net.with(func(layer, direction int) weights {
		var w *RNNWeights
		if l := r.Layer(layer); l != nil && direction == 1 {
			w = l.Reverse
		} else if l != nil {
			w = &l.RNNWeights
		}
		return w.weights()
	})
}

// Forward runs the sequences x [N, L, D] (or as the package's documentation says) from the state s, the zero State
// standing for zeros. It gives the hidden state of the last layer after each step, y [N, L, H] (2H when two
// directions are concatenated), and the final state of all layers.
func (r *RNN) Forward(x *mlx.Array, s State, opts ...CallOption) (y *mlx.Array, final State) {
	return r.network().forward(x, s, opts)
}

// Step runs one step x [N, D] or [D] of all layers. It gives y [N, H] or [H] and the new state. It equals Forward
// over one step, and is for forward layers only. Of the options it takes [Train].
func (r *RNN) Step(x *mlx.Array, s State, opts ...CallOption) (y *mlx.Array, next State) {
	return r.network().step(x, s, opts)
}

// ZeroState is the state of zeros for N = batch rows: H [layers*directions, N, H].
func (r *RNN) ZeroState(batch int) State { return r.net.zeroState(batch) }

// Plan tells how the layer is computed for x of a shape.
func (r *RNN) Plan(shape []int) Plan { return r.net.plan(shape) }
