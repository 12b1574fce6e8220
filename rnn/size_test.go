package rnn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: size. Results do not depend on the size of the batch, the length or the hidden size.

func TestB43RowsOfALargeBatch(t *testing.T) {
	const D, T = 7, 3
	for _, H := range []int{1, 31, 32, 63, 64, 65, 257} {
		l := newLayer(t, config{cell: recurrent.GRU, input: D, hidden: H}, 1)
		x := mlx.RandomNormal([]int{1025, T, D}, mlx.Float32, 0, 1, mlx.Key(2))
		require.NoError(t, x.Eval())
		alone := make([][]float64, x.Dim(0))
		for row := range alone {
			scope := mlx.NewScope()
			y, _ := l.Forward(scope.Own(x).SliceAxis(0, row, row+1), State{})
			alone[row] = floats(t, y)
			scope.Close()
		}
		for _, N := range []int{1, 31, 33, 129, 1025} {
			y, _ := l.Forward(x.SliceAxis(0, 0, N), State{})
			together := floats(t, y)
			worst := 0.0
			for i, v := range together {
				d := math.Abs(v - alone[i/(T*H)][i%(T*H)])
				worst = math.Max(worst, d)
			}
			assert.LessOrEqual(t, worst, 1e-5, "H=%d N=%d", H, N)
		}
	}
}

// A graph as long as the sequence: built, differentiated, evaluated, and freed without evaluation.
func TestB86VeryLongSequences(t *testing.T) {
	const T = 20_000
	l := newLayer(t, config{cell: recurrent.GRU, input: 1, hidden: 1, noBias: true}, 1)
	for _, p := range paramsOf(l) {
		*p.place = mlx.Full((*p.place).Shape(), .5, mlx.Float32)
	}
	x := mlx.Ones([]int{1, T, 1}, mlx.Float32)
	y, s := l.Forward(x, State{})
	near(t, []float64{.174468}, y.Select(1, 0), digits)
	near(t, []float64{.578405}, y.Select(1, 9), digits)
	near(t, []float64{.611518}, y.Select(1, T-1), digits)
	near(t, []float64{.611518}, s.H, digits)

	d := layerGradients(t, l, x, State{}, sumOfH)
	for name, g := range d {
		for _, v := range floats(t, g) {
			require.False(t, math.IsNaN(v), name)
		}
	}
	// What is far in the past has no part in the final state; the last step has.
	dx := floats(t, d["x"])
	assert.Less(t, math.Abs(dx[0]), 1e-6)
	assert.Greater(t, math.Abs(dx[T-1]), 1e-3)

	// Freed without evaluation.
	y, s = l.Forward(x, State{})
	require.NoError(t, y.Err())
	y.Free()
	s.Free()
	_, grads, err := mlx.ValueAndGrad(func(args []*mlx.Array) []*mlx.Array {
		y, _ := l.Forward(args[0], State{})
		return []*mlx.Array{y.Sum()}
	})(x)
	require.NoError(t, err)
	grads[0].Free()

	// The other cells, and MLX's own gradient through all the operations, are no different.
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.LSTM} {
		l := newLayer(t, config{cell: cell, input: 1, hidden: 1, direction: Bidirectional}, 1)
		d := layerGradients(t, l, x.SliceAxis(1, 0, T/4), State{}, sumOfOutputs)
		shaped(t, []int{1, T / 4, 1}, d["x"])
	}
	cell := scan{cell: rnnSteps{}, T: T, N: 1, H: 1, plain: true}
	_, g := gradients(t, func(args []*mlx.Array) *mlx.Array {
		return cell.recur(operands{a: args[0], wh: mlx.Ones([]int{1, 1}, mlx.Float32), h0: mlx.Zeros([]int{1, 1}, mlx.Float32)})[1].Sum()
	}, mlx.Zeros([]int{T, 1}, mlx.Float32))
	near(t, []float64{1}, g[0].SliceAxis(0, 0, 1), digits)
}

// Cutting and joining is exact at every number of steps around the widths of the cut.
func TestCutAndJoin(t *testing.T) {
	for _, T := range []int{1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 1100} {
		const N = 2
		s := scan{T: T, N: N, H: 1}
		a := mlx.Arange(0, float64(T*N*3), 1, mlx.Float32).Reshape(T*N, 3)
		steps := s.steps(a)
		require.Len(t, steps, T)
		for i, step := range steps {
			require.Equal(t, []int{N, 3}, step.Shape(), "step %d of %d", i, T)
		}
		near(t, floats(t, a), s.join(steps), 0)
		last := floats(t, steps[T-1])
		assert.InDelta(t, float64(T*N*3-1), last[5], 0)
	}
}
