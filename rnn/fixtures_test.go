package rnn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// The fixtures are small layers with weights, inputs and results that were computed from the published equations in
// float64, apart from this code. They hold to the digits printed.

const digits = 1e-6

var (
	f1W   = numbers("-.07 -.30 | .04 -.19 | .15 -.08 | .26 .03 | .37 .14 | .48 .25")
	f1R   = numbers(".14 .33 | .07 .26 | .00 .19 | -.07 .12 | -.14 .05 | -.21 -.02")
	f1Bih = numbers(".05 -.10 .15 -.20 .25 -.30")
	f1Bhh = numbers("-.08 .16 -.24 .32 -.40 .48")
	f2W   = numbers("-.01 -.18 | .05 -.12 | .11 -.06 | .17 0 | .23 .06 | .29 .12 | .35 .18 | .41 .24")
	f2R   = numbers(".12 .25 | .07 .20 | .02 .15 | -.03 .10 | -.08 .05 | -.13 0 | -.18 -.05 | -.23 -.10")
	f2B   = numbers(".07 -.14 .21 -.28 .35 -.42 .49 -.56")
	f3W   = numbers(".15 .27 | .10 .22 | .05 .17 | 0 .12 | -.05 .07 | -.10 .02")
	f3R   = numbers("-.13 -.24 | -.05 -.16 | .03 -.08 | .11 0 | .19 .08 | .27 .16")
	f3Bih = numbers(".02 .04 -.06 .08 -.10 .12")
	f3Bhh = numbers(".10 -.08 .06 -.04 .14 -.18")

	row0 = numbers("(.5,-1) (1.5,.25) (-.75,2)")
	row1 = numbers("(1,1) (-.5,.5) (.25,-.25)")
	rows = append(append([]float64{}, row0...), row1...)

	f1Zero    = numbers("(.034581,-.016819) (.290802,.222200) (.172365,.120280)")
	f1Given   = numbers("(.171755,-.356893) (.367767,.016231) (.200853,.012696)")
	f1Reverse = numbers("(.180394,.105600) (.304540,.243989) (.063841,.019346)")
	f1NoBias  = numbers("(.020746,-.004750) (.248969,.259892) (.107247,.183258)")
	f1Row1    = numbers("(.271021,.230506) (.084222,.016474) (.090763,.010420)")
	f1Before  = numbers("(-.050609,.074967) (.168535,.324024) (-.013667,.309295)")
	f2Zero    = numbers("(.131367,-.066159) (.298784,-.041327) (.201406,-.075144)")
	f2Given   = numbers("(.364192,-.124642) (.441033,-.091432) (.268854,-.090646)")
	f2Reverse = numbers("(.243908,-.077359) (.266030,-.030095) (.079448,-.060210)")
	f2NoBias  = numbers("(.014893,.006583) (.115739,.148912) (.031260,.058954)")
	f2Row1    = numbers("(.190692,-.002339) (.152670,-.072009) (.203460,-.098479)")
)

func f64(v []float64, shape ...int) *mlx.Array { return mlx.New(v, shape...) }

// setGRU fills one layer's direction with a fixture's weights; the r and z parts of the second bias are added to the first.
func setGRU(w *GRUWeights, wx, wh, bih, bhh []float64) {
	w.Wx, w.Wh = f64(wx, 6, len(wx)/6), f64(wh, 6, 2)
	if w.B == nil {
		return
	}
	b := make([]float64, 6)
	for i := range b {
		b[i] = bih[i]
		if i < 4 || w.Bhn == nil {
			b[i] += bhh[i]
		}
	}
	w.B = f64(b, 6)
	if w.Bhn != nil {
		w.Bhn = f64(bhh[4:], 2)
	}
}

func setLSTM(w *LSTMWeights, wx, wh, b []float64) {
	w.Wx, w.Wh = f64(wx, 8, 2), f64(wh, 8, 2)
	if w.Bias != nil {
		w.Bias = f64(b, 8)
	}
}

// newF1 is fixture F1 in float64: a GRU with the same weights in each direction; further layers are F3.
func newF1(t testing.TB, c GRUConfig) *GRU {
	t.Helper()
	c.Input, c.Hidden, c.Dtype = 2, 2, mlx.Float64
	g, err := NewGRU(c, mlx.Key(0))
	require.NoError(t, err)
	setGRU(&g.Layer(0).GRUWeights, f1W, f1R, f1Bih, f1Bhh)
	if r := g.Layer(0).Reverse; r != nil {
		setGRU(r, f1W, f1R, f1Bih, f1Bhh)
	}
	if c.Layers == 2 {
		setGRU(&g.Layer(1).GRUWeights, f3W, f3R, f3Bih, f3Bhh)
	}
	return g
}

// newF2 is fixture F2 in float64: an LSTM with the same weights in each direction.
func newF2(t testing.TB, c LSTMConfig) *LSTM {
	t.Helper()
	c.Input, c.Hidden, c.Dtype = 2, 2, mlx.Float64
	m, err := NewLSTM(c, mlx.Key(0))
	require.NoError(t, err)
	setLSTM(&m.LSTMWeights, f2W, f2R, f2B)
	if m.Reverse != nil {
		setLSTM(m.Reverse, f2W, f2R, f2B)
	}
	return m
}

func x0() *mlx.Array    { return f64(row0, 1, 3, 2) }
func xBoth() *mlx.Array { return f64(rows, 2, 3, 2) }

// h03 is the fixtures' given initial state.
func h03() State { return State{H: f64([]float64{.3, -.6}, 1, 1, 2)} }
func hc03() State {
	return State{H: f64([]float64{.3, -.6}, 1, 1, 2), C: f64([]float64{.9, -.4}, 1, 1, 2)}
}

func TestF1(t *testing.T) {
	g := newF1(t, GRUConfig{})
	y, s := g.Forward(x0(), State{})
	near(t, f1Zero, y, digits)
	near(t, f1Zero[4:], s.H, digits)
	assert.Nil(t, s.C)
	y, s = g.Forward(x0(), h03())
	near(t, f1Given, y, digits)
	near(t, f1Given[4:], s.H, digits)
	y, _ = g.Forward(xBoth(), State{})
	near(t, append(append([]float64{}, f1Zero...), f1Row1...), y, digits)

	y, s = newF1(t, GRUConfig{Direction: Reverse}).Forward(x0(), State{})
	near(t, f1Reverse, y, digits)
	near(t, f1Reverse[:2], s.H, digits)

	y, _ = newF1(t, GRUConfig{NoBias: true}).Forward(x0(), State{})
	near(t, f1NoBias, y, digits)
}

func TestF1Gradients(t *testing.T) {
	g := newF1(t, GRUConfig{})
	d := layerGradients(t, g, x0(), h03(), sumOfOutputs)
	near(t, numbers("-.207242 .183392 .037567 -.582314 1.857288 1.738666"), d["b"], digits)
	near(t, numbers(".837865 .857248"), d["bhn"], digits)
	near(t, numbers(".650292 .981664"), d["h0"], digits)
	near(t, numbers("-.060310 .074936 | .053121 -.069216 | .033035 -.012699 | -.130448 .266805 | .242381 -.323415 | .248371 -.338002"), d["Wh"], digits)

	d = layerGradients(t, g, x0(), h03(), sumOfH)
	near(t, numbers("-.082763 .078139 .045316 -.150784"), d["b"].SliceAxis(0, 0, 4), digits)
	near(t, numbers(".305653 .347086"), d["bhn"], digits)
	near(t, numbers(".087309 .043091"), d["x"].SliceAxis(1, 0, 1), digits)
	near(t, numbers(".058057 .152441"), d["h0"], digits)
}

func TestF2(t *testing.T) {
	m := newF2(t, LSTMConfig{})
	y, s := m.Forward(x0(), State{})
	near(t, f2Zero, y, digits)
	near(t, f2Zero[4:], s.H, digits)
	near(t, numbers(".330835,-.195700"), s.C, digits)
	y, s = m.Forward(x0(), hc03())
	near(t, f2Given, y, digits)
	near(t, numbers(".459733,-.241706"), s.C, digits)
	y, _ = m.Forward(xBoth(), State{})
	near(t, append(append([]float64{}, f2Zero...), f2Row1...), y, digits)

	y, s = newF2(t, LSTMConfig{Direction: Reverse}).Forward(x0(), State{})
	near(t, f2Reverse, y, digits)
	near(t, f2Reverse[:2], s.H, digits)
	near(t, numbers(".425092,-.229984"), s.C, digits)

	y, _ = newF2(t, LSTMConfig{NoBias: true}).Forward(x0(), State{})
	near(t, f2NoBias, y, digits)
}

func TestF2Gradients(t *testing.T) {
	d := layerGradients(t, newF2(t, LSTMConfig{}), x0(), hc03(), sumOfC)
	near(t, numbers(".153010 -.124035 .310756 -.101991 .689061 .608162 -.011869 -.004357"), d["bias"], digits)
	near(t, numbers(".148043 .091934"), d["c0"], digits)
	near(t, numbers("-.016702 .014635"), d["h0"], digits)
}

// F3 has no figures of its own but those above F1.
func TestF3AboveF1(t *testing.T) {
	g := newF1(t, GRUConfig{Layers: 2})
	y, s := g.Forward(xBoth(), State{})
	near(t, numbers("(-.014349,.013738) (-.018146,.008481) (-.021755,.010802) (-.009563,.002805) (-.019295,.012259) (-.024875,.016477)"), y, digits)
	// The state has the lower layer first.
	near(t, append(append(append([]float64{}, f1Zero[4:]...), f1Row1[4:]...), numbers("(-.021755,.010802) (-.024875,.016477)")...), s.H, digits)
}

// The cells give the fixtures step by step.
func TestCellsGiveTheFixtures(t *testing.T) {
	gru, err := NewGRUCell(GRUCellConfig{Input: 2, Hidden: 2, Dtype: mlx.Float64}, mlx.Key(0))
	require.NoError(t, err)
	setGRU(&gru.GRUWeights, f1W, f1R, f1Bih, f1Bhh)
	lstm, err := NewLSTMCell(LSTMCellConfig{Input: 2, Hidden: 2, Dtype: mlx.Float64}, mlx.Key(0))
	require.NoError(t, err)
	setLSTM(&lstm.LSTMWeights, f2W, f2R, f2B)

	h, s := f64([]float64{.3, -.6}, 1, 2), State{H: f64([]float64{.3, -.6}, 2), C: f64([]float64{.9, -.4}, 2)}
	for i := range 3 {
		h = gru.Step(f64(row0[2*i:2*i+2], 1, 2), h)
		shaped(t, []int{1, 2}, h)
		near(t, f1Given[2*i:2*i+2], h, digits)
		s = lstm.Step(f64(row0[2*i:2*i+2], 2), s)
		shaped(t, []int{2}, s.H)
		shaped(t, []int{2}, s.C)
		near(t, f2Given[2*i:2*i+2], s.H, digits)
	}
	near(t, f1Zero[:2], gru.Step(f64(row0[:2], 1, 2), nil), digits)
	near(t, f1Zero[:2], gru.Step(f64(row0[:2], 1, 2), gru.ZeroState(1)), digits)
	near(t, f2Zero[:2], lstm.Step(f64(row0[:2], 1, 2), lstm.ZeroState(1)).H, digits)
}
