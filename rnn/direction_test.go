package rnn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: direction. Reverse and two-direction runs: turned back, joined by position, started at the right end.

func TestB01BidirectionalIsTwoScans(t *testing.T) {
	y, _ := newF2(t, LSTMConfig{Direction: Bidirectional}).Forward(x0(), State{})
	shaped(t, []int{1, 3, 4}, y)
	v := floats(t, y)
	near(t, numbers("(.131367,-.066159,.243908,-.077359)"), y.SliceAxis(1, 0, 1), digits)
	near(t, numbers("(.201406,-.075144,.079448,-.060210)"), y.SliceAxis(1, 2, 3), digits)
	assert.Len(t, v, 12)

	// At any size: x and its mirror image in one direction, the second result turned back.
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		for _, size := range []struct{ N, T, D, H int }{{1, 1, 1, 1}, {2, 7, 3, 5}, {4, 4, 4, 4}, {3, 33, 2, 17}} {
			c := config{cell: cell, input: size.D, hidden: size.H, dtype: mlx.Float64, direction: Bidirectional}
			both := newLayer(t, c, 1)
			c.direction = Forward
			one := newLayer(t, c, 2)
			x := uniform(newRand(4), 1, size.N, size.T, size.D)
			y, s := both.Forward(x, State{})
			params := valuesOf(both)
			forward, backward := params[:len(params)/2], params[len(params)/2:]
			withParams(one, forward, func() {
				want, last := one.Forward(x, State{})
				near(t, floats(t, want), y.SliceAxis(2, 0, size.H), 1e-12)
				near(t, floats(t, last.H), s.H.SliceAxis(0, 0, 1), 1e-12)
			})
			withParams(one, backward, func() {
				want, last := one.Forward(x.Flip(1), State{})
				near(t, floats(t, want.Flip(1)), y.SliceAxis(2, size.H, 2*size.H), 1e-12)
				near(t, floats(t, last.H), s.H.SliceAxis(0, 1, 2), 1e-12)
			})
		}
	}
}

func TestB32SummaryOfBothDirections(t *testing.T) {
	y, s := newF1(t, GRUConfig{Direction: Bidirectional}).Forward(x0(), State{})
	near(t, numbers("(.034581,-.016819,.180394,.105600)"), y.SliceAxis(1, 0, 1), digits)
	// The final states are the forward one of the last position and the reverse one of position 0.
	near(t, numbers("(.172365,.120280,.180394,.105600)"), s.H, digits)
}

func TestMerges(t *testing.T) {
	for merge, want := range map[Merge]func(f, r float64) float64{
		Sum:     func(f, r float64) float64 { return f + r },
		Mul:     func(f, r float64) float64 { return f * r },
		Average: func(f, r float64) float64 { return (f + r) / 2 },
	} {
		y, s := newF1(t, GRUConfig{Direction: Bidirectional, Merge: merge}).Forward(x0(), State{})
		shaped(t, []int{1, 3, 2}, y)
		shaped(t, []int{2, 1, 2}, s.H)
		all := make([]float64, 6)
		for i := range all {
			all[i] = want(f1Zero[i], f1Reverse[i])
		}
		near(t, all, y, 2*digits, merge.String())
	}
	y, _ := newF1(t, GRUConfig{Direction: Bidirectional, Merge: NoMerge}).Forward(x0(), State{})
	shaped(t, []int{1, 3, 2, 2}, y)
	near(t, f1Zero, y.Select(2, 0), digits)
	near(t, f1Reverse, y.Select(2, 1), digits)
}

func TestB80ReverseInsideOfACompiledFunction(t *testing.T) {
	flip := mlx.Compile(func(args []*mlx.Array) []*mlx.Array { return []*mlx.Array{args[0].Flip(0).Mul(2).Add(1)} })
	defer flip.Close()
	out, err := flip.Call(f64([]float64{1, 2, 3}))
	require.NoError(t, err)
	near(t, []float64{7, 5, 3}, out[0], 0)

	g := newF1(t, GRUConfig{Direction: Reverse})
	run := mlx.Compile(func(args []*mlx.Array) []*mlx.Array {
		y, s := g.Forward(args[0], State{})
		return []*mlx.Array{y, s.H}
	})
	defer run.Close()
	for range 3 {
		out, err := run.Call(x0())
		require.NoError(t, err)
		near(t, f1Reverse, out[0], digits)
		near(t, f1Reverse[:2], out[1], digits)
	}
	// The gradient inside of a compiled function.
	grad := mlx.Compile(func(args []*mlx.Array) []*mlx.Array {
		d, err := mlx.Grad(func(args []*mlx.Array) []*mlx.Array {
			y, _ := g.Forward(args[0], State{})
			return []*mlx.Array{y.Square().Sum()}
		})(args...)
		if err != nil {
			return []*mlx.Array{mlx.ErrorArray("gradient", err)}
		}
		return d
	})
	defer grad.Close()
	_, want := gradients(t, func(args []*mlx.Array) *mlx.Array {
		y, _ := g.Forward(args[0], State{})
		return y.Square().Sum()
	}, x0())
	for range 2 {
		out, err := grad.Call(x0())
		require.NoError(t, err)
		near(t, floats(t, want[0]), out[0], 1e-12)
	}
}
