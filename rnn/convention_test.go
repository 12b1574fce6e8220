package rnn

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: convention. Gate order, sense of the update gate, place of the reset gate and of the second bias. The ids in
// the names of tests are those of a list of faults that users of other libraries met.

func TestB19ResetAfterAndTheSecondBias(t *testing.T) {
	y, _ := newF1(t, GRUConfig{}).Forward(x0(), h03())
	near(t, f1Given, y, digits)

	g, err := NewGRUCell(GRUCellConfig{Input: 1, Hidden: 1, Dtype: mlx.Float64}, mlx.Key(0))
	require.NoError(t, err)
	g.Wx, g.Wh, g.B, g.Bhn = f64([]float64{0, 0, 0}, 3, 1), f64([]float64{0, 0, 1}, 3, 1), f64([]float64{0, 0, 0}), f64([]float64{1})
	// r = z = .5, so n = tanh(.5 * (1 + 1)) and h' = .5 n + .5.
	h := g.Step(f64([]float64{0}, 1), f64([]float64{1}, 1))
	near(t, []float64{.5*.761594 + .5}, h, digits)
}

func TestB23GateOrderOfTheLSTM(t *testing.T) {
	m := newF2(t, LSTMConfig{})
	y, _ := m.Forward(x0(), State{})
	near(t, f2Zero, y, digits)
	// With f and g exchanged the figures are others.
	for _, p := range []**mlx.Array{&m.Wx, &m.Wh, &m.Bias} {
		parts := (*p).Split(4, 0)
		*p = mlx.Concatenate([]*mlx.Array{parts[0], parts[2], parts[1], parts[3]}, 0)
	}
	y, _ = m.Forward(x0(), State{})
	near(t, numbers("(.107909,-.034207) (.208727,-.033496) (.105677,-.071141)"), y, digits)
}

func TestB31TheSecondBiasExistsAndActs(t *testing.T) {
	g := newF1(t, GRUConfig{})
	require.NotNil(t, g.Bhn)
	var names []string
	for _, p := range paramsOf(g) {
		names = append(names, p.name)
	}
	assert.Equal(t, []string{"Wx", "Wh", "b", "bhn"}, names)
	y, _ := g.Forward(x0(), State{})
	near(t, f1Zero, y, digits)
	g.Bhn = mlx.ZerosLike(g.Bhn)
	y, _ = g.Forward(x0(), State{})
	near(t, numbers("(.138707,-.133761) (.397074,.082970) (.298544,-.057636)"), y, digits)
}

func TestB50ResetBefore(t *testing.T) {
	g := newF1(t, GRUConfig{ResetBefore: true})
	assert.Nil(t, g.Bhn, "there is one bias")
	y, s := g.Forward(x0(), State{})
	near(t, f1Before, y, digits)
	near(t, f1Before[4:], s.H, digits)

	cell, err := NewGRUCell(GRUCellConfig{Input: 2, Hidden: 2, ResetBefore: true, Dtype: mlx.Float64}, mlx.Key(0))
	require.NoError(t, err)
	setGRU(&cell.GRUWeights, f1W, f1R, f1Bih, f1Bhh)
	h := cell.ZeroState(1)
	for i := range 3 {
		h = cell.Step(f64(row0[2*i:2*i+2], 1, 2), h)
		near(t, f1Before[2*i:2*i+2], h, digits)
	}
}

// What a start-up probe of another route compares with.
func TestB55ProbesOfARoute(t *testing.T) {
	g := newF1(t, GRUConfig{Direction: Bidirectional})
	y, _ := g.Forward(x0(), State{H: f64([]float64{.3, -.6, .3, -.6}, 2, 1, 2)})
	near(t, f1Given, y.SliceAxis(2, 0, 2), digits)
	near(t, numbers("(.208697,-.001769) (.368091,.060614) (.176026,-.281982)"), y.SliceAxis(2, 2, 4), digits)
	m := newF2(t, LSTMConfig{Direction: Bidirectional})
	y, _ = m.Forward(x0(), State{})
	near(t, f2Zero, y.SliceAxis(2, 0, 2), digits)
	near(t, f2Reverse, y.SliceAxis(2, 2, 4), digits)
}

func TestB56ForgetBiasCountsOnce(t *testing.T) {
	with := newF2(t, LSTMConfig{ForgetBias: 1})
	fresh := func(bias float64) []float64 {
		m, err := NewLSTM(LSTMConfig{Input: 2, Hidden: 2, ForgetBias: bias, Dtype: mlx.Float64}, mlx.Key(9))
		require.NoError(t, err)
		return floats(t, m.Bias)
	}
	// The option moves the initial bias of the forget gate by 1, and nothing else.
	plain, moved := fresh(0), fresh(1)
	bias := slices.Clone(f2B)
	for i := range bias {
		want := 0.0
		if i == 2 || i == 3 {
			want = 1
		}
		assert.InDelta(t, want, moved[i]-plain[i], 1e-6)
		bias[i] += moved[i] - plain[i]
	}
	with.Bias = f64(bias, 8)
	y, _ := with.Forward(x0(), State{})
	near(t, numbers("(.131367,-.066159) (.325886,-.064020) (.271315,-.092819)"), y, digits)
}

func TestParametersStartUniform(t *testing.T) {
	const H = 64
	g, err := NewGRU(GRUConfig{Input: 32, Hidden: H, Layers: 2, Direction: Bidirectional}, mlx.Key(1))
	require.NoError(t, err)
	again, err := NewGRU(GRUConfig{Input: 32, Hidden: H, Layers: 2, Direction: Bidirectional}, mlx.Key(1))
	require.NoError(t, err)
	other, err := NewGRU(GRUConfig{Input: 32, Hidden: H, Layers: 2, Direction: Bidirectional}, mlx.Key(2))
	require.NoError(t, err)
	seen := map[float64]bool{}
	for i, p := range paramsOf(g) {
		v := floats(t, *p.place)
		var sum, squares float64
		for _, a := range v {
			assert.LessOrEqual(t, math.Abs(a), 1/math.Sqrt(H))
			sum, squares = sum+a, squares+a*a
		}
		if len(v) > 1000 {
			assert.InDelta(t, 0, sum/float64(len(v)), 0.005, p.name)
			assert.InDelta(t, 1.0/3/H, squares/float64(len(v)), 0.05/3/H, p.name)
		}
		assert.False(t, seen[v[0]], "%s starts like another parameter", p.name)
		seen[v[0]] = true
		assert.Equal(t, v, floats(t, *paramsOf(again)[i].place))
		assert.NotEqual(t, v, floats(t, *paramsOf(other)[i].place))
	}
}
