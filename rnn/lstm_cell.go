package rnn

import (
	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// LSTMCellConfig says what an LSTMCell is made like; see [LSTMConfig].
type LSTMCellConfig struct {
	Input      int // D, the features of x
	Hidden     int // H, the features of the states
	NoBias     bool
	ForgetBias float64
	Dtype      mlx.Dtype
}

// LSTMCell is one step of an LSTM, for loops of one's own.
type LSTMCell struct {
	LSTMWeights
	net network
}

// NewLSTMCell makes an LSTMCell with parameters drawn from U(-1/sqrt(H), 1/sqrt(H)).
func NewLSTMCell(cfg LSTMCellConfig, key *mlx.Array, opts ...Option) (*LSTMCell, error) {
	m := &LSTMCell{net: network{oneStep: true}}
	c := config{
		cell: recurrent.LSTM, input: cfg.Input, hidden: cfg.Hidden, noBias: cfg.NoBias, dtype: cfg.Dtype,
		forgetBias: cfg.ForgetBias,
	}
	return construct(m, "rnn.NewLSTMCell", &m.net, c, key, opts, func(c *config) []parameter {
		return m.parameters(c, 0)
	})
}

// Step gives the state after x [N, D] from the state s, whose H and C are [N, H]; all may lack the batch axis. An
// absent H or C stands for zeros.
func (m *LSTMCell) Step(x *mlx.Array, s State) State {
	n := m.net.with(func(int, int) weights { return m.weights() })
	_, next := n.step(x, s, nil)
	return next
}

// ZeroState is the state of zeros for N = batch rows: H and C [N, H].
func (m *LSTMCell) ZeroState(batch int) State { return m.net.zeroState(batch) }
