package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

func TestCTCEqualsPyTorch(t *testing.T) {
	for _, c := range readVectors(t).CTC {
		t.Run(c.Name, func(t *testing.T) {
			target := c.Target.array(t)
			f := func(x *mlx.Array) *mlx.Array {
				return nn.CTC(x, target, c.InputLengths, c.TargetLengths,
					reductions[c.Reduction], nn.Blank(c.Blank), nn.ZeroInfinity(c.ZeroInfinity))
			}
			requireNear(t, c.Value, f(c.X.array(t)), 3e-6, "value")
			if c.Grad.Shape != nil {
				requireNear(t, c.Grad, gradient(t, f, c.X.array(t)), 2e-5, "gradient")
			}
		})
	}
}

func TestCTCTakesLogProbabilities(t *testing.T) {
	x := mlx.RandomNormal([]int{2, 6, 5}, mlx.Float32, 0, 2, mlx.Key(4))
	target := mlx.New([]int{1, 2, 3, 4}, 2, 2)
	a := nn.CTC(x, target, []int{6, 5}, []int{2, 2}, nn.ReduceNone)
	b := nn.CTC(nn.LogSoftmax(x, -1), target, []int{6, 5}, []int{2, 2}, nn.ReduceNone)
	requireNearValues(t, values(t, a), values(t, b), 1e-6, "loss")
}

func TestCTCWithoutAlignmentHasNoGradient(t *testing.T) {
	x := mlx.RandomNormal([]int{1, 2, 4}, mlx.Float32, 0, 1, mlx.Key(1))
	f := func(x *mlx.Array) *mlx.Array { return nn.CTC(x, mlx.New([]int{1, 2, 3}, 1, 3), []int{2}, []int{3}) }
	assert.True(t, math.IsInf(float64(values(t, f(x))[0]), 1))
	assert.Equal(t, make([]float32, 8), values(t, gradient(t, f, x)))
}

func TestCTCIgnoresPadding(t *testing.T) {
	x := values(t, mlx.RandomNormal([]int{1, 4, 3}, mlx.Float32, 0, 1, mlx.Key(2)))
	short := nn.CTC(mlx.New(x[:9], 1, 3, 3), mlx.New([]int{2}, 1, 1), []int{3}, []int{1})
	long := func(x *mlx.Array) *mlx.Array {
		return nn.CTC(x, mlx.New([]int{2, -5, 99}, 1, 3), []int{3}, []int{1})
	}
	requireNearValues(t, values(t, short), values(t, long(mlx.New(x, 1, 4, 3))), 1e-6, "loss")
	assert.Equal(t, make([]float32, 3), values(t, gradient(t, long, mlx.New(x, 1, 4, 3)))[9:])
}

func TestCTCWithClassesRuledOut(t *testing.T) {
	// Class 2 has no probability; the labels do not need it.
	inf := float32(math.Inf(-1))
	x := mlx.New([]float32{0, 1, inf, 1, 0, inf, 0, 0, inf}, 1, 3, 3)
	f := func(x *mlx.Array) *mlx.Array { return nn.CTC(x, mlx.New([]int{1}, 1, 1), []int{3}, []int{1}) }
	two := nn.CTC(mlx.New([]float32{0, 1, 1, 0, 0, 0}, 1, 3, 2), mlx.New([]int{1}, 1, 1), []int{3}, []int{1})
	requireNearValues(t, values(t, two), values(t, f(x)), 1e-6, "loss")
	for _, g := range values(t, gradient(t, f, x)) {
		assert.False(t, math.IsNaN(float64(g)))
	}
	needs := nn.CTC(x, mlx.New([]int{2}, 1, 1), []int{3}, []int{1})
	assert.True(t, math.IsInf(float64(values(t, needs)[0]), 1))
}

func TestCTCEdges(t *testing.T) {
	x := mlx.Zeros([]int{2, 3, 4}, mlx.Float32)
	none := mlx.Zeros([]int{2, 0}, mlx.Int32)
	// Without labels all steps are blanks: 3 log 4.
	requireNearValues(t, []float32{3 * 1.3862944, 0}, values(t, nn.CTC(x, none, []int{3, 0}, []int{0, 0}, nn.ReduceNone)), 1e-6, "no labels")
	noSteps := nn.CTC(mlx.Zeros([]int{2, 0, 4}, mlx.Float32), mlx.New([]int{1, 1}, 2, 1), []int{0, 0}, []int{0, 1}, nn.ReduceNone)
	assert.Equal(t, []float32{0, float32(math.Inf(1))}, values(t, noSteps), "no steps")
	bad := nn.CTC(x, mlx.New([]int{4, 0}, 2, 1), []int{3, 3}, []int{1, 1}, nn.ReduceNone)
	for _, v := range values(t, bad) {
		assert.True(t, math.IsNaN(float64(v)), "a label out of range, and one that is the blank")
	}
}

func TestCTCFaults(t *testing.T) {
	x := mlx.Zeros([]int{2, 3, 4}, mlx.Float32)
	labels := mlx.Zeros([]int{2, 2}, mlx.Int32)
	in, out := []int{3, 3}, []int{1, 2}
	requireFault(t, nn.CTC(x.Reshape(6, 4), labels, in, out), "CTC", "[6 4]", "[N, T, C]")
	requireFault(t, nn.CTC(x, labels.Reshape(4), in, out), "int32[4]", "[2, S]")
	requireFault(t, nn.CTC(x, labels.AsType(mlx.Float32), in, out), "float32")
	requireFault(t, nn.CTC(x, labels, in[:1], out), "inputLengths has 1 entries; expected 2")
	requireFault(t, nn.CTC(x, labels, []int{3, 4}, []int{-1, 0}), "inputLengths[1] is 4", "targetLengths[0] is -1")
	requireFault(t, nn.CTC(x, labels, in, out, nn.Blank(4)), "Blank is 4")
	require.NoError(t, nn.CTC(x, labels, in, []int{0, 0}).Eval(), "a good call after the faults")
}
