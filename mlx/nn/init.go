package nn

import (
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Initializer draws a parameter of a shape. The same key gives the same values. The formulas are those of mlx.nn.init.
type Initializer func(shape []int, d mlx.Dtype, key *mlx.Array) *mlx.Array

// Fan chooses the count of units that a He initialiser goes by.
type Fan int

// For a weight [out, in] FanIn is in and FanOut is out; further axes, as of a convolution
// [out, k, in], multiply both.
const (
	FanIn Fan = iota
	FanOut
)

// Constant fills with v. The key is not used and may be nil.
func Constant(v float64) Initializer {
	return func(shape []int, d mlx.Dtype, _ *mlx.Array) *mlx.Array { return mlx.Full(shape, v, d) }
}

// Uniform draws from U(low, high).
func Uniform(low, high float64) Initializer {
	return func(shape []int, d mlx.Dtype, key *mlx.Array) *mlx.Array {
		return random(d, key, func(d mlx.Dtype) *mlx.Array {
			return mlx.RandomUniform(low, high, shape, d, key)
		})
	}
}

// Normal draws from N(mean, std²).
func Normal(mean, std float64) Initializer {
	return func(shape []int, d mlx.Dtype, key *mlx.Array) *mlx.Array {
		return random(d, key, func(d mlx.Dtype) *mlx.Array {
			return mlx.RandomNormal(shape, d, mean, std, key)
		})
	}
}

// random draws in float32 where MLX has no generator for the dtype.
func random(d mlx.Dtype, key *mlx.Array, draw func(mlx.Dtype) *mlx.Array) *mlx.Array {
	if key == nil {
		return mlx.ErrorArray("initialiser", errNoKey)
	}
	if d == mlx.Float64 {
		return draw(mlx.Float32).AsType(d)
	}
	return draw(d)
}

// GlorotUniform draws from U(-a, a) with a = gain sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010).
func GlorotUniform(gain float64) Initializer {
	return byFans(func(in, out float64) Initializer {
		a := gain * math.Sqrt(6/(in+out))
		return Uniform(-a, a)
	})
}

// GlorotNormal draws from a normal distribution with the deviation gain sqrt(2 / (fan in + fan out)).
func GlorotNormal(gain float64) Initializer {
	return byFans(func(in, out float64) Initializer { return Normal(0, gain*math.Sqrt(2/(in+out))) })
}

// HeUniform draws from U(-a, a) with a = gain sqrt(3 / fan) (He et al. 2015). A gain of sqrt(2) suits ReLU.
func HeUniform(fan Fan, gain float64) Initializer {
	return byFan(fan, func(n float64) Initializer {
		a := gain * math.Sqrt(3/n)
		return Uniform(-a, a)
	})
}

// HeNormal draws from a normal distribution with the deviation gain / sqrt(fan).
func HeNormal(fan Fan, gain float64) Initializer {
	return byFan(fan, func(n float64) Initializer { return Normal(0, gain/math.Sqrt(n)) })
}

func byFan(fan Fan, f func(n float64) Initializer) Initializer {
	switch fan {
	case FanIn:
		return byFans(func(in, _ float64) Initializer { return f(in) })
	case FanOut:
		return byFans(func(_, out float64) Initializer { return f(out) })
	}
	return func([]int, mlx.Dtype, *mlx.Array) *mlx.Array {
		return mlx.ErrorArray("initialiser", fmt.Errorf("fan is %d; expected FanIn or FanOut", fan))
	}
}

// byFans gives an initialiser that depends on the shape of the parameter.
func byFans(f func(in, out float64) Initializer) Initializer {
	return func(shape []int, d mlx.Dtype, key *mlx.Array) *mlx.Array {
		n := len(shape)
		if n < 2 {
			return mlx.ErrorArray("initialiser", fmt.Errorf("shape %v has no fans; expected at least two axes", shape))
		}
		in, out := float64(shape[n-1]), float64(shape[0])
		for _, k := range shape[1 : n-1] {
			in, out = in*float64(k), out*float64(k)
		}
		return f(in, out)(shape, d, key)
	}
}

// Orthogonal gives a matrix whose shorter side is orthonormal, times gain (Saxe et al. 2014). The
// decomposition runs on the CPU.
func Orthogonal(gain float64) Initializer {
	return func(shape []int, d mlx.Dtype, key *mlx.Array) *mlx.Array {
		if len(shape) != 2 {
			return mlx.ErrorArray("initialiser", fmt.Errorf("shape %v is no matrix; orthogonal needs two axes", shape))
		}
		rows, cols := shape[0], shape[1]
		if rows == 0 || cols == 0 {
			return mlx.Zeros(shape, d)
		}
		cpu, err := mlx.DeviceStream(mlx.CPU)
		if err != nil {
			return mlx.ErrorArray("initialiser", err)
		}
		n := max(rows, cols)
		q, r := mlx.On(cpu).QR(Normal(0, 1)([]int{n, n}, mlx.Float32, key))
		// The sign of R's diagonal makes the distribution uniform over all orthogonal matrices.
		q = q.Mul(r.Mul(mlx.Eye(n, n, 0, mlx.Float32)).Sum(0).Sign())
		return q.Slice([]int{0, 0}, shape).Mul(gain).AsType(d)
	}
}
