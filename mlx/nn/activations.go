package nn

import (
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// The formulas are those of mlx.nn. What MLX has as an operation (Sigmoid, Tanh) is a method of
// mlx.Array: nn.LayerFunc((*mlx.Array).Tanh).

// ReLU is max(x, 0).
func ReLU(x *mlx.Array) *mlx.Array { return x.Maximum(0) }

// LeakyReLU is max(slope x, x), for a slope below 1; 0.01 is usual.
func LeakyReLU(x *mlx.Array, slope float64) *mlx.Array { return x.Mul(slope).Maximum(x) }

// ELU is x for x > 0 and alpha (exp(x) - 1) elsewhere; an alpha of 1 is usual.
func ELU(x *mlx.Array, alpha float64) *mlx.Array {
	positive := x.Greater(0)
	// A zero in place of x keeps exp finite where its result is not used, since infinity times zero spoils a gradient.
	return positive.Where(x, positive.Where(0, x).Expm1().Mul(alpha))
}

// GELU is x Φ(x) with the normal distribution function Φ.
func GELU(x *mlx.Array) *mlx.Array {
	return x.Mul(x.Div(math.Sqrt2).Erf().Add(1)).Div(2)
}

// GELUApprox is GELU by 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))).
func GELUApprox(x *mlx.Array) *mlx.Array {
	inner := x.Square().Mul(x).Mul(0.044715).Add(x).Mul(math.Sqrt(2 / math.Pi))
	return x.Mul(0.5).Mul(inner.Tanh().Add(1))
}

// SiLU is x sigmoid(x), also called swish.
func SiLU(x *mlx.Array) *mlx.Array { return x.Mul(x.Sigmoid()) }

// Softplus is log(1 + exp(x)).
func Softplus(x *mlx.Array) *mlx.Array { return x.LogAddExp(0) }

// LogSoftmax is x - log(sum(exp(x))) along an axis.
func LogSoftmax(x *mlx.Array, axis int) *mlx.Array {
	if x.Size() == 0 {
		return x // MLX refuses to reduce an empty array
	}
	shifted := shift(x, axis)
	return shifted.Sub(shifted.LogSumExpKeepDims(axis))
}

// shift takes the maximum off, which changes no softmax. Without it the sum's logarithm, added to
// a large maximum, would lose its digits.
func shift(x *mlx.Array, axis int) *mlx.Array {
	return x.Sub(x.MaxKeepDims(axis).StopGradient())
}
