package rnn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: dtype. Operands of different types meet: the result has the smallest type that holds them all.

func TestB25MixedTypes(t *testing.T) {
	types := []mlx.Dtype{mlx.Float16, mlx.Float32}
	for _, dx := range types {
		for _, dw := range types {
			for _, db := range types {
				for _, dh := range types {
					g := newF1(t, GRUConfig{})
					g.Wx, g.Wh, g.B, g.Bhn = g.Wx.AsType(dw), g.Wh.AsType(dw), g.B.AsType(db), g.Bhn.AsType(db)
					y, s := g.Forward(x0().AsType(dx), State{H: h03().H.AsType(dh)})
					want := mlx.Float32
					if dx == mlx.Float16 && dw == dx && db == dx && dh == dx {
						want = mlx.Float16
					}
					about := fmt.Sprintf("x %v, weights %v, biases %v, state %v", dx, dw, db, dh)
					assert.Equal(t, want, y.Dtype(), about)
					assert.Equal(t, want, s.H.Dtype(), about)
					near(t, f1Given, y, 2e-3, about)
				}
			}
		}
	}
}

func TestPromotion(t *testing.T) {
	f16, bf16, f32, f64 := mlx.Float16, mlx.BFloat16, mlx.Float32, mlx.Float64
	for _, c := range []struct{ a, b, want mlx.Dtype }{
		{f16, f16, f16}, {bf16, bf16, bf16}, {f32, f32, f32}, {f64, f64, f64},
		{f16, bf16, f32}, {f16, f32, f32}, {bf16, f32, f32}, {f16, f64, f64}, {bf16, f64, f64}, {f32, f64, f64},
	} {
		assert.Equal(t, c.want, promote(c.a, c.b))
		assert.Equal(t, c.want, promote(c.b, c.a))
		// MLX itself does the same.
		assert.Equal(t, c.want, mlx.Zeros([]int{1}, c.a).Add(mlx.Zeros([]int{1}, c.b)).Dtype())
	}
}

// Every type, forward and gradients, in all cells: near float64, and nothing changes the type on the way.
func TestEveryType(t *testing.T) {
	for _, cell := range []config{
		{cell: recurrent.RNN}, {cell: recurrent.RNN, nonlinearity: ReLU}, {cell: recurrent.GRU},
		{cell: recurrent.GRU, resetBefore: true}, {cell: recurrent.LSTM},
	} {
		cell.input, cell.hidden, cell.layers, cell.dropout = 3, 4, 2, .5
		cell.direction, cell.merge = Bidirectional, Average
		cell.dtype = mlx.Float64
		exact := newLayer(t, cell, 5)
		x := uniform(newRand(1), 1, 3, 5, 3)
		opts := []CallOption{Lengths([]int{5, 2, 0}), Train(mlx.Key(2))}
		wantY, wantS := exact.Forward(x, State{}, opts...)
		wantD := layerGradients(t, exact, x, State{}, sumOfOutputs, opts...)
		for d, tolerance := range map[mlx.Dtype]float64{mlx.Float32: 1e-5, mlx.Float16: 1e-2, mlx.BFloat16: 8e-2} {
			about := fmt.Sprintf("%v before=%v %v %v", cell.cell, cell.resetBefore, cell.nonlinearity, d)
			l := newLayer(t, cell, 5)
			for _, p := range paramsOf(l) {
				*p.place = (*p.place).AsType(d)
			}
			y, s := l.Forward(x.AsType(d), State{}, opts...)
			assert.Equal(t, d, y.Dtype(), about)
			assert.Equal(t, d, s.H.Dtype(), about)
			near(t, floats(t, wantY), y, tolerance, about)
			near(t, floats(t, wantS.H), s.H, tolerance, about)
			for name, g := range layerGradients(t, l, x.AsType(d), State{}, sumOfOutputs, opts...) {
				assert.Equal(t, d, g.Dtype(), about+name)
				near(t, floats(t, wantD[name]), g, tolerance*10, about+" gradient of "+name)
			}
			if cell.cell == recurrent.LSTM {
				assert.Equal(t, d, s.C.Dtype(), about)
			}
		}
		for _, d := range []mlx.Dtype{mlx.Float16, mlx.BFloat16, mlx.Float32, mlx.Float64} {
			cell.dtype = d
			for _, p := range paramsOf(newLayer(t, cell, 1)) {
				assert.Equal(t, d, (*p.place).Dtype())
			}
		}
	}
}

// Kind: saturate. Large sums leave the gates at their ends, without NaN, forward and backward.
func TestB70Saturation(t *testing.T) {
	for _, d := range []mlx.Dtype{mlx.Float32, mlx.Float16, mlx.BFloat16, mlx.Float64} {
		for _, x := range []float64{60, -60, 1e4, -1e4} {
			run := func(cell recurrent.Cell) (h, dx float64) {
				l := newLayer(t, config{cell: cell, input: 1, hidden: 1, noBias: true, dtype: d}, 1)
				for _, p := range paramsOf(l) {
					*p.place = mlx.ZerosLike(*p.place)
				}
				first := paramsOf(l)[0]
				*first.place = mlx.OnesLike(*first.place)
				in := f64([]float64{x}, 1, 1, 1).AsType(d)
				y, _ := l.Forward(in, State{})
				return floats(t, y)[0], floats(t, layerGradients(t, l, in, State{}, sumOfOutputs)["x"])[0]
			}
			tolerance := map[mlx.Dtype]float64{mlx.Float16: 1e-3, mlx.BFloat16: 4e-3}[d] + 1e-6
			h, dx := run(recurrent.LSTM)
			if x > 0 {
				assert.InDelta(t, .761594, h, tolerance, "%v %v", d, x)
			} else {
				assert.InDelta(t, 0, h, 1e-20, "%v %v", d, x)
			}
			assert.InDelta(t, 0, dx, 1e-6, "%v %v", d, x)
			h, dx = run(recurrent.GRU)
			if x > 0 {
				assert.InDelta(t, 0, h, 1e-20, "%v %v", d, x)
			} else {
				assert.InDelta(t, -1, h, tolerance, "%v %v", d, x)
			}
			assert.InDelta(t, 0, dx, 1e-6, "%v %v", d, x)
		}
	}
}
