package nn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

func TestInitialisersEqualMLX(t *testing.T) {
	inits := map[string]nn.Initializer{
		"constant": nn.Constant(0.25), "uniform": nn.Uniform(-0.5, 2), "normal": nn.Normal(1, 0.5),
		"glorot_uniform": nn.GlorotUniform(1.5), "glorot_normal": nn.GlorotNormal(1.5),
		"he_uniform fan_in": nn.HeUniform(nn.FanIn, 2), "he_uniform fan_out": nn.HeUniform(nn.FanOut, 2),
		"he_normal fan_in": nn.HeNormal(nn.FanIn, 2), "he_normal fan_out": nn.HeNormal(nn.FanOut, 2),
		"orthogonal": nn.Orthogonal(1.5),
	}
	key := mlx.SplitKey(mlx.Key(7), 2)[1]
	cases := readVectors(t).Initialisers
	for name, want := range cases {
		kind, _, _ := strings.Cut(name, "/")
		require.Contains(t, inits, kind)
		requireNear(t, want, inits[kind](want.Shape, mlx.Float32, key), 1e-5, name)
		delete(cases, name)
	}
}

func TestOrthogonalIsOrthogonal(t *testing.T) {
	for _, shape := range [][]int{{5, 5}, {7, 3}, {3, 7}, {1, 4}, {0, 4}, {4, 0}} {
		q := nn.Orthogonal(2)(shape, mlx.Float32, mlx.Key(11))
		require.Equal(t, shape, q.Shape())
		n := min(shape[0], shape[1])
		product := q.MatMul(q.T())
		if shape[0] > shape[1] {
			product = q.T().MatMul(q)
		}
		far := product.Sub(mlx.Eye(n, n, 0, mlx.Float32).Mul(4)).Abs()
		if n > 0 {
			assert.Less(t, values(t, far.Max())[0], float32(1e-4), shape)
		}
	}
}

func TestInitialiserDtypes(t *testing.T) {
	for name, f := range map[string]nn.Initializer{
		"Uniform": nn.Uniform(-1, 1), "Normal": nn.Normal(0, 1), "Constant": nn.Constant(1), "Orthogonal": nn.Orthogonal(1), "He": nn.HeNormal(nn.FanIn, 1),
	} {
		for _, d := range []mlx.Dtype{mlx.Float16, mlx.BFloat16, mlx.Float32, mlx.Float64} {
			a := f([]int{3, 2}, d, mlx.Key(1))
			require.NoError(t, a.Eval(), "%s %v", name, d)
			assert.Equal(t, d, a.Dtype(), name)
		}
	}
}

func TestInitialiserFaults(t *testing.T) {
	key := mlx.Key(1)
	requireFault(t, nn.GlorotUniform(1)([]int{3}, mlx.Float32, key), "[3]", "two axes")
	requireFault(t, nn.HeNormal(nn.Fan(5), 1)([]int{3, 3}, mlx.Float32, key), "fan is 5")
	requireFault(t, nn.Orthogonal(1)([]int{3, 3, 3}, mlx.Float32, key), "[3 3 3]")
	requireFault(t, nn.Uniform(0, 1)([]int{3}, mlx.Float32, nil), "key is nil")
	requireFault(t, nn.Normal(0, 1)([]int{-3}, mlx.Float32, key), "-3")
	requireFault(t, nn.Uniform(0, 1)([]int{3}, mlx.Int32, key))
	bound := float32(math.Sqrt(6.0 / 10))
	for _, v := range values(t, nn.GlorotUniform(1)([]int{4, 6}, mlx.Float32, key)) {
		assert.LessOrEqual(t, max(v, -v), bound)
	}
}
