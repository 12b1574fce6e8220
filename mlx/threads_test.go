package mlx

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onDyingThread runs f on an OS thread that ends with it.
func onDyingThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and no unlock
		f()
	}()
	<-done
}

// B91: goroutines build, yield and evaluate, and evaluate what others built.
func TestThreadsB91AnyGoroutine(t *testing.T) {
	inTime(t, func() {
		const n = 64
		var wg sync.WaitGroup
		ring := make([]chan *Array, n)
		for i := range ring {
			ring[i] = make(chan *Array, 1)
		}
		check := func(a *Array) {
			v, err := Values[float32](a)
			assert.NoError(t, err)
			assert.InDeltaSlice(t, gruOutput, v, 2e-6)
		}
		for g := range n {
			wg.Go(func() {
				for range 5 {
					own := gru()
					runtime.Gosched()
					check(own)
					ring[(g+1)%n] <- gru()
					other := <-ring[g]
					check(other)
					other.Free()
				}
			})
		}
		wg.Wait()
	})
}

// Everything at once, with arrays shared by all.
func TestThreadsEverythingAtOnce(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	inTime(t, func() {
		collect()
		live := LiveArrays()
		shared := New([]float32{1, 2, 3, 4}, 2, 2)
		lazy := shared.Add(1).Mul(2)
		parts := lazy.Split(2, 0)
		square := func(a []*Array) []*Array { return []*Array{a[0].Mul(shared).Square().Sum(), a[0]} }
		compiled := Compile(square)
		defer compiled.Close()
		var wg sync.WaitGroup
		for g := range 64 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 2))
				scope := NewScope()
				defer scope.Close()
				x := scope.Own(New([]float32{1, 2, 3, 4}, 2, 2))
				for range 15 {
					switch r.IntN(10) {
					case 0:
						v, err := Values[float32](lazy)
						assert.NoError(t, err)
						assert.Equal(t, []float32{4, 6, 8, 10}, v)
					case 1:
						v, err := Values[float32](parts[1].Add(0))
						assert.NoError(t, err)
						assert.Equal(t, []float32{8, 10}, v)
					case 2:
						_, grads, err := ValueAndGrad(square)(x)
						if assert.NoError(t, err) {
							v, err := Values[float32](grads[0])
							assert.NoError(t, err)
							assert.Equal(t, []float32{2, 16, 54, 128}, v)
						}
					case 3:
						out, err := compiled.Call(x)
						if assert.NoError(t, err) {
							v, err := Item[float32](out[0])
							assert.NoError(t, err)
							assert.Equal(t, float32(354), v)
						}
					case 4:
						inner := NewScope()
						y := inner.Own(x).Add(1)
						assert.NoError(t, AsyncEval(y))
						inner.Close()
					case 5:
						y := On(second).MatMul(x, lazy)
						assert.NoError(t, AsyncEval(y))
						z := y.Sum()
						y.Free()
						v, err := Item[float32](z)
						assert.NoError(t, err)
						assert.Equal(t, float32(148), v)
					case 6:
						assert.Error(t, faulty(second, x, r.IntN(2)).Add(lazy).Eval())
					case 7:
						for _, p := range x.Split(2, 1) {
							assert.Equal(t, []int{2, 1}, p.Shape())
							p.Free()
						}
						runtime.Gosched()
					case 8:
						_ = ActiveMemory()
						assert.NoError(t, second.Synchronize())
						assert.NoError(t, ClearCache())
					case 9:
						runtime.GC()
						y := Keep(x.Add(lazy))
						go y.Free()
						_ = y.Eval() // either side may be first
					}
				}
			})
		}
		wg.Wait()
		for _, a := range append(parts, shared, lazy) {
			a.Free()
		}
		compiled.Close()
		collect()
		assert.Equal(t, live, LiveArrays())
	})
}

func TestThreadsConcurrentGradients(t *testing.T) {
	inTime(t, func() {
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for i := range 20 {
					x := New([]float32{float32(g), float32(i)})
					second := Grad(func(a []*Array) []*Array {
						inner, err := Grad(func(b []*Array) []*Array {
							runtime.Gosched()
							return []*Array{b[0].Mul(b[0]).Mul(b[0]).Sum()}
						})(a[0])
						if err != nil {
							return []*Array{ErrorArray("inner", err)}
						}
						return []*Array{inner[0].Sum()}
					})
					grads, err := second(x)
					if assert.NoError(t, err) {
						v, err := Values[float32](grads[0])
						assert.NoError(t, err)
						assert.Equal(t, []float32{6 * float32(g), 6 * float32(i)}, v)
					}
				}
			})
		}
		wg.Wait()
	})
}

// While one goroutine waits for a result, others build, compute and read.
func TestThreadsWaitingHoldsNothingUp(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	third, err := NewStream(CPU)
	require.NoError(t, err)
	inTime(t, func() {
		x := New([]float32{1, 2})
		held, open := gated(second, x)
		require.NoError(t, AsyncEval(held)) // it is on its way from here on
		var wg sync.WaitGroup
		for range 100 { // more than the threads that may wait
			wg.Go(func() {
				v, err := Values[float32](held)
				assert.NoError(t, err)
				assert.Equal(t, []float32{1, 2}, v)
			})
		}
		later := held.Add(1)
		wg.Go(func() { assert.NoError(t, later.Eval()) })
		runtime.Gosched()

		assert.Equal(t, []int{2}, held.Shape())
		y := x.Add(1)
		assert.Equal(t, []int{2}, y.Shape())
		_, grads, err := ValueAndGrad(func(a []*Array) []*Array { return []*Array{a[0].Square().Sum()} })(x)
		assert.NoError(t, err)
		c := Compile(func(a []*Array) []*Array { return []*Array{a[0].Exp()} })
		_, err = c.Call(x)
		assert.NoError(t, err)
		c.Close()
		require.NoError(t, AsyncEval(grads[0], On(third).Add(x, 1)))
		y.Free()
		runtime.GC()
		open()
		wg.Wait()
		assert.Equal(t, []float32{2, 4}, floats(t, grads[0]))
	})
}

// A function of a transform runs without the lock: other goroutines work while it waits for them.
func TestThreadsClosureWaitsForOthers(t *testing.T) {
	inTime(t, func() {
		x := New([]float32{1, 2})
		others := func(a []*Array) []*Array {
			sum := make(chan *Array)
			go func() {
				_, grads, err := ValueAndGrad(func(b []*Array) []*Array { return []*Array{b[0].Square().Sum()} })(x)
				if err != nil {
					sum <- ErrorArray("other", err)
					return
				}
				_ = grads[0].Eval()
				sum <- grads[0]
			}()
			return []*Array{a[0].Mul(<-sum).Sum()}
		}
		_, grads, err := ValueAndGrad(others)(x)
		require.NoError(t, err)
		assert.Equal(t, []float32{2, 4}, floats(t, grads[0]))
		c := Compile(others)
		defer c.Close()
		assert.Equal(t, []float32{10}, call1(t, c, x))
	})
}

// B26: a state that another stream makes, not evaluated yet.
func TestThreadsB26StateOfAnotherStream(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	for range 50 {
		h := On(second).Sub(New([]float32{1.3, .4}, 1, 2), Ones([]int{1, 2}, Float32))
		x := gruInput()
		for i := range 3 {
			h = gruStep(x.SliceAxis(0, i, i+1), h)
		}
		require.InDeltaSlice(t, []float32{.200853, .012696}, floats(t, h), 2e-6)
	}
}

// B101: an input that is not computed yet and comes from a second stream, and work after it on the first.
func TestThreadsB101InputNotComputedYet(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	x := gruInput().Mul(0.5)
	require.NoError(t, x.Eval())
	for i := range 1000 {
		twice, h := On(second).Mul(x, 2), Zeros([]int{1, 2}, Float32)
		if i%3 == 0 {
			require.NoError(t, AsyncEval(twice))
		}
		out := make([]*Array, 3)
		for t := range out {
			h = gruStep(twice.SliceAxis(0, t, t+1), h)
			out[t] = h
		}
		y := Concatenate(out, 0)
		if i%4 == 0 {
			require.NoError(t, AsyncEval(y))
		}
		got := floats(t, On(second).Add(y, 1))
		for j := range got {
			require.InDelta(t, gruOutput[j]+1, got[j], 2e-6)
		}
	}
}

// B14: fresh memory shows nothing of what was there before.
func TestThreadsB14NoOldMemory(t *testing.T) {
	poison := make([]float32, 1<<10)
	for i := range poison {
		poison[i] = float32(i) * 1e30 * 1e30 // infinity, and NaN at 0
	}
	for range 200 {
		for _, n := range []int{2, 6, 12, 64, 1 << 10} {
			p := New(poison[:n])
			q := p.Sub(p)
			require.NoError(t, Eval(q))
			p.Free()
			q.Free()
		}
		out := gru()
		require.InDeltaSlice(t, gruOutput, floats(t, out), 2e-6)
		out.Free()
	}
}
