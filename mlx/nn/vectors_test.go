package nn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// testdata/vectors.py made the vectors.
type tensor struct {
	Shape []int
	Float []any // numbers, and "nan", "inf" as text
	Int   []int64
}

func (v tensor) floats(t *testing.T) []float32 {
	out := make([]float32, len(v.Float))
	for i, x := range v.Float {
		switch x := x.(type) {
		case float64:
			out[i] = float32(x)
		case string:
			var f float64
			_, err := fmt.Sscan(x, &f)
			require.NoError(t, err)
			out[i] = float32(f)
		}
	}
	return out
}

func (v tensor) array(t *testing.T) *mlx.Array {
	if v.Int != nil {
		return mlx.New(v.Int, v.dims()...)
	}
	return mlx.New(v.floats(t), v.dims()...)
}

// dims is a shape that stands for no axes too.
func (v tensor) dims() []int {
	if len(v.Shape) == 0 {
		return []int{1}
	}
	return v.Shape
}

type lossCase struct {
	Name, Loss, Reduction string
	X, Value, Grad        tensor
	Target                tensor
	Weights               *tensor
	PosWeight             *tensor `json:"pos_weight"`
	Ignore                *int
	Smoothing, Delta      float64
	InputLengths          []int `json:"input_lengths"`
	TargetLengths         []int `json:"target_lengths"`
	Blank                 int
	ZeroInfinity          bool `json:"zero_infinity"`
}

type layerCase struct {
	Params map[string]tensor
	X, Y   tensor
}

type vectors struct {
	CrossEntropy []lossCase `json:"cross_entropy"`
	Elementwise  []lossCase
	CTC          []lossCase
	Layers       map[string]layerCase
	Activations  map[string]json.RawMessage
	Initialisers map[string]tensor
}

var loadVectors = sync.OnceValues(func() (vectors, error) {
	var v vectors
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
})

func readVectors(t *testing.T) vectors {
	v, err := loadVectors()
	require.NoError(t, err)
	return v
}

var reductions = map[string]nn.Reduction{"mean": nn.ReduceMean, "sum": nn.ReduceSum, "none": nn.ReduceNone}

func values(t *testing.T, a *mlx.Array) []float32 {
	t.Helper()
	v, err := mlx.Values[float32](a)
	require.NoError(t, err)
	return v
}

// requireNear compares with a tolerance relative to the size of the expected values.
func requireNear(t *testing.T, want tensor, got *mlx.Array, tolerance float64, what string) {
	t.Helper()
	require.Equal(t, len(want.Shape), got.NDim(), what)
	if len(want.Shape) > 0 {
		require.Equal(t, want.Shape, got.Shape(), what)
	}
	requireNearValues(t, want.floats(t), values(t, got), tolerance, what)
}

func requireNearValues(t *testing.T, want, got []float32, tolerance float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		w, g := float64(w), float64(got[i])
		if math.IsNaN(w) || math.IsInf(w, 0) {
			assert.True(t, w == g || math.IsNaN(w) && math.IsNaN(g), "%s: element %d is %v, expected %v", what, i, g, w)
			continue
		}
		assert.LessOrEqual(t, math.Abs(g-w), tolerance*max(1, math.Abs(w)), "%s: element %d is %v, expected %v", what, i, g, w)
	}
}

// gradient is that of the sum of f at x.
func gradient(t *testing.T, f func(x *mlx.Array) *mlx.Array, x *mlx.Array) *mlx.Array {
	t.Helper()
	grads, err := mlx.Grad(func(a []*mlx.Array) []*mlx.Array { return []*mlx.Array{f(a[0]).Sum()} })(x)
	require.NoError(t, err)
	return grads[0]
}

// requireDifferences compares the gradient of the sum of f at x, float64, with central differences. MLX computes
// some functions of float64 (exp, erf) to 1e-8 or so only, and its norms in float32, which limits the step and the tolerance.
func requireDifferences(t *testing.T, tolerance float64, x *mlx.Array, f func(x *mlx.Array) *mlx.Array) {
	t.Helper()
	require.Equal(t, mlx.Float64, x.Dtype())
	got, err := mlx.Values[float64](gradient(t, f, x))
	require.NoError(t, err)
	at, err := mlx.Values[float64](x)
	require.NoError(t, err)
	const h = 2e-3
	for i := range at {
		sum := func(d float64) float64 {
			moved := append([]float64(nil), at...)
			moved[i] += d
			y, err := mlx.Item[float64](f(mlx.New(moved, x.Shape()...)).Sum())
			require.NoError(t, err)
			return y
		}
		want := (sum(h) - sum(-h)) / (2 * h)
		assert.InDelta(t, want, got[i], tolerance*max(1, math.Abs(want)), "element %d", i)
	}
}

func random64(seed uint64, shape ...int) *mlx.Array {
	return mlx.RandomNormal(shape, mlx.Float32, 0, 1, mlx.Key(seed)).AsType(mlx.Float64)
}

func requireFault(t *testing.T, a *mlx.Array, parts ...string) {
	t.Helper()
	require.Error(t, a.Err())
	for _, p := range parts {
		assert.ErrorContains(t, a.Err(), p)
	}
}
