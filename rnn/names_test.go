package rnn

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// Names and files: what package nn sees of a layer, and what it reads and writes.

func namesIn(t *testing.T, module any) (names []string) {
	list, err := nn.Parameters(module)
	require.NoError(t, err)
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

func TestParameterNames(t *testing.T) {
	for want, c := range map[string]config{
		"Wx Wh b bhn":  {cell: recurrent.GRU},
		"Wx Wh b":      {cell: recurrent.GRU, resetBefore: true},
		"Wx Wh":        {cell: recurrent.GRU, noBias: true},
		"Wxh Whh bias": {cell: recurrent.RNN},
		"Wx Wh bias":   {cell: recurrent.LSTM, direction: Reverse},
		"Wx Wh b bhn reverse.Wx reverse.Wh reverse.b reverse.bhn":                         {cell: recurrent.GRU, direction: Bidirectional},
		"layers.0.Wxh layers.0.Whh layers.0.bias layers.1.Wxh layers.1.Whh layers.1.bias": {cell: recurrent.RNN, layers: 2},
		"layers.0.Wx layers.0.Wh layers.0.reverse.Wx layers.0.reverse.Wh " +
			"layers.1.Wx layers.1.Wh layers.1.reverse.Wx layers.1.reverse.Wh": {cell: recurrent.LSTM, layers: 2, direction: Bidirectional, noBias: true},
	} {
		c.input, c.hidden = 2, 3
		l := newLayer(t, c, 1)
		assert.Equal(t, strings.Fields(want), namesIn(t, l))
		var own []string
		for _, p := range paramsOf(l) {
			own = append(own, p.name)
		}
		assert.Equal(t, own, namesIn(t, l))
	}

	cell, err := NewLSTMCell(LSTMCellConfig{Input: 2, Hidden: 3}, mlx.Key(0))
	require.NoError(t, err)
	gru, err := NewGRU(GRUConfig{Input: 2, Hidden: 3}, mlx.Key(0))
	require.NoError(t, err)
	assert.Equal(t, []string{"gru.Wx", "gru.Wh", "gru.b", "gru.bhn", "cell.Wx", "cell.Wh", "cell.bias"}, namesIn(t, &struct {
		GRU  *GRU `mlx:"gru"`
		Cell *LSTMCell
	}{gru, cell}))
}

// A file that mlx.nn saved fits a layer as it is.
func TestMLXCheckpoint(t *testing.T) {
	cases := readVectors(t, "testdata/mlx.json")
	for name, cell := range map[string]recurrent.Cell{"rnn": recurrent.RNN, "gru": recurrent.GRU, "lstm": recurrent.LSTM} {
		c := cases[slices.IndexFunc(cases, func(c vectorCase) bool { return c.Name == name })]
		l := newLayer(t, config{cell: cell, input: 4, hidden: 5}, 1)
		require.NoError(t, nn.Load("testdata/mlx.safetensors", l, nn.Prefix("encoder."+name+".")))
		s := State{H: c.Inputs["h0"].in(mlx.Float32)}
		if cell == recurrent.LSTM {
			s.C = c.Inputs["c0"].in(mlx.Float32)
		}
		y, _ := l.Forward(c.Inputs["x"].in(mlx.Float32), s)
		near(t, c.Outputs["y"].Data, y, 1e-5)
	}
	// Another size or cell is refused, and changes nothing.
	l := newLayer(t, config{cell: recurrent.GRU, input: 3, hidden: 5}, 1)
	before := floats(t, valuesOf(l)[0])
	require.ErrorContains(t, nn.Load("testdata/mlx.safetensors", l, nn.Prefix("encoder.gru.")), "Wx has shape [15 4], expected [15 3]")
	require.ErrorContains(t, nn.Load("testdata/mlx.safetensors", l, nn.Prefix("encoder.lstm.")), "missing")
	near(t, before, valuesOf(l)[0], 0)
}

func TestSavedLayerComesBack(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		c := config{cell: cell, input: 3, hidden: 4, layers: 2, direction: Bidirectional}
		path := filepath.Join(t.TempDir(), "layer.safetensors")
		a, b := newLayer(t, c, 1), newLayer(t, c, 2)
		x := mlx.RandomNormal([]int{2, 4, 3}, mlx.Float32, 0, 1, mlx.Key(3))
		want, _ := a.Forward(x, State{})
		other, _ := b.Forward(x, State{})
		require.NotEqual(t, floats(t, want), floats(t, other))
		require.NoError(t, nn.Save(path, a))
		require.NoError(t, nn.Load(path, b))
		got, _ := b.Forward(x, State{})
		assert.Equal(t, floats(t, want), floats(t, got))
	}
}

// A layer in a model is trained through package nn.
func TestTrainedThroughNN(t *testing.T) {
	type model struct {
		GRU *GRU `mlx:"gru"`
		Out *nn.Linear
	}
	gru, err := NewGRU(GRUConfig{Input: 2, Hidden: 8}, mlx.Key(1))
	require.NoError(t, err)
	out, err := nn.NewLinear(nn.LinearConfig{Input: 8, Output: 1}, mlx.Key(2))
	require.NoError(t, err)
	m := &model{gru, out}
	x := mlx.RandomNormal([]int{4, 6, 2}, mlx.Float32, 0, 1, mlx.Key(3))
	target := x.Sum(2).CumSum(1, false, true).Tanh().ExpandDims(2)
	require.NoError(t, mlx.Eval(x, target))
	step := nn.ValueAndGrad(m, func(x, y *mlx.Array) *mlx.Array {
		h, _ := m.GRU.Forward(x, State{})
		return m.Out.Forward(h).Sub(y).Square().Mean()
	})
	var first, last float32
	for i := range 100 {
		loss, grads, err := step(x, target)
		require.NoError(t, err)
		last, err = mlx.Item[float32](loss)
		require.NoError(t, err)
		if i == 0 {
			first = last
		}
		list, err := nn.Parameters(m)
		require.NoError(t, err)
		require.Len(t, grads, len(list))
		for k := range list {
			list[k].Array = list[k].Array.Sub(grads[k].Array.Mul(.5))
		}
		require.NoError(t, nn.Update(m, list))
	}
	assert.Less(t, last, first/5)
}
