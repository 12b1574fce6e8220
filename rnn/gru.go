package rnn

import (
	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// GRUConfig says what a GRU is made like. The zero values of all but Input and Hidden mean the usual.
type GRUConfig struct {
	Input     int       // D, the features of x
	Hidden    int       // H, the features of the state
	Layers    int       // layers above each other; 0 means 1
	Direction Direction // of all layers
	Merge     Merge     // of a bidirectional layer's outputs
	NoBias    bool      // leaves out b and bhn
	TimeMajor bool      // x and y are [L, N, D], not [N, L, D]
	Dropout   float64   // probability that an element between two layers is dropped in training; one layer has none

	// ResetBefore applies the reset gate to h before the recurrent product and not to the product. (Keras calls the
	// usual form reset_after, ONNX linear_before_reset.) There is no bhn then, since it would only add to b.
	ResetBefore bool

	Dtype mlx.Dtype // of the parameters; the zero value means Float32
}

func (c GRUConfig) common() config {
	return config{
		cell: recurrent.GRU, input: c.Input, hidden: c.Hidden, layers: c.Layers, direction: c.Direction, merge: c.Merge,
		noBias: c.NoBias, timeMajor: c.TimeMajor, dropout: c.Dropout, dtype: c.Dtype, resetBefore: c.ResetBefore,
	}
}

// GRUWeights are the parameters of a GRU's layer in one direction. Gate order: r, z, n.
type GRUWeights struct {
	Wx  *mlx.Array `mlx:"Wx"`  // [3H, D]
	Wh  *mlx.Array `mlx:"Wh"`  // [3H, H]
	B   *mlx.Array `mlx:"b"`   // [3H]; nil without bias
	Bhn *mlx.Array `mlx:"bhn"` // [H]; nil without bias and with ResetBefore
}

func (w *GRUWeights) parameters(c *config, layer int) []parameter {
	H := c.hidden
	list := []parameter{
		{place: &w.Wx, shape: []int{3 * H, c.inputs(layer)}},
		{place: &w.Wh, shape: []int{3 * H, H}},
	}
	if !c.noBias {
		list = append(list, parameter{place: &w.B, shape: []int{3 * H}})
		if !c.resetBefore {
			list = append(list, parameter{place: &w.Bhn, shape: []int{H}})
		}
	}
	return list
}

// weights gives the arrays by their role; w may be nil.
func (w *GRUWeights) weights(c *config) weights {
	all := weights{names: weightNames{"Wx", "Wh", "b", "bhn"}}
	if c.resetBefore {
		all.names.bhn = ""
	}
	if w != nil {
		all.wx, all.wh, all.b, all.bhn = w.Wx, w.Wh, w.B, w.Bhn
	}
	return all
}

// GRULayer is one layer of a GRU: the parameters of its only or forward direction, and of the other one.
type GRULayer struct {
	GRUWeights
	Reverse *GRUWeights // nil unless the layer is bidirectional
}

func (l *GRULayer) parameters(c *config, layer int) []parameter {
	list := l.GRUWeights.parameters(c, layer)
	if c.direction == Bidirectional {
		l.Reverse = new(GRUWeights)
		list = append(list, l.Reverse.parameters(c, layer)...)
	}
	return list
}

// GRU is a gated recurrent unit (arXiv:1406.1078) over whole sequences, of one or more layers.
type GRU struct {
	GRULayer             // the only layer; empty in a stack
	Layers   []*GRULayer // the layers of a stack of two or more; else nil
	net      network
}

// NewGRU makes a GRU with parameters drawn from U(-1/sqrt(H), 1/sqrt(H)). The same key gives the same parameters.
func NewGRU(cfg GRUConfig, key *mlx.Array, opts ...Option) (*GRU, error) {
	g := new(GRU)
	return construct(g, "rnn.NewGRU", &g.net, cfg.common(), key, opts, func(c *config) (params []parameter) {
		g.Layers, params = assemble(c, &g.GRULayer, (*GRULayer).parameters)
		return params
	})
}

// Layer gives layer i from below, 0 being the one that x enters; nil when there is none.
func (g *GRU) Layer(i int) *GRULayer { return pick(&g.GRULayer, g.Layers, i) }

func (g *GRU) network() *network {
	return g.net.with(func(layer, direction int) weights {
		var w *GRUWeights
		if l := g.Layer(layer); l != nil && direction == 1 {
			w = l.Reverse
		} else if l != nil {
			w = &l.GRUWeights
		}
		return w.weights(&g.net.cfg)
	})
}

// Forward runs the sequences x [N, L, D] (or as the package's documentation says) from the state s, the zero State
// standing for zeros. It gives the hidden state of the last layer after each step, y [N, L, H] (2H when two
// directions are concatenated), and the final state of all layers.
func (g *GRU) Forward(x *mlx.Array, s State, opts ...CallOption) (y *mlx.Array, final State) {
	return g.network().forward(x, s, opts)
}

// Step runs one step x [N, D] or [D] of all layers. It gives y [N, H] or [H] and the new state. It equals Forward
// over one step, and is for forward layers only. Of the options it takes [Train].
func (g *GRU) Step(x *mlx.Array, s State, opts ...CallOption) (y *mlx.Array, next State) {
	return g.network().step(x, s, opts)
}

// ZeroState is the state of zeros for N = batch rows: H [layers*directions, N, H].
func (g *GRU) ZeroState(batch int) State { return g.net.zeroState(batch) }

// Plan tells how the layer is computed for x of a shape.
func (g *GRU) Plan(shape []int) Plan { return g.net.plan(shape) }
