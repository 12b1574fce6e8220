package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

func TestRunningMean(t *testing.T) {
	var m nn.RunningMean
	assert.Zero(t, m.Value())
	require.NoError(t, m.Add(mlx.Scalar(float32(2)), 3))
	require.NoError(t, m.Add(mlx.Scalar(float64(6)), 1))
	require.NoError(t, m.Add(mlx.Scalar(float32(1)).AsType(mlx.BFloat16).Reshape(1, 1), 0))
	assert.Equal(t, 3.0, m.Value())
	assert.Equal(t, 4.0, m.Weight())

	require.ErrorContains(t, m.Add(mlx.New([]float32{1, 2}), 1), "one element")
	require.ErrorContains(t, m.Add(mlx.Scalar(1), 1), "int32")
	require.ErrorContains(t, m.Add(mlx.Scalar(float32(1)), math.NaN()), "weight is NaN")
	require.ErrorContains(t, m.Add(mlx.Scalar(float32(1)), -1), "weight is -1")
	require.Error(t, m.Add(mlx.Scalar(float32(1)).Reshape(2), 1))
	require.Error(t, m.Add(nil, 1))
	assert.Equal(t, 3.0, m.Value(), "a fault adds nothing")

	require.NoError(t, m.Add(mlx.Scalar(float32(math.NaN())), 1))
	assert.True(t, math.IsNaN(m.Value()))
	m.Reset()
	assert.Zero(t, m.Value())
	assert.Zero(t, m.Weight())
}

// B85: a total that is summed up as an array grows a graph. RunningMean does not, and evaluates the carried state.
func TestB85RunningMeanKeepsMemoryFlat(t *testing.T) {
	layer := newLinear(t, 64, 64, 1)
	x := mlx.RandomNormal([]int{32, 64}, mlx.Float32, 0, 1, mlx.Key(2))
	var m nn.RunningMean
	h := mlx.Zeros([]int{32, 64}, mlx.Float32)
	loop := func(n int) {
		for range n {
			scope := mlx.NewScope()
			next := layer.Forward(scope.Own(x).Add(h)).Tanh()
			require.NoError(t, m.Add(next.Square().Mean(), 32, next))
			h.Free()
			h = mlx.Keep(next)
			scope.Close()
		}
	}
	loop(50)
	before := mlx.ActiveMemory()
	mlx.ResetPeakMemory()
	loop(2000)
	assert.LessOrEqual(t, mlx.ActiveMemory(), before+1<<10)
	assert.Less(t, mlx.PeakMemory(), before+1<<20)
	assert.Equal(t, 2050.0*32, m.Weight())
}
