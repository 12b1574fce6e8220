package nn_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// load gives a module the parameters of a case.
func load(t *testing.T, c layerCase, module any) {
	arrays := make(map[string]*mlx.Array)
	for name, v := range c.Params {
		arrays[name] = v.array(t)
	}
	require.NoError(t, nn.LoadMap(arrays, module))
}

func newLinear(t *testing.T, in, out int, seed uint64) *nn.Linear {
	l, err := nn.NewLinear(nn.LinearConfig{Input: in, Output: out}, mlx.Key(seed))
	require.NoError(t, err)
	return l
}

func TestLayersEqualMLX(t *testing.T) {
	cases := readVectors(t).Layers
	linear := newLinear(t, 4, 5, 0)
	plain, err := nn.NewLinear(nn.LinearConfig{Input: 4, Output: 5, NoBias: true}, mlx.Key(0))
	require.NoError(t, err)
	norm, err := nn.NewLayerNorm(nn.LayerNormConfig{Dim: 4})
	require.NoError(t, err)
	rms, err := nn.NewRMSNorm(nn.RMSNormConfig{Dim: 4, Eps: 1e-3})
	require.NoError(t, err)
	embedding, err := nn.NewEmbedding(nn.EmbeddingConfig{Count: 7, Dim: 4}, mlx.Key(0))
	require.NoError(t, err)
	for name, l := range map[string]nn.Layer{
		"linear": linear, "linear without bias": plain, "layer_norm": norm, "rms_norm": rms, "embedding": embedding, "sequential": mlxSequential(t),
	} {
		c := cases[name]
		load(t, c, l)
		requireNear(t, c.Y, l.Forward(c.X.array(t)), 2e-6, name)
	}
	c := cases["as_linear"]
	load(t, c, embedding)
	requireNear(t, c.Y, embedding.AsLinear(c.X.array(t)), 2e-6, "as_linear")
}

// mlxSequential has the form of the model in testdata/sequential.safetensors.
func mlxSequential(t *testing.T) *nn.Sequential {
	norm, err := nn.NewLayerNorm(nn.LayerNormConfig{Dim: 6})
	require.NoError(t, err)
	last, err := nn.NewLinear(nn.LinearConfig{Input: 6, Output: 2, NoBias: true}, mlx.Key(1))
	require.NoError(t, err)
	return nn.NewSequential(newLinear(t, 4, 6, 2), nn.LayerFunc(nn.ReLU), norm, last)
}

func TestLayerGradientsByDifferences(t *testing.T) {
	x := random64(3, 2, 3, 4)
	sized := func(shape ...int) *mlx.Array { return random64(9, shape...) }
	linear := &nn.Linear{Weight: sized(5, 4), Bias: sized(5)}
	norm := &nn.LayerNorm{Weight: sized(4), Bias: sized(4), Dim: 4, Eps: 1e-5}
	rms := &nn.RMSNorm{Weight: sized(4), Eps: 1e-5}
	embedding := &nn.Embedding{Weight: sized(6, 4)}
	dropout, err := nn.NewDropout(0.4)
	require.NoError(t, err)
	ids := mlx.New([]int{0, 5, 5, 2})
	// Weights on the outputs, so that no gradient is zero by symmetry.
	weigh := func(y *mlx.Array) *mlx.Array {
		return y.Mul(mlx.RandomNormal(y.Shape(), mlx.Float32, 0, 1, mlx.Key(5)).AsType(mlx.Float64))
	}
	for name, f := range map[string]func(*mlx.Array) *mlx.Array{
		"Linear": linear.Forward, "LayerNorm": norm.Forward, "RMSNorm": rms.Forward, "AsLinear": embedding.AsLinear,
		"Dropout": func(x *mlx.Array) *mlx.Array { return dropout.ForwardTrain(x, mlx.Key(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			requireDifferences(t, 5e-4, x, func(x *mlx.Array) *mlx.Array { return weigh(f(x)) })
		})
	}
	t.Run("Linear weight", func(t *testing.T) {
		requireDifferences(t, 1e-6, linear.Weight, func(w *mlx.Array) *mlx.Array {
			return weigh((&nn.Linear{Weight: w, Bias: linear.Bias}).Forward(x))
		})
	})
	t.Run("Embedding weight", func(t *testing.T) {
		requireDifferences(t, 1e-6, embedding.Weight, func(w *mlx.Array) *mlx.Array {
			return weigh((&nn.Embedding{Weight: w}).Forward(ids))
		})
	})
}

func TestActivationsEqualMLX(t *testing.T) {
	cases := readVectors(t).Activations
	decode := func(name string, into any) {
		require.Contains(t, cases, name)
		require.NoError(t, json.Unmarshal(cases[name], into))
	}
	var x tensor
	decode("x", &x)
	weights := mlx.Arange(0, 25, 1, mlx.Float32)
	for name, f := range map[string]func(*mlx.Array) *mlx.Array{
		"relu": nn.ReLU, "gelu": nn.GELU, "gelu_approx": nn.GELUApprox, "silu": nn.SiLU, "softplus": nn.Softplus,
		"leaky_relu":  func(x *mlx.Array) *mlx.Array { return nn.LeakyReLU(x, 0.1) },
		"elu":         func(x *mlx.Array) *mlx.Array { return nn.ELU(x, 0.7) },
		"log_softmax": func(x *mlx.Array) *mlx.Array { return nn.LogSoftmax(x, -1) },
	} {
		var want struct{ Y, Grad tensor }
		decode(name, &want)
		requireNear(t, want.Y, f(x.array(t)), 2e-6, name)
		got := gradient(t, func(x *mlx.Array) *mlx.Array { return f(x).Mul(weights) }, x.array(t))
		requireNear(t, want.Grad, got, 5e-6, name+" gradient")
	}
}

func TestActivationsFarFromZero(t *testing.T) {
	x := mlx.New([]float32{-1000, 1000})
	for name, f := range map[string]func(*mlx.Array) *mlx.Array{
		"ELU":      func(x *mlx.Array) *mlx.Array { return nn.ELU(x, 1) },
		"Softplus": nn.Softplus, "SiLU": nn.SiLU, "GELU": nn.GELU,
	} {
		for _, v := range append(values(t, f(x)), values(t, gradient(t, f, x))...) {
			assert.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), name)
		}
	}
}

func TestEmbeddingOfAnIDOutOfRangeIsNaN(t *testing.T) {
	e := &nn.Embedding{Weight: mlx.New([]float32{1, 2, 3, 4, 5, 6}, 3, 2)}
	for name, ids := range map[string]*mlx.Array{
		"below": mlx.New([]int{1, -1}), "above": mlx.New([]int{1, 3}), "uint64": mlx.New([]uint64{1, 1 << 40}), "uint8": mlx.New([]uint8{1, 200}),
	} {
		v := values(t, e.Forward(ids))
		assert.Equal(t, []float32{3, 4}, v[:2], name)
		assert.True(t, math.IsNaN(float64(v[2])) && math.IsNaN(float64(v[3])), name)
	}
	// The bad row has no gradient, so it cannot spoil the table.
	grads, err := mlx.Grad(func(a []*mlx.Array) []*mlx.Array {
		return []*mlx.Array{(&nn.Embedding{Weight: a[0]}).Forward(mlx.New([]int{1, 7})).Sum()}
	})(e.Weight)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 0, 1, 1, 0, 0}, values(t, grads[0]))
	assert.Equal(t, []int{0, 4, 2}, e.Forward(mlx.Zeros([]int{0, 4}, mlx.Int32)).Shape(), "no ids")
}

// B13: with p = 1 the scale 1/(1-p) is infinite, and infinity times a zero mask is NaN. Here p = 1 gives zeros.
func TestB13DropoutOfAll(t *testing.T) {
	d, err := nn.NewDropout(1)
	require.NoError(t, err)
	x := mlx.New([]float32{1, float32(math.NaN()), float32(math.Inf(1))})
	f := func(x *mlx.Array) *mlx.Array { return d.ForwardTrain(x, mlx.Key(1)) }
	assert.Equal(t, make([]float32, 3), values(t, f(x)))
	assert.Equal(t, make([]float32, 3), values(t, gradient(t, f, x)))
	for _, p := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		_, err := nn.NewDropout(p)
		require.ErrorContains(t, err, "expected a probability from 0 to 1")
		requireFault(t, (&nn.Dropout{P: p}).ForwardTrain(x, mlx.Key(1)), "Dropout")
	}
}

// B11: the mask is fresh for each key and the same for the same key.
func TestB11DropoutMask(t *testing.T) {
	d, err := nn.NewDropout(0.5)
	require.NoError(t, err)
	x := mlx.Ones([]int{64, 3}, mlx.Float32)
	keys := mlx.NewKeys(7)
	a, b, c := keys.Next(), keys.Next(), keys.Next()
	first := values(t, d.ForwardTrain(x, a))
	assert.NotEqual(t, first, values(t, d.ForwardTrain(x, b)))
	assert.NotEqual(t, first, values(t, d.ForwardTrain(x, c)))
	assert.Equal(t, first, values(t, d.ForwardTrain(x, mlx.NewKeys(7).Next())))
	assert.Equal(t, first, values(t, gradient(t, func(x *mlx.Array) *mlx.Array { return d.ForwardTrain(x, a) }, x)),
		"the gradient has the mask of the forward pass")
}

func TestDropoutKeepsTheMean(t *testing.T) {
	for _, p := range []float64{0.1, 0.5, 0.9} {
		d, err := nn.NewDropout(p)
		require.NoError(t, err)
		y := values(t, d.ForwardTrain(mlx.Ones([]int{100, 1000}, mlx.Float32), mlx.Key(3)))
		dropped, sum := 0, 0.0
		for _, v := range y {
			if v == 0 {
				dropped++
			} else {
				assert.InDelta(t, 1/(1-p), v, 1e-5)
			}
			sum += float64(v)
		}
		assert.InDelta(t, p, float64(dropped)/1e5, 0.01)
		assert.InDelta(t, 1, sum/1e5, 0.05)
	}
	half := (&nn.Dropout{P: 0.5}).ForwardTrain(mlx.Ones([]int{4}, mlx.Float16), mlx.Key(3))
	assert.Equal(t, mlx.Float16, half.Dtype())
}

// B29: evaluation applies no dropout and does not depend on the size of the batch.
func TestB29EvaluationIsTrainingWithoutDropout(t *testing.T) {
	model := func(p float64) *nn.Sequential {
		d, err := nn.NewDropout(p)
		require.NoError(t, err)
		return nn.NewSequential(newLinear(t, 8, 16, 1), d, nn.LayerFunc(nn.ReLU), newLinear(t, 16, 2, 2))
	}
	x := mlx.RandomNormal([]int{64, 8}, mlx.Float32, 0, 1, mlx.Key(5))
	y := mlx.RandomInt(0, 2, []int{64}, mlx.Int32, mlx.Key(6))
	trained, plain := model(0.5), model(0)
	want := values(t, nn.CrossEntropy(plain.ForwardTrain(x, mlx.Key(9)), y))
	requireNearValues(t, want, values(t, nn.CrossEntropy(trained.Forward(x), y)), 1e-6, "evaluation")
	assert.NotEqual(t, want, values(t, nn.CrossEntropy(trained.ForwardTrain(x, mlx.Key(9)), y)), "dropout works in training")
	few := trained.Forward(x.SliceAxis(0, 0, 7))
	requireNearValues(t, values(t, trained.Forward(x))[:14], values(t, few), 1e-6, "a batch of 7")
}

func TestSequentialGivesEachLayerItsKey(t *testing.T) {
	d := &nn.Dropout{P: 0.5}
	x := mlx.Ones([]int{256}, mlx.Float32)
	y := values(t, nn.NewSequential(d, d).ForwardTrain(x, mlx.Key(1)))
	kept := 0
	for _, v := range y {
		if v != 0 {
			kept++
		}
	}
	assert.InDelta(t, 64, kept, 30, "two equal masks would keep 128")
	assert.Same(t, x, nn.NewSequential().ForwardTrain(x, mlx.Key(1)), "no layers")
	requireFault(t, nn.NewSequential(d, nil).Forward(x), "Sequential", "layer 1 is nil")
	requireFault(t, nn.NewSequential(d, d).ForwardTrain(x, mlx.Zeros([]int{3}, mlx.Float32)), "split")
}

func TestLayerDtypes(t *testing.T) {
	for _, d := range []mlx.Dtype{mlx.Float16, mlx.BFloat16, mlx.Float32, mlx.Float64} {
		l, err := nn.NewLinear(nn.LinearConfig{Input: 4, Output: 3, Dtype: d}, mlx.Key(1))
		require.NoError(t, err)
		e, err := nn.NewEmbedding(nn.EmbeddingConfig{Count: 5, Dim: 4, Dtype: d}, mlx.Key(1))
		require.NoError(t, err)
		n, err := nn.NewLayerNorm(nn.LayerNormConfig{Dim: 3, Dtype: d})
		require.NoError(t, err)
		r, err := nn.NewRMSNorm(nn.RMSNormConfig{Dim: 3, Dtype: d})
		require.NoError(t, err)
		y := r.Forward(n.Forward(l.Forward(e.Forward(mlx.New([]int{0, 4})))))
		require.NoError(t, y.Eval())
		assert.Equal(t, d, y.Dtype())
	}
}

func TestConstructorFaults(t *testing.T) {
	_, err := nn.NewLinear(nn.LinearConfig{Input: 0, Output: -1, Dtype: mlx.Int32}, mlx.Key(1))
	require.ErrorContains(t, err, "nn.NewLinear")
	for _, part := range []string{"Input is 0", "Output is -1", "Dtype is int32"} {
		assert.ErrorContains(t, err, part, "all faults together")
	}
	_, err = nn.NewLinear(nn.LinearConfig{Input: 1, Output: 1}, nil)
	require.ErrorContains(t, err, "key is nil")
	_, err = nn.NewLinear(nn.LinearConfig{Input: 1, Output: 1}, mlx.Zeros([]int{3}, mlx.Float32))
	require.ErrorContains(t, err, "nn.NewLinear")
	_, err = nn.NewEmbedding(nn.EmbeddingConfig{}, nil)
	require.ErrorContains(t, err, "Count is 0")
	require.ErrorContains(t, err, "key is nil")
	_, err = nn.NewLayerNorm(nn.LayerNormConfig{Dim: 0, Eps: -1})
	require.ErrorContains(t, err, "Dim is 0")
	require.ErrorContains(t, err, "Eps is -1")
	_, err = nn.NewRMSNorm(nn.RMSNormConfig{Dim: 3, Eps: math.NaN()})
	require.ErrorContains(t, err, "Eps is NaN")
}

func TestForwardFaults(t *testing.T) {
	l := newLinear(t, 4, 3, 1)
	requireFault(t, l.Forward(mlx.Zeros([]int{2, 5}, mlx.Float32)), "Linear", "[2 5]", "expected 4")
	requireFault(t, l.Forward(mlx.Scalar(float32(1))), "Linear", "[]")
	requireFault(t, l.Forward(mlx.Zeros([]int{2, 4}, mlx.Int32)), "Linear", "int32")
	requireFault(t, l.Forward(nil), "nil")
	requireFault(t, (&nn.Linear{}).Forward(mlx.Zeros([]int{2, 5}, mlx.Float32)), "Linear")
	e := &nn.Embedding{Weight: mlx.Zeros([]int{3, 2}, mlx.Float32)}
	requireFault(t, e.Forward(mlx.Zeros([]int{2}, mlx.Float32)), "Embedding", "float32")
	requireFault(t, (&nn.Embedding{}).Forward(mlx.Zeros([]int{2}, mlx.Int32)), "Embedding")
	// The first fault of a chain comes out, not the ones that follow from it.
	y := l.Forward(mlx.Zeros([]int{2, 4}, mlx.Float32).Reshape(3))
	requireFault(t, y, "reshape")
	assert.NotContains(t, y.Err().Error(), "Linear: x has")
}

func TestParametersOfConstructorsBelongToNoScope(t *testing.T) {
	scope := mlx.NewScope()
	key := scope.Own(mlx.Key(4))
	l, err := nn.NewLinear(nn.LinearConfig{Input: 2, Output: 2}, key)
	require.NoError(t, err)
	e, err := nn.NewEmbedding(nn.EmbeddingConfig{Count: 2, Dim: 2}, key)
	require.NoError(t, err)
	scope.Close()
	require.NoError(t, l.Forward(e.Forward(mlx.New([]int{1}))).Eval())
}

func TestEmptyInputs(t *testing.T) {
	y := newLinear(t, 4, 3, 1).Forward(mlx.Zeros([]int{0, 7, 4}, mlx.Float32))
	require.NoError(t, y.Eval())
	assert.Equal(t, []int{0, 7, 3}, y.Shape())
}
