package optim_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
)

func TestClipEqualsMLX(t *testing.T) {
	for text, want := range readVectors(t).Clip {
		limit, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		given := grads(t, 0)
		clipped, norm := optim.ClipByGlobalNorm(given, limit)
		assert.InDelta(t, want.Norm, values(t, norm)[0], 1e-5*want.Norm)
		for i, g := range clipped {
			assert.Equal(t, given[i].Name, g.Name)
			requireNear(t, want.Grads[g.Name], g.Array, 1e-6, g.Name)
			require.NoError(t, given[i].Array.Eval(), "the given ones stay usable")
		}
	}
}

func TestClipOfHalfPrecision(t *testing.T) {
	// The square of 60000 is beyond the largest half.
	g := nn.Grads{{Name: "a", Array: mlx.New([]float32{60000, 0}).AsType(mlx.Float16)}, {Name: "b", Array: mlx.New([]float32{0, 45000})}}
	clipped, norm := optim.ClipByGlobalNorm(g, 10)
	assert.InDelta(t, 75000, values(t, norm)[0], 1)
	assert.Equal(t, mlx.Float16, clipped[0].Array.Dtype())
	assert.InDelta(t, 8, values(t, clipped[0].Array.AsType(mlx.Float32))[0], 0.01)
	assert.InDelta(t, 6, values(t, clipped[1].Array)[1], 1e-3)
}

func TestClipEdges(t *testing.T) {
	none, norm := optim.ClipByGlobalNorm(nil, 1)
	assert.Empty(t, none)
	assert.Equal(t, []float32{0}, values(t, norm))

	zero, norm := optim.ClipByGlobalNorm(nn.Grads{{Name: "a", Array: mlx.Zeros([]int{3}, mlx.Float32)}}, 1)
	assert.Equal(t, make([]float32, 3), values(t, zero[0].Array))
	assert.Equal(t, []float32{0}, values(t, norm))

	bad, norm := optim.ClipByGlobalNorm(nn.Grads{{Name: "a", Array: mlx.New([]float32{float32(math.NaN()), 1})}}, 1)
	for _, v := range append(values(t, bad[0].Array), values(t, norm)...) {
		assert.True(t, math.IsNaN(float64(v)))
	}
	for _, limit := range []float64{-1, math.NaN()} {
		clipped, norm := optim.ClipByGlobalNorm(grads(t, 0), limit)
		require.ErrorContains(t, norm.Err(), "ClipByGlobalNorm: the limit is")
		require.ErrorContains(t, newOptimizer(t, "sgd").Update(newModel(t), clipped), "ClipByGlobalNorm: the limit is")
	}
	clipped, _ := optim.ClipByGlobalNorm(nn.Grads{{Name: "scale", Array: mlx.New([]float32{1}).Reshape(2)}}, 1)
	require.ErrorContains(t, clipped[0].Array.Err(), "reshape")
}
