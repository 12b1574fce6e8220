package mlx

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// B91: OS threads that come and go leave no streams and no threads behind.
func TestThreadsB91Churn(t *testing.T) {
	work := func() {
		x := New([]float32{1, 2})
		v, err := Values[float32](x.Add(1))
		assert.NoError(t, err)
		assert.Equal(t, []float32{2, 3}, v)
		bad := faulty(Stream{}, x, inTask)
		assert.Error(t, bad.Eval())
		_, _, err = ValueAndGrad(func(a []*Array) []*Array { return []*Array{a[0].Sum()} })(x)
		assert.NoError(t, err)
	}
	for range 50 {
		onDyingThread(work)
	}
	streams, before := nativeStreams(), threads(t)
	for range 1000 {
		onDyingThread(work)
	}
	assert.Equal(t, streams, nativeStreams())
	assert.LessOrEqual(t, threads(t), before+4, "OS threads; the Go runtime starts some of its own")
}

// B92: compiled functions and operations of two results, used on a thread that ends, freed on others.
func TestThreadsB92FreedOnAnotherThread(t *testing.T) {
	round := func() {
		onDyingThread(func() {
			c := Compile(func(a []*Array) []*Array {
				q, r := a[0].QR()
				return []*Array{q.MatMul(r), r}
			})
			x := New([]float32{2, 0, 0, 3}, 2, 2)
			out, err := c.Call(x)
			if assert.NoError(t, err) {
				v, err := Values[float32](out[0])
				assert.NoError(t, err)
				assert.InDeltaSlice(t, []float32{2, 0, 0, 3}, v, 1e-6)
			}
			parts := x.Split(2, 0)
			assert.NoError(t, parts[1].Eval())
		})
		runtime.GC()
	}
	for range 20 {
		round()
	}
	collect()
	live, functions, before := LiveArrays(), liveFunctions(), threads(t)
	for range 200 {
		round()
	}
	collect()
	assert.Equal(t, live, LiveArrays())
	assert.Equal(t, functions, liveFunctions())
	assert.LessOrEqual(t, threads(t), before+4)
	require.Positive(t, before)
}
