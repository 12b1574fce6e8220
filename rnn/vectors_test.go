package rnn

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Vectors made by PyTorch and by MLX's Python package; testdata/make_vectors.py made and describes them.

type vectorArray struct {
	Shape []int
	Data  []float64
}

func (a vectorArray) in(d mlx.Dtype) *mlx.Array { return f64(a.Data, a.Shape...).AsType(d) }

type vectorCase struct {
	Name, Cell, Nonlinearity                   string
	Input, Hidden, Layers                      int
	Bidirectional, Bias                        bool
	Lengths                                    []int
	Params, Inputs, Outputs, Cotangents, Grads map[string]vectorArray
}

func (c *vectorCase) layer(t *testing.T, d mlx.Dtype) layer {
	cfg := config{input: c.Input, hidden: c.Hidden, layers: c.Layers, noBias: !c.Bias, dtype: d}
	cfg.cell = map[string]recurrent.Cell{"RNN": recurrent.RNN, "GRU": recurrent.GRU, "LSTM": recurrent.LSTM}[c.Cell]
	if c.Bidirectional {
		cfg.direction = Bidirectional
	}
	if c.Nonlinearity == "relu" {
		cfg.nonlinearity = ReLU
	}
	l := newLayer(t, cfg, 0)
	require.Len(t, paramsOf(l), len(c.Params))
	for name, v := range c.Params {
		setParam(t, l, name, v.in(d))
	}
	return l
}

func (c *vectorCase) check(t *testing.T, d mlx.Dtype, outputs, grads float64) {
	l := c.layer(t, d)
	var s State
	if h, ok := c.Inputs["h0"]; ok {
		s.H = h.in(d)
	}
	if h, ok := c.Inputs["c0"]; ok {
		s.C = h.in(d)
	}
	var opts []CallOption
	if c.Lengths != nil {
		opts = append(opts, Lengths(c.Lengths))
	}
	x := c.Inputs["x"].in(d)
	compare := func(y *mlx.Array, s State) {
		for name, got := range map[string]*mlx.Array{"y": y, "hn": s.H, "cn": s.C} {
			want, ok := c.Outputs[name]
			require.Equal(t, ok, got != nil, name)
			if ok {
				shaped(t, want.Shape, got)
				near(t, want.Data, got, outputs, name)
				assert.Equal(t, d, got.Dtype(), name)
			}
		}
	}
	compare(l.Forward(x, s, opts...))
	got := layerGradients(t, l, x, s, func(y *mlx.Array, s State) *mlx.Array {
		loss := y.Mul(c.Cotangents["d_y"].in(d)).Sum().Add(s.H.Mul(c.Cotangents["d_hn"].in(d)).Sum())
		if s.C != nil {
			loss = loss.Add(s.C.Mul(c.Cotangents["d_cn"].in(d)).Sum())
		}
		return loss
	}, opts...)
	assert.Len(t, got, len(c.Grads))
	for name, want := range c.Grads {
		require.Contains(t, got, name)
		shaped(t, want.Shape, got[name])
		near(t, want.Data, got[name], grads, "gradient of "+name)
	}
}

func readVectors(t *testing.T, path string) []vectorCase {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct{ Cases []vectorCase }
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

func TestEqualsPyTorch(t *testing.T) {
	for _, c := range readVectors(t, "testdata/torch.json") {
		t.Run(c.Name, func(t *testing.T) {
			// The numbers have ten digits.
			c.check(t, mlx.Float64, 1e-9, 1e-8)
			c.check(t, mlx.Float32, 1e-5, 1e-5)
		})
	}
}

func TestEqualsMLX(t *testing.T) {
	for _, c := range readVectors(t, "testdata/mlx.json") {
		t.Run(c.Name, func(t *testing.T) {
			c.check(t, mlx.Float32, 1e-5, 1e-5)
			c.check(t, mlx.Float64, 1e-5, 1e-5)
		})
	}
}
