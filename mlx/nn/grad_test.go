package nn_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// quadratic has the loss (w x + b - y)², whose gradients are 2 e x and 2 e.
type quadratic struct {
	W, B  *mlx.Array
	Index *mlx.Array // integers: no gradient
	Mean  *mlx.Array `mlx:",frozen"`
}

func newQuadratic() *quadratic {
	one := func(v float32) *mlx.Array { return mlx.Scalar(v) }
	return &quadratic{W: one(3), B: one(1), Index: mlx.New([]int{1, 2}), Mean: one(5)}
}

func (m *quadratic) loss(x, y *mlx.Array) *mlx.Array {
	return m.W.Mul(x).Add(m.B).Sub(y).Square()
}

func item(t *testing.T, a *mlx.Array) float32 {
	t.Helper()
	v, err := mlx.Item[float32](a)
	require.NoError(t, err)
	return v
}

func TestValueAndGrad(t *testing.T) {
	m := newQuadratic()
	w, b := m.W, m.B
	step := nn.ValueAndGrad(m, m.loss)
	for range 2 {
		loss, grads, err := step(mlx.Scalar(float32(2)), mlx.Scalar(float32(5)))
		require.NoError(t, err)
		assert.Equal(t, float32(4), item(t, loss))
		require.Len(t, grads, 2)
		assert.Equal(t, "W", grads[0].Name)
		assert.Equal(t, float32(8), item(t, grads.Get("W")))
		assert.Equal(t, float32(4), item(t, grads.Get("B")))
		assert.Nil(t, grads.Get("Index"))
		assert.Nil(t, grads.Get("mean"))
		assert.Same(t, w, m.W, "the parameters are back")
		assert.Same(t, b, m.B)
	}
}

func TestValueAndGradArities(t *testing.T) {
	m := newQuadratic()
	one := mlx.Scalar(float32(1))
	type step = func(args ...*mlx.Array) (*mlx.Array, nn.Grads, error)
	type auxStep = func(args ...*mlx.Array) (*mlx.Array, []*mlx.Array, nn.Grads, error)
	sum := func(a ...*mlx.Array) *mlx.Array {
		total := m.W
		for _, x := range a {
			total = total.Add(x)
		}
		return total
	}
	both := func(a ...*mlx.Array) (*mlx.Array, []*mlx.Array) { return sum(a...), a }
	for n, s := range []step{
		nn.ValueAndGrad(m, func() *mlx.Array { return sum() }),
		nn.ValueAndGrad(m, func(a *mlx.Array) *mlx.Array { return sum(a) }),
		nn.ValueAndGrad(m, func(a, b *mlx.Array) *mlx.Array { return sum(a, b) }),
		nn.ValueAndGrad(m, func(a, b, c *mlx.Array) *mlx.Array { return sum(a, b, c) }),
		nn.ValueAndGrad(m, func(a, b, c, d *mlx.Array) *mlx.Array { return sum(a, b, c, d) }),
		nn.ValueAndGrad(m, sum),
	} {
		loss, _, err := s([]*mlx.Array{one, one, one, one, one}[:n]...)
		require.NoError(t, err)
		assert.Equal(t, float32(3+n), item(t, loss))
		if n < 5 {
			_, _, err = s([]*mlx.Array{one, one, one, one, one}[:n+1]...)
			require.ErrorContains(t, err, "the loss function takes")
		}
	}
	for n, s := range []auxStep{
		nn.ValueAndGradAux(m, func() (*mlx.Array, []*mlx.Array) { return both() }),
		nn.ValueAndGradAux(m, func(a *mlx.Array) (*mlx.Array, []*mlx.Array) { return both(a) }),
		nn.ValueAndGradAux(m, func(a, b *mlx.Array) (*mlx.Array, []*mlx.Array) { return both(a, b) }),
		nn.ValueAndGradAux(m, func(a, b, c *mlx.Array) (*mlx.Array, []*mlx.Array) { return both(a, b, c) }),
		nn.ValueAndGradAux(m, func(a, b, c, d *mlx.Array) (*mlx.Array, []*mlx.Array) { return both(a, b, c, d) }),
		nn.ValueAndGradAux(m, both),
	} {
		loss, aux, grads, err := s([]*mlx.Array{one, one, one, one, one}[:n]...)
		require.NoError(t, err)
		assert.Equal(t, float32(3+n), item(t, loss))
		assert.Len(t, aux, n)
		assert.Equal(t, float32(1), item(t, grads.Get("W")))
	}
}

func TestAuxiliaryOutputsCarryTheState(t *testing.T) {
	m := newQuadratic()
	state := mlx.Scalar(float32(1))
	step := nn.ValueAndGradAux(m, func(x *mlx.Array) (*mlx.Array, []*mlx.Array) {
		next := state.Mul(m.W).Add(x)
		return next.Square(), []*mlx.Array{next}
	})
	// s1 = 1*3 + 2 = 5; s2 = 5*3 + 2 = 17. The state is a constant in the second step: dL/dW = 2*17*5.
	// If the gradient ran into the first step it would be 2*17*(5 + 3*1).
	for _, want := range []struct{ state, grad float32 }{{5, 10}, {17, 170}} {
		scope := mlx.NewScope()
		_, aux, grads, err := step(scope.Own(mlx.Scalar(float32(2))))
		require.NoError(t, err)
		assert.Equal(t, want.grad, item(t, grads.Get("W")))
		state = mlx.Keep(aux[0])
		scope.Close()
		assert.Equal(t, want.state, item(t, state))
	}
}

func TestFreeze(t *testing.T) {
	seq := nn.NewSequential(newLinear(t, 2, 2, 1), newLinear(t, 2, 2, 2))
	x := mlx.Ones([]int{1, 2}, mlx.Float32)
	loss := func() *mlx.Array { return seq.Forward(x).Sum() }
	list := func(opts ...nn.GradOption) (out []string) {
		_, grads, err := nn.ValueAndGrad(seq, loss, opts...)()
		require.NoError(t, err)
		for _, g := range grads {
			out = append(out, g.Name)
		}
		return out
	}
	assert.Equal(t, []string{"layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"}, list())
	assert.Equal(t, []string{"layers.1.weight", "layers.1.bias"}, list(nn.Freeze("layers.0")))
	assert.Equal(t, []string{"layers.1.weight"}, list(nn.Freeze("layers.0"), nn.Freeze("layers.1.bias")))
	_, _, err := nn.ValueAndGrad(seq, loss, nn.Freeze("layer"))()
	require.ErrorContains(t, err, `freeze "layer"`, "a prefix counts only up to a dot")
	_, _, err = nn.ValueAndGrad(seq, loss, nn.Freeze("layers"))()
	require.ErrorContains(t, err, "no trainable parameters")
}

func TestValueAndGradFaults(t *testing.T) {
	m := newQuadratic()
	w := m.W
	x := mlx.Scalar(float32(1))
	restored := func() {
		t.Helper()
		assert.Same(t, w, m.W, "the parameters are back after a fault")
		_, _, err := nn.ValueAndGrad(m, m.loss)(x, x)
		require.NoError(t, err, "a good call after a fault")
	}
	_, _, err := nn.ValueAndGrad(m, func() *mlx.Array { return m.W.Reshape(3) })()
	require.ErrorContains(t, err, "nn.ValueAndGrad: reshape")
	restored()
	_, _, err = nn.ValueAndGrad(m, func() *mlx.Array { return mlx.ErrorArray("model", errors.New("broken")) })()
	require.ErrorContains(t, err, "model: broken")
	restored()
	_, _, err = nn.ValueAndGrad(m, func() *mlx.Array { panic("oh") })()
	require.ErrorContains(t, err, "oh")
	restored()
	_, _, err = nn.ValueAndGrad(m, func() *mlx.Array { return nil })()
	require.Error(t, err)
	restored()
	_, _, err = nn.ValueAndGrad(m, func() *mlx.Array { return m.W.BroadcastTo(2) })()
	require.ErrorContains(t, err, "loss: it is float32[2]; expected one")
	restored()
	_, _, err = nn.ValueAndGrad(m, func() *mlx.Array { return m.W.Greater(0) })()
	require.ErrorContains(t, err, "loss: it is bool[]")
	restored()
	_, _, _, err = nn.ValueAndGradAux(m, func() (*mlx.Array, []*mlx.Array) { return m.W, []*mlx.Array{nil} })()
	require.Error(t, err)
	restored()
	var none func() *mlx.Array
	_, _, err = nn.ValueAndGrad(m, none)()
	require.ErrorContains(t, err, "the loss function is nil")
	_, _, err = nn.ValueAndGrad(nn.Linear{}, m.loss)(x, x)
	require.ErrorContains(t, err, "pointer to a struct")
	_, _, err = nn.ValueAndGrad(&struct{ A int }{}, m.loss)(x, x)
	require.ErrorContains(t, err, "no trainable parameters")
	_, _, err = nn.ValueAndGrad(m, m.loss)(x, nil)
	require.ErrorContains(t, err, "nil")
	m.B.Free()
	_, _, err = nn.ValueAndGrad(m, m.loss)(x, x)
	require.ErrorContains(t, err, "freed")
}

func TestGradsAddAndScale(t *testing.T) {
	m := newQuadratic()
	step := nn.ValueAndGrad(m, m.loss)
	var sum nn.Grads
	for _, y := range []float32{5, 6} {
		_, grads, err := step(mlx.Scalar(float32(2)), mlx.Scalar(y))
		require.NoError(t, err)
		sum, err = sum.Add(grads)
		require.NoError(t, err)
	}
	mean := sum.Scale(0.5)
	require.NoError(t, mlx.Eval(mean.Arrays()...))
	assert.Equal(t, float32((8+4)/2), item(t, mean.Get("W")))
	_, err := sum.Add(sum[:1])
	require.ErrorContains(t, err, "2 gradients and 1")
	_, err = sum.Add(nn.Grads{sum[1], sum[0]})
	require.ErrorContains(t, err, `"W" and of "B"`)
}

// B08: a bias that exists has a gradient and keeps its values; one that does not exist has none.
func TestB08BiasOrNot(t *testing.T) {
	x := mlx.New([]float32{1, 2, 3, 4}, 2, 2)
	with := &nn.Linear{Weight: mlx.New([]float32{1, -1}, 1, 2), Bias: vector(0.5)}
	_, grads, err := nn.ValueAndGrad(with, func() *mlx.Array { return with.Forward(x).Sum() })()
	require.NoError(t, err)
	assert.Equal(t, []float32{2}, values(t, grads.Get("bias")))
	assert.Equal(t, []float32{4, 6}, values(t, grads.Get("weight")))
	assert.Equal(t, []float32{0.5}, values(t, with.Bias))

	without := &nn.Linear{Weight: with.Weight}
	_, grads, err = nn.ValueAndGrad(without, func() *mlx.Array { return without.Forward(x).Sum() })()
	require.NoError(t, err)
	require.Len(t, grads, 1)
	assert.Equal(t, []float32{4, 6}, values(t, grads.Get("weight")))
}
