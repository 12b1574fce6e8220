package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

func TestElementwiseLossesEqualPyTorch(t *testing.T) {
	for _, c := range readVectors(t).Elementwise {
		t.Run(c.Loss+"/"+c.Reduction, func(t *testing.T) {
			target := c.Target.array(t)
			f := func(x *mlx.Array) *mlx.Array {
				r := reductions[c.Reduction]
				switch c.Loss {
				case "mse":
					return nn.MSE(x, target, r)
				case "l1":
					return nn.L1(x, target, r)
				case "huber":
					return nn.Huber(x, target, c.Delta, r)
				}
				if c.PosWeight != nil {
					return nn.BCEWithLogits(x, target, nn.PosWeight(c.PosWeight.array(t)), r)
				}
				return nn.BCEWithLogits(x, target, r)
			}
			requireNear(t, c.Value, f(c.X.array(t)), 1e-6, "value")
			requireNear(t, c.Grad, gradient(t, f, c.X.array(t)), 1e-6, "gradient")
		})
	}
}

func TestLossGradientsByDifferences(t *testing.T) {
	x, y := random64(1, 3, 4), random64(2, 3, 4)
	ids := mlx.New([]int{0, 3, 2})
	w := mlx.New([]float64{0.5, 2, 1, 0.1})
	probs := y.Softmax(-1)
	for name, f := range map[string]func(x *mlx.Array) *mlx.Array{
		"MSE":               func(x *mlx.Array) *mlx.Array { return nn.MSE(x, y) },
		"L1":                func(x *mlx.Array) *mlx.Array { return nn.L1(x, y) },
		"Huber":             func(x *mlx.Array) *mlx.Array { return nn.Huber(x, y, 0.7) },
		"BCEWithLogits":     func(x *mlx.Array) *mlx.Array { return nn.BCEWithLogits(x, y.Sigmoid()) },
		"BCEWithLogits pos": func(x *mlx.Array) *mlx.Array { return nn.BCEWithLogits(x, y.Sigmoid(), nn.PosWeight(w)) },
		"CrossEntropy":      func(x *mlx.Array) *mlx.Array { return nn.CrossEntropy(x, ids) },
		"CrossEntropy options": func(x *mlx.Array) *mlx.Array {
			return nn.CrossEntropy(x, ids, nn.LabelSmoothing(0.1), nn.ClassWeights(w), nn.IgnoreIndex(3))
		},
		"CrossEntropy probabilities": func(x *mlx.Array) *mlx.Array { return nn.CrossEntropy(x, probs, nn.LabelSmoothing(0.1)) },
		"CTC": func(x *mlx.Array) *mlx.Array {
			return nn.CTC(x.Reshape(1, 3, 4), mlx.New([]int{2, 1}, 1, 2), []int{3}, []int{2})
		},
	} {
		t.Run(name, func(t *testing.T) { requireDifferences(t, 5e-5, x, f) })
	}
}

func TestLossOfHalfPrecisionIsComputedInFloat32(t *testing.T) {
	// The squares sum to 80,000, beyond the largest half.
	pred := mlx.Full([]int{50, 4}, 20, mlx.Float16)
	loss := nn.MSE(pred, mlx.ZerosLike(pred), nn.ReduceSum)
	assert.Equal(t, mlx.Float32, loss.Dtype())
	assert.Equal(t, []float32{80000}, values(t, loss))

	grad := gradient(t, func(x *mlx.Array) *mlx.Array { return nn.MSE(x, mlx.ZerosLike(x)) }, pred)
	assert.Equal(t, mlx.Float16, grad.Dtype())

	logits := mlx.New([]float32{2, -1, -1, 2}, 2, 2).AsType(mlx.BFloat16)
	requireNearValues(t, []float32{0.0485873, 0.0485873},
		values(t, nn.CrossEntropy(logits, mlx.New([]int{0, 1}), nn.ReduceNone)), 1e-6, "loss")
}

func TestMeanOfNothingIsZero(t *testing.T) {
	empty := mlx.Zeros([]int{0, 3}, mlx.Float32)
	ids := mlx.Zeros([]int{0}, mlx.Int32)
	for name, loss := range map[string]*mlx.Array{
		"MSE": nn.MSE(empty, empty), "L1": nn.L1(empty, empty), "Huber": nn.Huber(empty, empty, 1), "BCE": nn.BCEWithLogits(empty, empty),
		"CrossEntropy": nn.CrossEntropy(empty, ids), "CrossEntropy weights": nn.CrossEntropy(empty, ids, nn.ClassWeights(mlx.Ones([]int{3}, mlx.Float32))),
		"CTC": nn.CTC(mlx.Zeros([]int{0, 5, 3}, mlx.Float32), mlx.Zeros([]int{0, 2}, mlx.Int32), nil, nil),
	} {
		assert.Equal(t, []float32{0}, values(t, loss), name)
	}
}

func TestLossFaults(t *testing.T) {
	x := mlx.Zeros([]int{2, 3}, mlx.Float32)
	column := mlx.Zeros([]int{2, 1}, mlx.Float32)
	requireFault(t, nn.MSE(x, column), "MSE", "[2 3]", "[2 1]")
	requireFault(t, nn.L1(mlx.Zeros([]int{2, 3}, mlx.Int32), x), "L1", "int32")
	requireFault(t, nn.MSE(x, x, nn.Reduction(7)), "reduction is 7")
	requireFault(t, nn.Huber(x, x, 0), "Huber", "delta is 0")
	requireFault(t, nn.Huber(x, x, math.NaN()), "delta is NaN")
	requireFault(t, nn.BCEWithLogits(x, x, nn.PosWeight(mlx.Zeros([]int{4}, mlx.Float32))), "PosWeight", "[4]")
	requireFault(t, nn.MSE(x.Reshape(5), x), "reshape")
	requireFault(t, nn.MSE(nil, x), "nil")
	require.NoError(t, nn.MSE(x, x).Eval(), "a good call after the faults")
}
