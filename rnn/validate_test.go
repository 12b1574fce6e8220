package rnn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: validate. A wrong argument gives an error that names the argument, what was given and what was expected; the
// next good call works.

func TestB38WrongShapes(t *testing.T) {
	g := newF1(t, GRUConfig{})
	zeros := func(shape ...int) *mlx.Array { return mlx.Zeros(shape, mlx.Float64) }
	for name, c := range map[string]struct {
		x     *mlx.Array
		s     State
		parts []string
	}{
		"features":       {zeros(1, 3, 3), State{}, []string{"x has shape [1 3 3]", "D = 2"}},
		"rank of h0":     {x0(), State{H: zeros(3)}, []string{"state H has shape [3]", "[layers*directions, N, H] = [1 1 2]"}},
		"layers of h0":   {xBoth(), State{H: zeros(2, 2, 2)}, []string{"state H has shape [2 2 2]", "[1 2 2]"}},
		"batch of h0":    {xBoth(), State{H: zeros(1, 4, 2)}, []string{"state H has shape [1 4 2]", "[1 2 2]"}},
		"features of h0": {xBoth(), State{H: zeros(1, 2, 3)}, []string{"state H has shape [1 2 3]", "[1 2 2]"}},
		"unbatched h0":   {zeros(3, 2), State{H: zeros(1, 1, 2)}, []string{"state H has shape [1 1 2]", "[layers*directions, H] = [1 2]"}},
		"c0":             {x0(), State{C: zeros(1, 1, 2)}, []string{"state C is given", "only an LSTM"}},
		"rank 1":         {zeros(2), State{}, []string{"x has shape [2]", "[N, L, D] or [L, D]"}},
		"rank 4":         {zeros(1, 1, 1, 2), State{}, []string{"x has shape [1 1 1 2]"}},
		"integers":       {mlx.New([]int{1, 2, 3, 4}, 1, 2, 2), State{}, []string{"x is int32[1 2 2]", "floating point", "AsType"}},
		"integer h0":     {x0(), State{H: mlx.New([]int{1, 2}, 1, 1, 2)}, []string{"state H is int32[1 1 2]", "floating point"}},
		"booleans":       {mlx.New([]bool{true, false}, 1, 1, 2), State{}, []string{"x is bool[1 1 2]"}},
		"complex":        {mlx.New([]complex64{1, 2}, 1, 1, 2), State{}, []string{"x is complex64[1 1 2]"}},
		"nil":            {nil, State{}, []string{"x is nil"}},
	} {
		t.Run(name, func(t *testing.T) {
			y, s := g.Forward(c.x, c.s)
			requireError(t, y, s, append(c.parts, "GRU.Forward: ", "validate_test.go:")...)
			y, _ = g.Forward(x0(), State{})
			near(t, f1Zero, y, digits)
		})
	}

	// An error that an argument carries goes on as it is.
	bad := zeros(2, 3).MatMul(zeros(2, 3))
	y, s := g.Forward(bad, State{})
	requireError(t, y, s, "matmul")
	y, s = g.Forward(x0(), State{H: bad})
	requireError(t, y, s, "matmul")
	freed := zeros(1, 3, 2)
	freed.Free()
	y, s = g.Forward(freed, State{})
	requireError(t, y, s, "freed")

	m := newF2(t, LSTMConfig{})
	y, s = m.Forward(x0(), State{C: zeros(1, 2, 2)})
	requireError(t, y, s, "LSTM.Forward", "state C has shape [1 2 2]", "[1 1 2]")
	require.Error(t, s.C.Err())
	timeMajor := newF1(t, GRUConfig{TimeMajor: true})
	y, s = timeMajor.Forward(zeros(3, 2, 2), State{H: zeros(1, 3, 2)})
	requireError(t, y, s, "[1 3 2]", "[1 2 2]")
	y, s = timeMajor.Forward(zeros(3, 2, 1), State{})
	requireError(t, y, s, "[L, N, D]")
}

func TestWrongSteps(t *testing.T) {
	g := newF1(t, GRUConfig{})
	zeros := func(shape ...int) *mlx.Array { return mlx.Zeros(shape, mlx.Float64) }
	for name, c := range map[string]struct {
		x     *mlx.Array
		s     State
		opts  []CallOption
		parts []string
	}{
		"features": {zeros(1, 3), State{}, nil, []string{"x has shape [1 3]", "[N, D] or [D] with D = 2"}},
		"rank":     {x0(), State{}, nil, []string{"x has shape [1 3 2]"}},
		"scalar":   {mlx.Scalar(1.0), State{}, nil, []string{"x has shape []"}},
		"h":        {zeros(2, 2), State{H: zeros(2, 2)}, nil, []string{"state H has shape [2 2]", "[1 2 2]"}},
		"lengths":  {zeros(1, 2), State{}, []CallOption{Lengths([]int{1})}, []string{"a step has no length"}},
		"key":      {zeros(1, 2), State{}, []CallOption{Train(nil)}, []string{"key is nil"}},
	} {
		t.Run(name, func(t *testing.T) {
			y, s := g.Step(c.x, c.s, c.opts...)
			requireError(t, y, s, append(c.parts, "GRU.Step: ")...)
		})
	}
	y, _ := g.Step(f64(row0[:2], 1, 2), State{})
	near(t, f1Zero[:2], y, digits)
	for _, d := range []Direction{Reverse, Bidirectional} {
		y, s := newF1(t, GRUConfig{Direction: d}).Step(zeros(1, 2), State{})
		requireError(t, y, s, "the layer is "+d.String(), "forward")
	}

	cell, err := NewLSTMCell(LSTMCellConfig{Input: 2, Hidden: 3}, mlx.Key(0))
	require.NoError(t, err)
	s := cell.Step(zeros(4, 2), State{H: zeros(4, 2)})
	require.ErrorContains(t, s.Err(), "LSTMCell.Step: state H has shape [4 2]; expected [N, H] = [4 3]")
	require.Error(t, s.C.Err())
	s = cell.Step(zeros(2), State{C: zeros(1, 3)})
	require.ErrorContains(t, s.Err(), "state C has shape [1 3]; expected [H] = [3]")
}

func TestWrongLengths(t *testing.T) {
	g := newF1(t, GRUConfig{})
	for name, c := range map[string]struct {
		option CallOption
		parts  []string
	}{
		"too few":    {Lengths([]int{3}), []string{"1 lengths are given", "N = 2"}},
		"too many":   {Lengths([]int{3, 3, 3}), []string{"3 lengths are given", "N = 2"}},
		"too long":   {Lengths([]int{3, 4}), []string{"length 1 is 4", "0 to L = 3"}},
		"negative":   {Lengths([]int{-1, 3}), []string{"length 0 is -1", "0 to L = 3"}},
		"nil":        {Lengths([]int(nil)), []string{"lengths are nil"}},
		"nil array":  {Lengths((*mlx.Array)(nil)), []string{"lengths are nil"}},
		"NaN":        {Lengths(mlx.New([]float32{float32(math.NaN()), 3})), []string{"lengths are float32[2]", "integers of shape [N] = [2]"}},
		"fractions":  {Lengths(mlx.New([]float64{1.5, 3})), []string{"lengths are float64[2]"}},
		"booleans":   {Lengths(mlx.New([]bool{true, true})), []string{"lengths are bool[2]"}},
		"axes":       {Lengths(mlx.New([]int{3, 3}, 2, 1)), []string{"lengths are int32[2 1]"}},
		"array":      {Lengths(mlx.New([]int{3, 3, 3})), []string{"lengths have shape [3]", "[N] = [2]"}},
		"array long": {Lengths(mlx.New([]int{3, 4})), []string{"length 1 is 4", "0 to L = 3"}},
		"huge":       {Lengths(mlx.New([]int64{3, 1 << 40})), []string{"length 1 is 1099511627776"}},
		"error":      {Lengths(mlx.New([]int{1, 2}, 3)), []string{"do not fill shape [3]"}},
	} {
		t.Run(name, func(t *testing.T) {
			y, s := g.Forward(xBoth(), State{}, c.option)
			requireError(t, y, s, c.parts...)
			y, _ = g.Forward(xBoth(), State{}, Lengths([]int{3, 1}))
			near(t, f1Zero, y.Select(0, 0), digits)
		})
	}
}

func TestWrongKeys(t *testing.T) {
	for name, c := range map[string]struct {
		key  *mlx.Array
		text string
	}{
		"nil":   {nil, "key is nil; mlx.Key(seed) makes one"},
		"dtype": {mlx.New([]int{1, 2}), "key is int32[2]; expected uint32[2]"},
		"shape": {mlx.New([]uint32{1, 2, 3}), "key is uint32[3]"},
		"error": {mlx.New([]uint32{1, 2}, 3), "do not fill shape"},
	} {
		_, err := NewRNN(RNNConfig{Input: 1, Hidden: 1}, c.key)
		require.ErrorContains(t, err, "rnn.NewRNN: ", name)
		require.ErrorContains(t, err, c.text, name)
		_, err = NewLSTMCell(LSTMCellConfig{Input: 1, Hidden: 1}, c.key)
		require.ErrorContains(t, err, "rnn.NewLSTMCell: ", name)
		// In training too, also where there is nothing to drop.
		y, s := newF1(t, GRUConfig{}).Forward(x0(), State{}, Train(c.key))
		requireError(t, y, s, c.text)
	}
}

// All faults of a configuration are told together.
func TestWrongConfigurations(t *testing.T) {
	_, err := NewGRU(GRUConfig{Input: -1, Hidden: 0, Layers: -2, Direction: 9, Merge: 7, Dropout: 2, Dtype: mlx.Int32}, mlx.Key(0))
	for _, part := range []string{"rnn.NewGRU: ", "Input is -1", "Hidden is 0", "Layers is -2", "Direction is 9", "Merge is 7", "Dropout is 2", "Dtype is int32"} {
		require.ErrorContains(t, err, part)
	}
	_, err = NewRNN(RNNConfig{Input: 1, Hidden: 1, Nonlinearity: 5, Merge: Sum}, mlx.Key(0))
	require.ErrorContains(t, err, "Nonlinearity is 5; expected Tanh or ReLU")
	require.ErrorContains(t, err, "Merge is sum, but Direction is forward")
	_, err = NewLSTM(LSTMConfig{Input: 1 << 40, Hidden: math.MaxInt32, ForgetBias: math.NaN()}, mlx.Key(0))
	for _, part := range []string{"Input is 1099511627776", "Hidden is 2147483647", "ForgetBias is NaN"} {
		require.ErrorContains(t, err, part)
	}
	_, err = NewLSTM(LSTMConfig{Input: 1, Hidden: 1, NoBias: true, ForgetBias: 1}, mlx.Key(0))
	require.ErrorContains(t, err, "ForgetBias is 1, but NoBias is set")
	for _, text := range []string{"rnn.NewGRUCell", "rnn.NewLSTMCell", "rnn.NewRNNCell"} {
		_, err = map[string]func() (any, error){
			"rnn.NewGRUCell":  func() (any, error) { return NewGRUCell(GRUCellConfig{}, mlx.Key(0)) },
			"rnn.NewLSTMCell": func() (any, error) { return NewLSTMCell(LSTMCellConfig{}, mlx.Key(0)) },
			"rnn.NewRNNCell":  func() (any, error) { return NewRNNCell(RNNCellConfig{}, mlx.Key(0)) },
		}[text]()
		require.ErrorContains(t, err, text+": Input is 0")
	}
}

// A parameter that a program replaced by another shape or type is named.
func TestWrongParameters(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		l := newLayer(t, config{cell: cell, input: 2, hidden: 3, layers: 2, direction: Bidirectional}, 1)
		x := mlx.Zeros([]int{1, 2, 2}, mlx.Float32)
		for _, p := range paramsOf(l) {
			old := *p.place
			for _, bad := range []*mlx.Array{mlx.Zeros([]int{5, 7}, mlx.Float32), mlx.New([]int{1}), nil} {
				*p.place = bad
				y, s := l.Forward(x, State{})
				requireError(t, y, s, p.name+" ")
			}
			*p.place = old
		}
		y, _ := l.Forward(x, State{})
		require.NoError(t, y.Eval())
	}
	y, s := new(GRU).Forward(x0(), State{})
	requireError(t, y, s, "rnn.Forward: the layer is empty", "New")
	y, s = new(LSTM).Step(x0(), State{})
	requireError(t, y, s, "empty")
	require.Error(t, new(RNNCell).Step(x0(), nil).Err())
	g, err := NewGRU(GRUConfig{Input: 2, Hidden: 2, Layers: 3}, mlx.Key(0))
	require.NoError(t, err)
	g.Layers = g.Layers[:2]
	y, s = g.Forward(mlx.Zeros([]int{1, 1, 2}, mlx.Float32), State{})
	requireError(t, y, s, "layers.2.Wx is nil")
	assert.Nil(t, g.Layer(2))
	assert.Nil(t, g.Layer(-1))
}

func TestRoutes(t *testing.T) {
	g, err := NewGRU(GRUConfig{Input: 40, Hidden: 256, Layers: 2, Direction: Bidirectional}, mlx.Key(0), WithRoute(Composed))
	require.NoError(t, err)
	p := g.Plan([]int{8, 200, 40})
	assert.Equal(t, Composed, p.Route)
	assert.Equal(t, `GRU 40->256 x2 bidirectional, N=8 L=200 float32: composed
  mpsgraph  no: not built into this version
  metal     no: not built into this version
  cpu       no: not built into this version
  composed  MLX operations, step by step`, p.String())
	for _, r := range p.Reasons {
		assert.Equal(t, r.Route == Composed, r.Possible)
	}
	assert.Contains(t, newF1(t, GRUConfig{TimeMajor: true}).Plan([]int{5, 3, 2}).String(), "GRU 2->2, N=3 L=5 float64: composed")
	assert.Contains(t, newF2(t, LSTMConfig{Direction: Reverse}).Plan([]int{5, 2}).String(), "LSTM 2->2 reverse, L=5 float64: composed")
	assert.Contains(t, newF2(t, LSTMConfig{}).Plan(nil).String(), "shape []")

	for _, r := range []Route{MPSGraph, Metal, CPU} {
		_, err = NewLSTM(LSTMConfig{Input: 1, Hidden: 1}, mlx.Key(0), WithRoute(r))
		require.ErrorContains(t, err, "rnn.NewLSTM: route "+string(r)+" cannot be taken: not built into this version")
	}
	_, err = NewRNN(RNNConfig{Input: 1, Hidden: 1}, mlx.Key(0), WithRoute("gpu"))
	require.ErrorContains(t, err, `unknown route "gpu"; expected one of [mpsgraph metal cpu composed]`)
}
