package rnn

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: mode. Dropout acts in training only, anew for each key, and the same in forward and backward.

func TestB10EvaluationHasNoDropout(t *testing.T) {
	g := newF1(t, GRUConfig{Layers: 2, Dropout: .5})
	row0 := numbers("(-.014349,.013738) (-.018146,.008481) (-.021755,.010802)")
	row1 := numbers("(-.009563,.002805) (-.019295,.012259) (-.024875,.016477)")
	y, _ := g.Forward(x0(), State{}, Train(mlx.Key(1)))
	require.NoError(t, y.Eval())
	y, _ = g.Forward(x0(), State{})
	near(t, row0, y, digits)
	y, _ = g.Forward(xBoth(), State{}, Train(mlx.Key(2)))
	require.NoError(t, y.Eval())
	y, _ = g.Forward(xBoth(), State{})
	near(t, slices.Concat(row0, row1), y, digits)
}

func TestB11MasksChangeWithTheKeyOnly(t *testing.T) {
	l := newLayer(t, config{cell: recurrent.GRU, input: 4, hidden: 64, layers: 2, dropout: .5}, 1)
	x := mlx.RandomNormal([]int{1, 3, 4}, mlx.Float32, 0, 1, mlx.Key(2))
	run := func(keys *mlx.Keys) (out [][]float64) {
		for range 3 {
			y, _ := l.Forward(x, State{}, Train(keys.Next()))
			out = append(out, floats(t, y))
		}
		return out
	}
	first := run(mlx.NewKeys(7))
	assert.NotEqual(t, first[0], first[1])
	assert.NotEqual(t, first[1], first[2])
	assert.NotEqual(t, first[0], first[2])
	assert.Equal(t, first, run(mlx.NewKeys(7)))
	assert.NotEqual(t, first, run(mlx.NewKeys(8)))
}

// Each layer boundary has a mask of its own, about the configured part of the elements is dropped, and the rest is scaled.
func TestDropoutMask(t *testing.T) {
	const p, H = .3, 64
	l := newLayer(t, config{cell: recurrent.RNN, nonlinearity: ReLU, input: 1, hidden: H, layers: 3, dropout: p, noBias: true}, 1).(*RNN)
	eye := mlx.Eye(H, H, 0, mlx.Float32)
	for i := range 3 {
		w := l.Layer(i)
		w.Whh = mlx.ZerosLike(w.Whh)
		w.Wxh = eye
	}
	l.Layer(0).Wxh = mlx.Ones([]int{H, 1}, mlx.Float32)
	// Every layer hands on what it is given, so y is 1/(1-p)^2 where both masks keep the element.
	x := mlx.Ones([]int{4, 50, 1}, mlx.Float32)
	y, _ := l.Forward(x, State{}, Train(mlx.Key(3)))
	kept := 0
	for _, v := range floats(t, y) {
		if v != 0 {
			assert.InDelta(t, 1/((1-p)*(1-p)), v, 1e-5)
			kept++
		}
	}
	assert.InDelta(t, (1-p)*(1-p), float64(kept)/(4*50*H), 0.02)
	y, _ = l.Forward(x, State{})
	near(t, slices.Repeat([]float64{1}, 4*50*H), y, 0)
}

func TestB13DropoutOfEverything(t *testing.T) {
	g := newF1(t, GRUConfig{Layers: 2, Dropout: 1})
	y, s := g.Forward(x0(), State{}, Train(mlx.Key(1)))
	near(t, numbers("(-.012900,.015577) (-.019710,.023330) (-.023309,.027159)"), y, digits)
	near(t, f1Zero[4:], s.H.Select(0, 0), digits)
	for name, d := range layerGradients(t, g, x0(), State{}, sumOfOutputs, Train(mlx.Key(1))) {
		for _, v := range floats(t, d) {
			assert.False(t, math.IsNaN(v) || math.IsInf(v, 0), name)
		}
	}
	for _, p := range []float64{-.1, 1.5, math.NaN(), math.Inf(1)} {
		_, err := NewGRU(GRUConfig{Input: 2, Hidden: 2, Layers: 2, Dropout: p}, mlx.Key(0))
		require.ErrorContains(t, err, "expected a probability from 0 to 1")
	}
}

// One step draws a mask as well, and the stack below is not affected.
func TestStepInTraining(t *testing.T) {
	g := newF1(t, GRUConfig{Layers: 2, Dropout: 1})
	y, s := g.Step(f64(row0[:2], 1, 2), State{}, Train(mlx.Key(1)))
	near(t, numbers("(-.012900,.015577)"), y, digits)
	near(t, f1Zero[:2], s.H.Select(0, 0), digits)
}

// The label of a sequence of bits is its last one: what is learned in training holds in evaluation at any batch size.
func TestB29EvaluationEqualsTraining(t *testing.T) {
	const rows, steps, H = 64, 8, 8
	r := newRand(12)
	bits, labels := make([]float32, rows*steps), make([]float32, rows)
	for i := range bits {
		bits[i] = float32(r.IntN(2))
	}
	for i := range labels {
		labels[i] = bits[i*steps+steps-1]
	}
	x, target := mlx.New(bits, rows, steps, 1), mlx.New(labels, rows, 1)
	for _, dropout := range []float64{0, .2} {
		l := newLayer(t, config{cell: recurrent.GRU, input: 1, hidden: H, layers: 2, dropout: dropout}, 4)
		out := mlx.RandomNormal([]int{H, 1}, mlx.Float32, 0, .3, mlx.Key(1))
		keys := mlx.NewKeys(3)
		loss := func(x, target, out *mlx.Array, opts ...CallOption) *mlx.Array {
			y, _ := l.Forward(x, State{}, opts...)
			logit := y.Select(1, steps-1).MatMul(out)
			// log(1 + e^v) - target v
			return logit.LogAddExp(0.0).Sub(target.Mul(logit)).Mean()
		}
		args := append(valuesOf(l), out)
		for range 50 {
			key := keys.Next()
			_, d := gradients(t, func(args []*mlx.Array) (v *mlx.Array) {
				withParams(l, args, func() { v = loss(x, target, args[len(args)-1], Train(key)) })
				return v
			}, args...)
			for i := range args {
				args[i] = args[i].Sub(d[i].Mul(2.0))
			}
			require.NoError(t, mlx.Eval(args...))
		}
		withParams(l, args, func() {
			out := args[len(args)-1]
			full, err := mlx.Item[float32](loss(x, target, out))
			require.NoError(t, err)
			assert.Less(t, full, float32(.2), "it has learned")
			if dropout == 0 {
				trained, err := mlx.Item[float32](loss(x, target, out, Train(mlx.Key(1))))
				require.NoError(t, err)
				assert.InDelta(t, trained, full, 1e-5)
			}
			// Batches of 7 give the same mean.
			var sum float64
			for i := 0; i < rows; i += 7 {
				n := min(7, rows-i)
				part, err := mlx.Item[float32](loss(x.SliceAxis(0, i, i+n), target.SliceAxis(0, i, i+n), out))
				require.NoError(t, err)
				sum += float64(part) * float64(n)
			}
			assert.InDelta(t, full, sum/rows, 1e-5)
		})
	}
}
