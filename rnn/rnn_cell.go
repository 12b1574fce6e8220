package rnn

import (
	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// RNNCellConfig says what an RNNCell is made like; see [RNNConfig].
type RNNCellConfig struct {
	Input        int // D, the features of x
	Hidden       int // H, the features of the state
	Nonlinearity Nonlinearity
	NoBias       bool
	Dtype        mlx.Dtype
}

// RNNCell is one step of an RNN, for loops of one's own.
type RNNCell struct {
	RNNWeights
	net network
}

// NewRNNCell makes an RNNCell with parameters drawn from U(-1/sqrt(H), 1/sqrt(H)).
func NewRNNCell(cfg RNNCellConfig, key *mlx.Array, opts ...Option) (*RNNCell, error) {
	r := &RNNCell{net: network{oneStep: true}}
	c := config{
		cell: recurrent.RNN, input: cfg.Input, hidden: cfg.Hidden, noBias: cfg.NoBias, dtype: cfg.Dtype,
		nonlinearity: cfg.Nonlinearity,
	}
	return construct(r, "rnn.NewRNNCell", &r.net, c, key, opts, func(c *config) []parameter {
		return r.parameters(c, 0)
	})
}

// Step gives the state after x [N, D] from the state h [N, H]; both may lack the batch axis. A nil h stands for zeros.
func (r *RNNCell) Step(x, h *mlx.Array) *mlx.Array {
	n := r.net.with(func(int, int) weights { return r.weights() })
	_, s := n.step(x, State{H: h}, nil)
	return s.H
}

// ZeroState is the state of zeros for N = batch rows, [N, H].
func (r *RNNCell) ZeroState(batch int) *mlx.Array { return r.net.zeroState(batch).H }
