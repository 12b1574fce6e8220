package rnn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: state. Each layer, direction and row, and each of h and c, has its own initial and final state.

func TestB20StateLayout(t *testing.T) {
	g := newF1(t, GRUConfig{Direction: Bidirectional})
	y, s := g.Forward(xBoth(), State{H: f64(numbers("(.3,-.6)(0,0) (0,0)(.3,-.6)"), 2, 2, 2)})
	near(t, f1Given, y.Select(0, 0).SliceAxis(1, 0, 2), digits)
	near(t, f1Reverse, y.Select(0, 0).SliceAxis(1, 2, 4), digits)
	near(t, f1Row1, y.Select(0, 1).SliceAxis(1, 0, 2), digits)
	near(t, numbers("(.299894,.076610) (.045794,-.263294) (.185405,-.326971)"), y.Select(0, 1).SliceAxis(1, 2, 4), digits)
	shaped(t, []int{2, 2, 2}, s.H)
	near(t, numbers("(.200853,.012696) (.090763,.010420) (.180394,.105600) (.299894,.076610)"), s.H, digits)
}

// A state that was computed on another stream and not evaluated.
func TestB26StateOfAnotherStream(t *testing.T) {
	stream, err := mlx.NewStream(mlx.CPU)
	require.NoError(t, err)
	on := mlx.On(stream)
	h := on.Mul(on.Add(h03().H, 1), 1)
	y, _ := newF1(t, GRUConfig{}).Forward(x0(), State{H: on.Sub(h, 1)})
	near(t, f1Given, y, digits)
}

func TestB34OneOfTwoStates(t *testing.T) {
	m := newF2(t, LSTMConfig{})
	y, s := m.Forward(x0(), State{H: hc03().H})
	near(t, numbers("(.109007,-.067967) (.285991,-.042379) (.195713,-.075308)"), y, digits)
	require.NotNil(t, s.C)
	zero := m.ZeroState(1)
	want, wantS := m.Forward(x0(), State{H: zero.H, C: hc03().C})
	y, s = m.Forward(x0(), State{C: hc03().C})
	near(t, floats(t, want), y, 0)
	near(t, floats(t, wantS.C), s.C, 0)
	// Step by step as well.
	at := State{H: hc03().H}
	for i := range 3 {
		y, at = m.Step(f64(row0[2*i:2*i+2], 1, 2), at)
	}
	near(t, numbers("(.195713,-.075308)"), y, digits)
}

func TestB40ZeroState(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		l := newLayer(t, config{cell: cell, input: 2, hidden: 4, layers: 2, direction: Bidirectional, dtype: mlx.Float64}, 3)
		zero := l.ZeroState(3)
		shaped(t, []int{4, 3, 4}, zero.H)
		assert.Equal(t, mlx.Float64, zero.H.Dtype())
		require.Equal(t, cell == recurrent.LSTM, zero.C != nil)
		if zero.C != nil {
			shaped(t, []int{4, 3, 4}, zero.C)
		}
		x := uniform(newRand(1), 1, 3, 5, 2)
		want, wantS := l.Forward(x, State{})
		got, gotS := l.Forward(x, zero)
		near(t, floats(t, want), got, 0)
		near(t, floats(t, wantS.H), gotS.H, 0)
		for _, bad := range l.ZeroState(-1).Arrays() {
			require.ErrorContains(t, bad.Err(), "batch size is -1")
		}
	}
}

// Writing the new state over the old one changes no gradient.
func TestB44StateIsNotUpdatedInPlace(t *testing.T) {
	g := newF1(t, GRUConfig{})
	s := h03()
	start := s.H
	_, d := gradients(t, func(args []*mlx.Array) *mlx.Array {
		var y *mlx.Array
		s.H = args[0]
		y, s = g.Forward(x0(), s)
		return y.Sum()
	}, s.H)
	near(t, numbers("(.650292,.981664)"), d[0], digits)
	near(t, []float64{.3, -.6}, start, 0)

	// The initial state is as it was after forward and backward.
	s = h03()
	y, _ := g.Forward(x0(), s)
	near(t, f1Given, y, digits)
	near(t, []float64{.3, -.6}, s.H, 0)
}

// A sequence in chunks, the state handed on, equals the whole.
func TestChunksEqualTheWhole(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		l := newLayer(t, config{cell: cell, input: 3, hidden: 4, layers: 2, dtype: mlx.Float64}, 3)
		x := uniform(newRand(1), 1, 2, 11, 3)
		want, wantS := l.Forward(x, State{})
		var s State
		var parts []*mlx.Array
		for _, cut := range [][2]int{{0, 1}, {1, 5}, {5, 5}, {5, 11}} {
			var y *mlx.Array
			y, s = l.Forward(x.SliceAxis(1, cut[0], cut[1]), s)
			parts = append(parts, y)
		}
		near(t, floats(t, want), mlx.Concatenate(parts, 1), 1e-14)
		near(t, floats(t, wantS.H), s.H, 1e-14)
	}
}

func TestStateMethods(t *testing.T) {
	scope := mlx.NewScope()
	s := State{H: scope.Own(f64([]float64{1})), C: scope.Own(f64([]float64{2}))}
	s = State{H: s.H.Add(1), C: s.C.Add(1)}
	kept := s.Keep()
	require.NoError(t, kept.Eval())
	scope.Close()
	require.Error(t, s.Err())
	require.NoError(t, kept.Err())
	near(t, []float64{2}, kept.H, 0)
	near(t, []float64{3}, kept.C, 0)
	kept.Free()
	require.Error(t, kept.Err())
	// Eval computes both parts, and so finds faults of the computation.
	cpu, err := mlx.DeviceStream(mlx.CPU)
	require.NoError(t, err)
	require.Error(t, State{H: mlx.On(cpu).Inverse(mlx.Zeros([]int{2, 2}, mlx.Float32))}.Eval())
	require.Error(t, State{C: mlx.On(cpu).Inverse(mlx.Zeros([]int{2, 2}, mlx.Float32))}.Eval())
	assert.Empty(t, State{}.Arrays())
	require.NoError(t, State{}.Err())
	require.NoError(t, State{}.Eval())
	assert.Equal(t, State{}, State{}.Detach())
	assert.Equal(t, State{}, State{}.Keep())
}
