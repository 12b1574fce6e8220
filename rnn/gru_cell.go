package rnn

import (
	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// GRUCellConfig says what a GRUCell is made like; see [GRUConfig].
type GRUCellConfig struct {
	Input       int // D, the features of x
	Hidden      int // H, the features of the state
	NoBias      bool
	ResetBefore bool
	Dtype       mlx.Dtype
}

// GRUCell is one step of a GRU, for loops of one's own.
type GRUCell struct {
	GRUWeights
	net network
}

// NewGRUCell makes a GRUCell with parameters drawn from U(-1/sqrt(H), 1/sqrt(H)).
func NewGRUCell(cfg GRUCellConfig, key *mlx.Array, opts ...Option) (*GRUCell, error) {
	g := &GRUCell{net: network{oneStep: true}}
	c := config{
		cell: recurrent.GRU, input: cfg.Input, hidden: cfg.Hidden, noBias: cfg.NoBias, dtype: cfg.Dtype,
		resetBefore: cfg.ResetBefore,
	}
	return construct(g, "rnn.NewGRUCell", &g.net, c, key, opts, func(c *config) []parameter {
		return g.parameters(c, 0)
	})
}

// Step gives the state after x [N, D] from the state h [N, H]; both may lack the batch axis. A nil h stands for zeros.
func (g *GRUCell) Step(x, h *mlx.Array) *mlx.Array {
	n := g.net.with(func(int, int) weights { return g.weights(&g.net.cfg) })
	_, s := n.step(x, State{H: h}, nil)
	return s.H
}

// ZeroState is the state of zeros for N = batch rows, [N, H].
func (g *GRUCell) ZeroState(batch int) *mlx.Array { return g.net.zeroState(batch).H }
