package rnn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kinds: bptt, cotangent and optional. The chain through time, incoming gradients that are absent, partial or several,
// and operands that may be absent.

func TestB07LossOfTheFinalStateOnly(t *testing.T) {
	d := layerGradients(t, newF1(t, GRUConfig{}), x0(), h03(), sumOfH)
	near(t, numbers("-.082763 .078139 .045316 -.150784"), d["b"].SliceAxis(0, 0, 4), digits)
	near(t, numbers(".305653 .347086"), d["bhn"], digits)
	near(t, numbers(".087309 .043091"), d["x"].Select(0, 0).Select(0, 0), digits)
	near(t, numbers(".058057 .152441"), d["h0"], digits)

	d = layerGradients(t, newF2(t, LSTMConfig{}), x0(), hc03(), sumOfC)
	near(t, numbers(".153010 -.124035 .310756 -.101991 .689061 .608162 -.011869 -.004357"), d["bias"], digits)
	near(t, numbers(".148043 .091934"), d["c0"], digits)
	near(t, numbers("-.016702 .014635"), d["h0"], digits)
}

func TestB08NoBiasAndBias(t *testing.T) {
	g := newF1(t, GRUConfig{NoBias: true})
	y, _ := g.Forward(x0(), State{})
	near(t, f1NoBias, y, digits)
	d := layerGradients(t, g, x0(), State{}, sumOfOutputs)
	assert.NotContains(t, d, "b")
	assert.NotContains(t, d, "bhn")
	m := newF2(t, LSTMConfig{NoBias: true})
	y, _ = m.Forward(x0(), State{})
	near(t, f2NoBias, y, digits)
	assert.NotContains(t, layerGradients(t, m, x0(), State{}, sumOfOutputs), "bias")

	g, m = newF1(t, GRUConfig{}), newF2(t, LSTMConfig{})
	b, bhn, bias := floats(t, g.B), floats(t, g.Bhn), floats(t, m.Bias)
	d = layerGradients(t, g, x0(), State{}, sumOfOutputs)
	for _, v := range append(floats(t, d["b"]), floats(t, d["bhn"])...) {
		assert.NotZero(t, v)
	}
	d = layerGradients(t, m, x0(), State{}, sumOfOutputs)
	for _, v := range floats(t, d["bias"]) {
		assert.NotZero(t, v)
	}
	near(t, b, g.B, 0)
	near(t, bhn, g.Bhn, 0)
	near(t, bias, m.Bias, 0)
}

func TestB22GradientsFindTheirOperands(t *testing.T) {
	for _, c := range []struct {
		noBias, state bool
		dW, dR        string
	}{
		{false, true, "(-.073687,-.036429)", "(-.060310,.074936)"},
		{false, false, "(-.058584,-.049158)", "(-.018488,-.012303)"},
		{true, true, "(-.009724,.002733)", "(-.006910,.009827)"},
		{true, false, "(.001661,-.005890)", "(-.000730,-.000753)"},
	} {
		s := State{}
		if c.state {
			s = h03()
		}
		d := layerGradients(t, newF1(t, GRUConfig{NoBias: c.noBias}), x0(), s, sumOfOutputs)
		near(t, numbers(c.dW), d["Wx"].SliceAxis(0, 0, 1), digits)
		near(t, numbers(c.dR), d["Wh"].SliceAxis(0, 0, 1), digits)
		if !c.noBias {
			assert.NotEqual(t, floats(t, d["bhn"]), floats(t, d["b"].SliceAxis(0, 4, 6)))
		}
	}
}

func TestB76BackwardOfTheLSTM(t *testing.T) {
	d := layerGradients(t, newF2(t, LSTMConfig{}), x0(), hc03(), sumOfOutputs)
	near(t, numbers(".201474 -.102563 .380880 -.138232 .814521 .681326 .348719 -.186201"), d["bias"], digits)
	near(t, numbers(".071552 -.055563"), d["Wh"].Select(0, 0), digits)
	near(t, numbers(".288762 -.271732"), d["Wh"].Select(0, 4), digits)
}

func TestB77GradientsOfSeveralOutputsAddUp(t *testing.T) {
	m := newF2(t, LSTMConfig{})
	near(t, numbers(".153010 -.124035 .310756 -.101991 .689061 .608162 -.011869 -.004357"),
		layerGradients(t, m, x0(), hc03(), sumOfC)["bias"], digits)
	d := layerGradients(t, m, x0(), hc03(), func(y *mlx.Array, s State) *mlx.Array { return s.C.Sum().Add(y.Sum()) })
	near(t, numbers(".354484 -.226598 .691636 -.240222 1.503582 1.289489 .336849 -.190558"), d["bias"], digits)
	near(t, numbers(".590034 .370200"), d["c0"], digits)
}

func TestB79NoGradientFromTheFuture(t *testing.T) {
	g := newF1(t, GRUConfig{})
	for T := 1; T <= 3; T++ {
		d := layerGradients(t, g, x0().SliceAxis(1, 0, T), State{}, func(y *mlx.Array, _ State) *mlx.Array {
			return y.Select(1, 0).Sum()
		})
		near(t, numbers("-.047470 .052390 -.017852 .009331 .481284 .444585"), d["b"], digits)
		near(t, make([]float64, 12), d["Wh"], 0)
		near(t, make([]float64, 2*(T-1)), d["x"].SliceAxis(1, 1, T), 0)
	}
}

// windows runs x in windows of a length and gives the final state; cut detaches the state between them.
func windows(l layer, x *mlx.Array, s State, width int, cut bool) State {
	for i := 0; i < x.Dim(1); i += width {
		_, s = l.Forward(x.SliceAxis(1, i, min(i+width, x.Dim(1))), s)
		if cut && i+width < x.Dim(1) {
			s = s.Detach()
		}
	}
	return s
}

func TestB88TruncatedBackPropagation(t *testing.T) {
	g := newF1(t, GRUConfig{})
	for _, width := range []int{1, 2, 3} {
		near(t, numbers("(.200853,.012696)"), windows(g, x0(), h03(), width, true).H, digits)
	}
	// Windows of one and then two steps.
	loss := func(cut bool) map[string]*mlx.Array {
		params := valuesOf(g)
		_, d := gradients(t, func(args []*mlx.Array) (out *mlx.Array) {
			withParams(g, args, func() {
				_, s := g.Forward(x0().SliceAxis(1, 0, 1), State{H: args[len(params)]})
				next := s
				if cut {
					next = s.Detach()
				}
				_, s = g.Forward(x0().SliceAxis(1, 1, 3), next)
				out = s.H.Sum()
			})
			return out
		}, append(params, h03().H)...)
		return map[string]*mlx.Array{"b": d[2], "bhn": d[3], "h0": d[4]}
	}
	d := loss(true)
	near(t, numbers("-.073298 .063772 .035481 -.113395"), d["b"].SliceAxis(0, 0, 4), digits)
	near(t, numbers(".263898 .275268"), d["bhn"], digits)
	near(t, []float64{0, 0}, d["h0"], 0)
	// Without the cut it is the whole sequence's.
	d = loss(false)
	near(t, numbers(".305653 .347086"), d["bhn"], digits)
	near(t, numbers(".058057 .152441"), d["h0"], digits)
}

// Every cell: with the state cut, the gradient of the last window is that of the window alone.
func TestDetachedStateIsAConstant(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		l := newLayer(t, config{cell: cell, input: 2, hidden: 3, layers: 2, dtype: mlx.Float64}, 1)
		x := uniform(newRand(1), 1, 2, 6, 2)
		_, s := l.Forward(x.SliceAxis(1, 0, 4), State{})
		require.NoError(t, s.Eval())
		loss := func(run func() State) func(args []*mlx.Array) *mlx.Array {
			return func(args []*mlx.Array) (out *mlx.Array) {
				withParams(l, args, func() { out = run().H.Square().Sum() })
				return out
			}
		}
		last := x.SliceAxis(1, 4, 6)
		_, want := gradients(t, loss(func() State { _, f := l.Forward(last, s); return f }), valuesOf(l)...)
		_, got := gradients(t, loss(func() State { return windows(l, x, State{}, 4, true) }), valuesOf(l)...)
		_, whole := gradients(t, loss(func() State { return windows(l, x, State{}, 4, false) }), valuesOf(l)...)
		for i := range want {
			near(t, floats(t, want[i]), got[i], 1e-14)
			assert.NotEqual(t, floats(t, whole[i]), floats(t, got[i]))
		}
	}
}
