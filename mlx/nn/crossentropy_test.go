package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

func TestCrossEntropyEqualsPyTorch(t *testing.T) {
	for _, c := range readVectors(t).CrossEntropy {
		t.Run(c.Name, func(t *testing.T) {
			target := c.Target.array(t)
			if len(c.Target.Shape) == 0 {
				target = target.Reshape()
			}
			opts := []nn.CrossEntropyOption{reductions[c.Reduction], nn.LabelSmoothing(c.Smoothing)}
			if c.Weights != nil {
				opts = append(opts, nn.ClassWeights(c.Weights.array(t)))
			}
			if c.Ignore != nil {
				opts = append(opts, nn.IgnoreIndex(*c.Ignore))
			}
			f := func(x *mlx.Array) *mlx.Array { return nn.CrossEntropy(x, target, opts...) }
			requireNear(t, c.Value, f(c.X.array(t)), 2e-6, "value")
			requireNear(t, c.Grad, gradient(t, f, c.X.array(t)), 2e-6, "gradient")
		})
	}
}

func TestCrossEntropyTakesAllIntegerTypes(t *testing.T) {
	x := mlx.New([]float32{1, 2, 3, 0, 0, 1}, 2, 3)
	want := values(t, nn.CrossEntropy(x, mlx.New([]int{2, 0}), nn.ReduceNone))
	for _, d := range []mlx.Dtype{mlx.Uint8, mlx.Uint16, mlx.Uint32, mlx.Uint64, mlx.Int8, mlx.Int16, mlx.Int64} {
		got := nn.CrossEntropy(x, mlx.New([]int{2, 0}).AsType(d), nn.ReduceNone)
		assert.Equal(t, want, values(t, got), d)
	}
}

func TestCrossEntropyOfAnIDOutOfRangeIsNaN(t *testing.T) {
	x := mlx.New([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2}, 4, 3)
	for name, ids := range map[string]*mlx.Array{
		"below":       mlx.New([]int{0, -1, 2, 1}),
		"above":       mlx.New([]int{0, 3, 2, 1}),
		"far":         mlx.New([]int64{0, 1 << 32, 2, 1}),
		"far, uint64": mlx.New([]uint64{0, 1<<63 + 1, 2, 1}),
	} {
		got := values(t, nn.CrossEntropy(x, ids, nn.ReduceNone))
		assert.True(t, math.IsNaN(float64(got[1])), name)
		assert.False(t, math.IsNaN(float64(got[0]+got[2]+got[3])), name)
	}
}

func TestIgnoredRowsMayHoldAnything(t *testing.T) {
	nan := float32(math.NaN())
	x := mlx.New([]float32{1, 2, 3, nan, nan, nan, 0, float32(math.Inf(1)), 0, 1, 0, 1}, 4, 3)
	ids := mlx.New([]int{0, -1, -1, 2})
	f := func(x *mlx.Array) *mlx.Array { return nn.CrossEntropy(x, ids, nn.IgnoreIndex(-1)) }
	only := nn.CrossEntropy(mlx.New([]float32{1, 2, 3, 1, 0, 1}, 2, 3), mlx.New([]int{0, 2}))
	assert.Equal(t, values(t, only), values(t, f(x)))
	g := values(t, gradient(t, f, x))
	assert.Equal(t, make([]float32, 6), g[3:9])
	assert.NotContains(t, g, nan)

	all := nn.CrossEntropy(x, mlx.New([]int{-1, -1, -1, -1}), nn.IgnoreIndex(-1))
	assert.Equal(t, []float32{0}, values(t, all), "no row counts")
}

func TestCrossEntropyFaults(t *testing.T) {
	x := mlx.Zeros([]int{2, 3}, mlx.Float32)
	ids := mlx.Zeros([]int{2}, mlx.Int32)
	requireFault(t, nn.CrossEntropy(x, mlx.Zeros([]int{3}, mlx.Int32)), "CrossEntropy", "[3]", "expected [2]", "[2 3]")
	requireFault(t, nn.CrossEntropy(x, mlx.Zeros([]int{2}, mlx.Float32)), "targets have shape [2]; expected [2 3]")
	requireFault(t, nn.CrossEntropy(x, mlx.Zeros([]int{2}, mlx.Bool)), "bool")
	requireFault(t, nn.CrossEntropy(mlx.Zeros([]int{2, 3}, mlx.Int32), ids), "int32[2 3]")
	requireFault(t, nn.CrossEntropy(mlx.Zeros([]int{2, 0}, mlx.Float32), ids), "[2 0]")
	requireFault(t, nn.CrossEntropy(x, ids, nn.LabelSmoothing(1)), "LabelSmoothing is 1")
	requireFault(t, nn.CrossEntropy(x, ids, nn.LabelSmoothing(math.NaN())), "LabelSmoothing is NaN")
	requireFault(t, nn.CrossEntropy(x, ids, nn.ClassWeights(mlx.Ones([]int{2}, mlx.Float32))), "ClassWeights", "[3]")
	requireFault(t, nn.CrossEntropy(x, x, nn.IgnoreIndex(0)), "IgnoreIndex")
	requireFault(t, nn.CrossEntropy(x, ids, nn.Reduction(-1)), "reduction is -1")
	requireFault(t, nn.CrossEntropy(x, nil), "nil")
	require.NoError(t, nn.CrossEntropy(x, ids).Eval(), "a good call after the faults")
}
