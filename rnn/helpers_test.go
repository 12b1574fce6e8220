package rnn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// layer is what RNN, GRU and LSTM have in common.
type layer interface {
	Forward(x *mlx.Array, s State, opts ...CallOption) (*mlx.Array, State)
	Step(x *mlx.Array, s State, opts ...CallOption) (*mlx.Array, State)
	ZeroState(batch int) State
	Plan(shape []int) Plan
}

// named is a parameter's name and place.
type named struct {
	name  string
	place **mlx.Array
}

// paramsOf lists the parameters of a layer or cell in the order of the fields, without package nn.
func paramsOf(l any) (list []named) {
	add := func(prefix string, names []string, places ...**mlx.Array) {
		for i, p := range places {
			if *p != nil {
				list = append(list, named{prefix + names[i], p})
			}
		}
	}
	gru := func(prefix string, w *GRUWeights) {
		add(prefix, []string{"Wx", "Wh", "b", "bhn"}, &w.Wx, &w.Wh, &w.B, &w.Bhn)
	}
	lstm := func(prefix string, w *LSTMWeights) {
		add(prefix, []string{"Wx", "Wh", "bias"}, &w.Wx, &w.Wh, &w.Bias)
	}
	vanilla := func(prefix string, w *RNNWeights) {
		add(prefix, []string{"Wxh", "Whh", "bias"}, &w.Wxh, &w.Whh, &w.Bias)
	}
	layers := func(c *config, each func(i int, prefix string)) {
		for i := range c.layers {
			prefix := ""
			if c.layers > 1 {
				prefix = fmt.Sprintf("layers.%d.", i)
			}
			each(i, prefix)
		}
	}
	switch l := l.(type) {
	case *GRU:
		layers(&l.net.cfg, func(i int, prefix string) {
			gru(prefix, &l.Layer(i).GRUWeights)
			if r := l.Layer(i).Reverse; r != nil {
				gru(prefix+"reverse.", r)
			}
		})
	case *LSTM:
		layers(&l.net.cfg, func(i int, prefix string) {
			lstm(prefix, &l.Layer(i).LSTMWeights)
			if r := l.Layer(i).Reverse; r != nil {
				lstm(prefix+"reverse.", r)
			}
		})
	case *RNN:
		layers(&l.net.cfg, func(i int, prefix string) {
			vanilla(prefix, &l.Layer(i).RNNWeights)
			if r := l.Layer(i).Reverse; r != nil {
				vanilla(prefix+"reverse.", r)
			}
		})
	case *GRUCell:
		gru("", &l.GRUWeights)
	case *LSTMCell:
		lstm("", &l.LSTMWeights)
	case *RNNCell:
		vanilla("", &l.RNNWeights)
	default:
		panic(fmt.Sprintf("%T is no layer", l))
	}
	return list
}

// withParams runs f while the layer has other parameters.
func withParams(l any, values []*mlx.Array, f func()) {
	params := paramsOf(l)
	old := make([]*mlx.Array, len(params))
	for i, p := range params {
		old[i], *p.place = *p.place, values[i]
	}
	defer func() {
		for i, p := range params {
			*p.place = old[i]
		}
	}()
	f()
}

func valuesOf(l any) []*mlx.Array {
	var list []*mlx.Array
	for _, p := range paramsOf(l) {
		list = append(list, *p.place)
	}
	return list
}

// setParam replaces the parameter of a name.
func setParam(t testing.TB, l any, name string, a *mlx.Array) {
	t.Helper()
	for _, p := range paramsOf(l) {
		if p.name == name {
			require.Equal(t, (*p.place).Shape(), a.Shape(), name)
			*p.place = a
			return
		}
	}
	require.Fail(t, "no parameter "+name)
}

// newLayer makes a layer of any kind.
func newLayer(t testing.TB, c config, seed uint64) layer {
	t.Helper()
	key := mlx.Key(seed)
	var l layer
	var err error
	switch c.cell {
	case recurrent.GRU:
		l, err = NewGRU(GRUConfig{Input: c.input, Hidden: c.hidden, Layers: c.layers, Direction: c.direction, Merge: c.merge,
			NoBias: c.noBias, TimeMajor: c.timeMajor, Dropout: c.dropout, ResetBefore: c.resetBefore, Dtype: c.dtype}, key)
	case recurrent.LSTM:
		l, err = NewLSTM(LSTMConfig{Input: c.input, Hidden: c.hidden, Layers: c.layers, Direction: c.direction, Merge: c.merge,
			NoBias: c.noBias, TimeMajor: c.timeMajor, Dropout: c.dropout, ForgetBias: c.forgetBias, Dtype: c.dtype}, key)
	default:
		l, err = NewRNN(RNNConfig{Input: c.input, Hidden: c.hidden, Layers: c.layers, Direction: c.direction, Merge: c.merge,
			NoBias: c.noBias, TimeMajor: c.timeMajor, Dropout: c.dropout, Nonlinearity: c.nonlinearity, Dtype: c.dtype}, key)
	}
	require.NoError(t, err)
	return l
}

// floats reads an array of any floating point type.
func floats(t testing.TB, a *mlx.Array) []float64 {
	t.Helper()
	require.NotNil(t, a)
	v, err := mlx.Values[float64](a.AsType(mlx.Float64))
	require.NoError(t, err)
	return v
}

// near compares element by element; a NaN is near nothing.
func near(t testing.TB, want []float64, got *mlx.Array, tolerance float64, about ...any) bool {
	t.Helper()
	v := floats(t, got)
	if !assert.Equal(t, len(want), len(v), about...) {
		return false
	}
	for i := range want {
		if !(math.Abs(want[i]-v[i]) <= tolerance) {
			return assert.Fail(t, fmt.Sprintf("element %d of %v is %.9g, expected %.9g within %g\nexpected %.6f\ngot      %.6f",
				i, got.Shape(), v[i], want[i], tolerance, want[:min(len(want), 40)], v[:min(len(v), 40)]), about...)
		}
	}
	return true
}

func shaped(t testing.TB, want []int, a *mlx.Array) {
	t.Helper()
	require.NoError(t, a.Err())
	assert.Equal(t, want, a.Shape())
}

// uniform is a random array in float64.
func uniform(r *rand.Rand, scale float64, shape ...int) *mlx.Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = scale * (2*r.Float64() - 1)
	}
	return mlx.New(v, shape...)
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 17)) }

// gradients differentiates a loss of arrays by all of them.
func gradients(t testing.TB, f func(args []*mlx.Array) *mlx.Array, args ...*mlx.Array) (*mlx.Array, []*mlx.Array) {
	t.Helper()
	nums := make([]int, len(args))
	for i := range nums {
		nums[i] = i
	}
	values, grads, err := mlx.ValueAndGrad(func(args []*mlx.Array) []*mlx.Array { return []*mlx.Array{f(args)} }, nums...)(args...)
	require.NoError(t, err)
	require.NoError(t, mlx.Eval(append(slices.Clone(grads), values...)...))
	return values[0], grads
}

// layerGradients differentiates loss(y, final state) by the parameters, x and the given states, under their names.
func layerGradients(t testing.TB, l layer, x *mlx.Array, s State, loss func(y *mlx.Array, s State) *mlx.Array, opts ...CallOption) map[string]*mlx.Array {
	t.Helper()
	params := paramsOf(l)
	args := append(valuesOf(l), x)
	names := make([]string, 0, len(args)+2)
	for _, p := range params {
		names = append(names, p.name)
	}
	names = append(names, "x")
	if s.H != nil {
		args, names = append(args, s.H), append(names, "h0")
	}
	if s.C != nil {
		args, names = append(args, s.C), append(names, "c0")
	}
	_, grads := gradients(t, func(args []*mlx.Array) (out *mlx.Array) {
		withParams(l, args, func() {
			state, rest := State{}, args[len(params)+1:]
			if s.H != nil {
				state.H, rest = rest[0], rest[1:]
			}
			if s.C != nil {
				state.C = rest[0]
			}
			out = loss(l.Forward(args[len(params)], state, opts...))
		})
		return out
	}, args...)
	named := map[string]*mlx.Array{}
	for i, g := range grads {
		named[names[i]] = g
	}
	return named
}

// sumOfOutputs, sumOfH and sumOfC are losses.
func sumOfOutputs(y *mlx.Array, _ State) *mlx.Array { return y.Sum() }
func sumOfH(_ *mlx.Array, s State) *mlx.Array       { return s.H.Sum() }
func sumOfC(_ *mlx.Array, s State) *mlx.Array       { return s.C.Sum() }

// requireError checks that both outputs carry an error that has all the parts.
func requireError(t testing.TB, y *mlx.Array, s State, parts ...string) {
	t.Helper()
	err := y.Err()
	require.Error(t, err)
	for _, p := range parts {
		assert.Contains(t, err.Error(), p)
	}
	require.Error(t, s.Err())
	require.Error(t, mlx.Eval(y))
}

// numbers reads "1 2 | 3" and "(1,2) (3,4)".
func numbers(text string) []float64 {
	var list []float64
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" |(),\n\t", r) }) {
		var v float64
		if _, err := fmt.Sscan(f, &v); err != nil {
			panic(err)
		}
		list = append(list, v)
	}
	return list
}
