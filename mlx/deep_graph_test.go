package mlx

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// B86: graphs as deep as long unrolled loops. C stacks are small, so nothing may recurse once per node.
func TestDeepGraph(t *testing.T) {
	const depth = 200_000
	// Each kind of step keeps the size of its input.
	for name, step := range map[string]func(x *Array) *Array{
		"chain":           func(x *Array) *Array { return x.Add(1) },
		"diamonds":        func(x *Array) *Array { return x.Mul(0.5).Add(x.Mul(0.5)) },
		"several results": func(x *Array) *Array { return Concatenate(x.Split(2, 0), 0) },
	} {
		n := depth
		if name != "chain" {
			n = depth / 4
		}
		build := func(x *Array) *Array {
			s := NewScope()
			defer s.Close()
			y := s.Own(x)
			for range n {
				next := step(y)
				y.Free()
				y = next
			}
			return Keep(y)
		}
		t.Run(name, func(t *testing.T) {
			inTime(t, func() {
				x := New([]float32{1, 2})
				build(x).Free() // without an evaluation
				want := []float32{1, 2}
				if name == "chain" {
					want = []float32{1 + depth, 2 + depth}
				}
				y := build(x)
				assert.Equal(t, want, floats(t, y))
				y.Free()

				loss := func(a []*Array) []*Array {
					z := a[0]
					for range n {
						z = step(z)
					}
					return []*Array{z.Mul(3).Sum()}
				}
				values, grads, err := ValueAndGrad(loss)(x)
				require.NoError(t, err)
				assert.Equal(t, []float32{3, 3}, floats(t, grads[0]))
				values[0].Free()
				grads[0].Free()
				_, grads, err = ValueAndGrad(loss)(x)
				require.NoError(t, err)
				grads[0].Free() // without an evaluation
			})
		})
	}
}

// B86: a GRU of size 1 over 20,000 steps, all weights 0.5 and no bias, over ones.
func TestDeepGraphB86GRU(t *testing.T) {
	inTime(t, func() {
		var outs []*Array
		run := func(a []*Array) []*Array {
			h := Zeros([]int{1}, Float32)
			w := a[0]
			outs = nil
			for range 20_000 {
				gate := w.Add(w.Mul(h)).Sigmoid()
				candidate := w.Add(gate.Mul(w.Mul(h))).Tanh()
				h = candidate.Add(gate.Mul(h.Sub(candidate)))
				outs = append(outs, h)
			}
			return []*Array{h.Sum()}
		}
		w := New([]float32{0.5})
		final := run([]*Array{w})
		assert.InDeltaSlice(t, []float32{.611518}, floats(t, final[0]), 1e-5)
		assert.InDeltaSlice(t, []float32{.174468}, floats(t, outs[0]), 1e-5)
		assert.InDeltaSlice(t, []float32{.578405}, floats(t, outs[9]), 1e-5)
		run([]*Array{w})
		for _, h := range outs {
			h.Free()
		}
		values, grads, err := ValueAndGrad(run)(w)
		require.NoError(t, err)
		require.NoError(t, Eval(append(values, grads...)...))
		g := floats(t, grads[0])
		assert.InDelta(t, 1.0, g[0], 1, "finite")
	})
}

func TestDeepGraphCompiled(t *testing.T) {
	inTime(t, func() {
		c := Compile(func(a []*Array) []*Array {
			y := a[0]
			for range 20_000 {
				y = y.Add(a[1])
			}
			return []*Array{y}
		})
		defer c.Close()
		for range 2 {
			assert.Equal(t, []float32{20_001}, call1(t, c, New([]float32{1}), New([]float32{1})))
		}
	})
}
