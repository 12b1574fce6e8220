package rnn

import (
	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// LSTMConfig says what an LSTM is made like. The zero values of all but Input and Hidden mean the usual.
type LSTMConfig struct {
	Input     int       // D, the features of x
	Hidden    int       // H, the features of the states
	Layers    int       // layers above each other; 0 means 1
	Direction Direction // of all layers
	Merge     Merge     // of a bidirectional layer's outputs
	NoBias    bool      // leaves out bias
	TimeMajor bool      // x and y are [L, N, D], not [N, L, D]
	Dropout   float64   // probability that an element between two layers is dropped in training; one layer has none

	// ForgetBias is added to the initial bias of the forget gate, once: 1 lets a new layer remember ("An Empirical
	// Exploration of Recurrent Network Architectures", 2015). It is part of the parameter afterwards, so loading
	// parameters replaces it.
	ForgetBias float64

	Dtype mlx.Dtype // of the parameters; the zero value means Float32
}

func (c LSTMConfig) common() config {
	return config{
		cell: recurrent.LSTM, input: c.Input, hidden: c.Hidden, layers: c.Layers, direction: c.Direction, merge: c.Merge,
		noBias: c.NoBias, timeMajor: c.TimeMajor, dropout: c.Dropout, dtype: c.Dtype, forgetBias: c.ForgetBias,
	}
}

// LSTMWeights are the parameters of an LSTM's layer in one direction. Gate order: i, f, g, o.
type LSTMWeights struct {
	Wx   *mlx.Array `mlx:"Wx"`   // [4H, D]
	Wh   *mlx.Array `mlx:"Wh"`   // [4H, H]
	Bias *mlx.Array `mlx:"bias"` // [4H]; nil without bias
}

func (w *LSTMWeights) parameters(c *config, layer int) []parameter {
	H := c.hidden
	list := []parameter{
		{place: &w.Wx, shape: []int{4 * H, c.inputs(layer)}},
		{place: &w.Wh, shape: []int{4 * H, H}},
	}
	if c.noBias {
		return list
	}
	bias := parameter{place: &w.Bias, shape: []int{4 * H}}
	if c.forgetBias != 0 {
		bias.shift = func(a *mlx.Array) *mlx.Array {
			parts := a.SplitAt([]int{H, 2 * H}, 0)
			parts[1] = parts[1].Add(c.forgetBias)
			return mlx.Concatenate(parts, 0)
		}
	}
	return append(list, bias)
}

// weights gives the arrays by their role; w may be nil.
func (w *LSTMWeights) weights() weights {
	all := weights{names: weightNames{"Wx", "Wh", "bias", ""}}
	if w != nil {
		all.wx, all.wh, all.b = w.Wx, w.Wh, w.Bias
	}
	return all
}

// LSTMLayer is one layer of an LSTM: the parameters of its only or forward direction, and of the other one.
type LSTMLayer struct {
	LSTMWeights
	Reverse *LSTMWeights // nil unless the layer is bidirectional
}

func (l *LSTMLayer) parameters(c *config, layer int) []parameter {
	list := l.LSTMWeights.parameters(c, layer)
	if c.direction == Bidirectional {
		l.Reverse = new(LSTMWeights)
		list = append(list, l.Reverse.parameters(c, layer)...)
	}
	return list
}

// LSTM is a long short-term memory ("Long Short-Term Memory", 1997, with the forget gate of "Learning to Forget", 2000)
// over whole sequences, of one or more layers.
type LSTM struct {
	LSTMLayer              // the only layer; empty in a stack
	Layers    []*LSTMLayer // the layers of a stack of two or more; else nil
	net       network
}

// NewLSTM makes an LSTM with parameters drawn from U(-1/sqrt(H), 1/sqrt(H)). The same key gives the same parameters.
func NewLSTM(cfg LSTMConfig, key *mlx.Array, opts ...Option) (*LSTM, error) {
	m := new(LSTM)
	return construct(m, "rnn.NewLSTM", &m.net, cfg.common(), key, opts, func(c *config) (params []parameter) {
		m.Layers, params = assemble(c, &m.LSTMLayer, (*LSTMLayer).parameters)
		return params
	})
}

// Layer gives layer i from below, 0 being the one that x enters; nil when there is none.
func (m *LSTM) Layer(i int) *LSTMLayer { return pick(&m.LSTMLayer, m.Layers, i) }

func (m *LSTM) network() *network {
	return m.net.with(func(layer, direction int) weights {
		var w *LSTMWeights
		if l := m.Layer(layer); l != nil && direction == 1 {
			w = l.Reverse
		} else if l != nil {
			w = &l.LSTMWeights
		}
		return w.weights()
	})
}

// Forward runs the sequences x [N, L, D] (or as the package's documentation says) from the state s, the zero State
// standing for zeros. It gives the hidden state of the last layer after each step, y [N, L, H] (2H when two
// directions are concatenated), and the final hidden and cell states of all layers.
func (m *LSTM) Forward(x *mlx.Array, s State, opts ...CallOption) (y *mlx.Array, final State) {
	return m.network().forward(x, s, opts)
}

// Step runs one step x [N, D] or [D] of all layers. It gives y [N, H] or [H] and the new state. It equals Forward
// over one step, and is for forward layers only. Of the options it takes [Train].
func (m *LSTM) Step(x *mlx.Array, s State, opts ...CallOption) (y *mlx.Array, next State) {
	return m.network().step(x, s, opts)
}

// ZeroState is the state of zeros for N = batch rows: H and C [layers*directions, N, H].
func (m *LSTM) ZeroState(batch int) State { return m.net.zeroState(batch) }

// Plan tells how the layer is computed for x of a shape.
func (m *LSTM) Plan(shape []int) Plan { return m.net.plan(shape) }
