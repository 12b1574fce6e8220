package mlx

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// compare times one of ours against the same work without this package, in turns, and reports the best turn
// of both in nanoseconds and what ours takes more. The best turn is the one that other programs disturbed least.
func compare(b *testing.B, ours, theirs func(n int) float64) {
	const turns = 15
	n := max(1, b.N/turns)
	mine, other := ours(n), theirs(n)
	b.ResetTimer()
	for range turns {
		mine = min(mine, ours(n))
		other = min(other, theirs(n))
	}
	b.ReportMetric(mine, "go-ns")
	b.ReportMetric(other, "native-ns")
	b.ReportMetric(mine-other, "more-ns")
	b.ReportMetric(mine/other, "ratio")
}

func perCall(f func()) func(n int) float64 {
	return func(n int) float64 {
		start := time.Now()
		for range n {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / float64(n)
	}
}

// BenchmarkSmallOperation is one addition of two float32 arrays of 4 elements against the same loop in C++.
func BenchmarkSmallOperation(b *testing.B) {
	x, y := New([]float32{1, 2, 3, 4}), New([]float32{5, 6, 7, 8})
	require.NoError(b, Eval(x, y))
	native := func(evaluate bool) func(int) float64 {
		return func(n int) float64 { return nativeAdd(x, y, n, evaluate) }
	}
	b.Run("build", func(b *testing.B) {
		compare(b, perCall(func() { x.Add(y).Free() }), native(false))
	})
	b.Run("build in a scope", func(b *testing.B) {
		compare(b, func(n int) float64 {
			s := NewScope()
			defer s.Close()
			z := s.Own(x)
			return perCall(func() { z.Add(y) })(n)
		}, native(false))
	})
	b.Run("build, left to the collector", func(b *testing.B) {
		compare(b, perCall(func() { x.Add(y) }), native(false))
	})
	b.Run("build and evaluate", func(b *testing.B) {
		compare(b, perCall(func() {
			z := x.Add(y)
			if z.Eval() != nil {
				b.Fail()
			}
			z.Free()
		}), native(true))
	})
}

// BenchmarkMatMul512 is a product of two 512x512 float32 matrices against the BLAS library called directly.
func BenchmarkMatMul512(b *testing.B) {
	const size = 512
	data := make([]float32, size*size)
	for i := range data {
		data[i] = float32(i%97) / 97
	}
	out := make([]float32, size*size)
	x := New(data, size, size)
	require.NoError(b, x.Eval())
	b.Logf("BLAS: %s", BLAS())
	compare(b, perCall(func() {
		z := x.MatMul(x)
		if z.Eval() != nil {
			b.Fail()
		}
		z.Free()
	}), func(n int) float64 { return nativeSgemm(data, data, out, size, n) })
}

// BenchmarkGRU is a training step of a small recurrent network over 32 steps, some thousand operations.
func BenchmarkGRU(b *testing.B) {
	const steps, batch, hidden = 32, 16, 64
	keys := NewKeys(1)
	random := func(shape ...int) *Array { return RandomNormal(shape, Float32, 0, 0.1, keys.Next()) }
	wx, wh, bias, x := random(hidden, 3*hidden), random(hidden, 3*hidden), random(3*hidden), random(steps, batch, hidden)
	require.NoError(b, Eval(wx, wh, bias, x))
	step := ValueAndGrad(func(a []*Array) []*Array {
		h := Zeros([]int{batch, hidden}, Float32)
		in := x.MatMul(a[0]).Add(a[2])
		var sum any = 0.0
		for t := range steps {
			i := in.Select(0, t).Split(3, 1)
			r := h.MatMul(a[1]).Split(3, 1)
			z := i[1].Add(r[1]).Sigmoid()
			n := i[2].Add(i[0].Add(r[0]).Sigmoid().Mul(r[2])).Tanh()
			h = n.Add(z.Mul(h.Sub(n)))
			sum = h.Square().Mean().Add(sum)
		}
		return []*Array{sum.(*Array)}
	}, 0, 1, 2)
	for b.Loop() {
		values, grads, err := step(wx, wh, bias)
		require.NoError(b, err)
		require.NoError(b, Eval(append(values, grads...)...))
		for _, a := range append(values, grads...) {
			a.Free()
		}
	}
}
