package mlx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// where names the two places in which a computation can throw.
var where = map[string]int{"in a task": inTask, "at submission": atSubmission}

// requireFailed wants err to be the failure of a faulty array.
func requireFailed(t *testing.T, err error, msg ...any) *Error {
	t.Helper()
	e := asError(t, err)
	require.Equal(t, "eval", e.Op, msg...)
	require.Contains(t, e.Message, "Throwing: thrown", msg...)
	return e
}

func TestFailureOnceAndNoStaleError(t *testing.T) {
	for name, at := range where {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				x := New([]float32{1, 2})
				bad := faulty(Stream{}, x, at)
				require.NoError(t, bad.Err(), "not computed yet")
				requireFailed(t, bad.Eval())
				assert.Equal(t, []float32{2, 4}, floats(t, x.Mul(2)), "the next computation on the stream")
				require.NoError(t, ClearCache())
				require.NoError(t, DefaultStream().Synchronize())
			}
		})
	}
}

func TestFailureStaysWithItsArrays(t *testing.T) {
	for name, at := range where {
		t.Run(name, func(t *testing.T) {
			x := New([]float32{1, 2})
			bad := faulty(Stream{}, x, at)
			b := bad.Add(1)
			sibling := bad.Mul(2).Exp() // shares the failed array, built before the failure
			kept := Keep(bad)
			_, _, line, _ := runtime.Caller(0)
			first := requireFailed(t, b.Eval())
			assert.Equal(t, fmt.Sprintf("failed_computations_test.go:%d", line+1), first.Site)
			later := bad.Sub(1)
			for range 3 {
				for name, a := range map[string]*Array{"asked for": b, "sibling": sibling, "failed": bad, "kept": kept,
					"built later": later, "from asked for": b.Tanh()} {
					e := requireFailed(t, a.Eval(), name)
					if at == inTask {
						assert.Same(t, first, e, name)
						assert.Same(t, first, a.Err(), name)
					}
					_, err := Values[float32](a)
					requireFailed(t, err, name)
				}
			}
			path := filepath.Join(t.TempDir(), "x.npy")
			assert.Error(t, Save(path, b))
			assert.NoFileExists(t, path)
			assert.Equal(t, []float32{2, 3}, floats(t, x.Add(1)), "what went in is good")
		})
	}
}

// The failed array has no handle any more; only the graph of another array holds it.
func TestFailureReachesGraphsWithoutHandles(t *testing.T) {
	for name, at := range where {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				bad := faulty(Stream{}, New([]float32{1, 2}), at)
				b, c := bad.Add(1), bad.Mul(2)
				d := c.Exp()
				bad.Free()
				c.Free()
				requireFailed(t, b.Eval())
				b.Free()
				runtime.GC()
				// New arrays take the places of freed ones.
				for range 20 {
					require.NoError(t, New([]float32{1, 2}).Add(1).Eval())
				}
				requireFailed(t, d.Eval())
			}
		})
	}
}

func TestFailureOfOneOfSeveral(t *testing.T) {
	good := New([]float32{1}).Add(1)
	bad := faulty(Stream{}, New([]float32{1}), inTask)
	shared := New([]float32{3}).Add(2)
	requireFailed(t, Eval(good, bad.Add(shared.Mul(2))))
	assert.Equal(t, []float32{5}, floats(t, shared), "what the failed graph needed besides")
	requireFailed(t, good.Eval(), "asked for together with the failed one")

	independent := New([]float32{1}).Add(1)
	again := bad.Add(1)
	requireFailed(t, Eval(independent, again))
	assert.Equal(t, []float32{2}, floats(t, independent), "nothing was computed, so nothing is spoiled")
}

// A failure in a task, and a throw at submission after it: MLX tells only one of them.
func TestFailureOfBothKindsAtOnce(t *testing.T) {
	for range 50 {
		x := New([]float32{1, 2})
		first := faulty(Stream{}, x, inTask)
		good := x.Add(1)
		second := faulty(Stream{}, first.Add(good), atSubmission)
		requireFailed(t, second.Eval())
		requireFailed(t, first.Eval())
		assert.Equal(t, []float32{2, 3}, floats(t, good))
	}
}

func TestFailureAfterAsyncEval(t *testing.T) {
	for name, at := range where {
		t.Run(name, func(t *testing.T) {
			for i := range 2000 {
				x := New([]float32{1, 2})
				bad := faulty(Stream{}, x, at)
				require.NoError(t, AsyncEval(bad))
				// The failure is known at some time of these: before, while and after it is asked for.
				for until := time.Now().Add(time.Duration(i%40) * time.Microsecond); time.Now().Before(until); {
				}
				c := bad.Add(1)
				if i%2 == 0 {
					require.NoError(t, x.Exp().Eval(), "innocent")
				}
				requireFailed(t, c.Eval())
				requireFailed(t, bad.Eval())
				_, err := Values[float32](bad)
				requireFailed(t, err)
			}
		})
	}
}

// A chain of asynchronous evaluations, each of which needs the one before while that still runs.
func TestFailureInAsyncPipeline(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	for _, streams := range [][]Stream{{{}, {}}, {{}, second}} {
		for bad := range 8 {
			x := New([]float32{1})
			steps := []*Array{x}
			for i := range 8 {
				s := streams[i%2]
				next := On(s).Add(slow(s, steps[i], 1), 1)
				if i == bad {
					next = faulty(s, next, inTask)
				}
				if err := AsyncEval(next); err != nil {
					require.Greater(t, i, bad, "only what needs the failed step")
					requireFailed(t, err)
				}
				steps = append(steps, next)
			}
			for i, s := range steps {
				if i <= bad {
					assert.Equal(t, []float32{float32(i + 1)}, floats(t, s), "step %d before the failure at %d", i, bad)
				} else {
					requireFailed(t, s.Eval())
				}
			}
		}
	}
}

func TestFailureAcrossStreams(t *testing.T) {
	s1, err := NewStream(CPU)
	require.NoError(t, err)
	for name, at := range where {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				x := New([]float32{1, 2})
				producer := On(s1).Add(faulty(s1, On(s1).Add(x, 1), at), 1)
				consumer := producer.Mul(2) // on the default stream
				other := On(s1).Exp(producer)
				requireFailed(t, consumer.Eval())
				assert.Equal(t, []float32{2, 3}, floats(t, On(s1).Add(x, 1)), "innocent on the producer's stream")
				assert.Equal(t, []float32{3, 4}, floats(t, x.Add(2)), "innocent on the consumer's stream")
				requireFailed(t, other.Eval())

				// The other way round: the consumer throws, the producer is good by itself.
				fine := On(s1).Add(slow(s1, x, 1), 1)
				requireFailed(t, faulty(Stream{}, fine, at).Eval())
				require.NoError(t, On(s1).Exp(x).Eval())
				assert.Equal(t, []float32{4, 6}, floats(t, fine.Mul(2)))
			}
		})
	}
}

func TestFailureLeavesInnocentArraysAlone(t *testing.T) {
	x := New([]float32{1, 2})
	evaluated := x.Add(1)
	require.NoError(t, evaluated.Eval())
	lazy := evaluated.Mul(3)
	running := slow(Stream{}, x, 20)
	require.NoError(t, AsyncEval(running))
	requireFailed(t, faulty(Stream{}, evaluated, inTask).Eval())
	after := evaluated.Sub(1)
	assert.Equal(t, []float32{1, 2}, floats(t, running), "submitted before on the same stream")
	assert.Equal(t, []float32{6, 9}, floats(t, lazy))
	assert.Equal(t, []float32{1, 2}, floats(t, after))
	assert.Equal(t, []float32{2, 3}, floats(t, evaluated), "an input of the failed operation")
}

// Only who has the fault in the graph meets it, whoever else computes on the stream at the same time.
func TestFailureIsAttributedExactly(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range 150 {
				s := []Stream{{}, second}[r.IntN(2)]
				x := New([]float32{float32(g), float32(i)})
				y := On(s).Mul(On(s).Add(x, 1), 2)
				fails := r.IntN(3) == 0
				if fails {
					y = faulty(s, y, r.IntN(2))
				}
				if r.IntN(2) == 0 {
					y = y.Add(0) // on the default stream
				}
				sibling := y.Sub(1)
				if r.IntN(2) == 0 {
					assert.NoError(t, AsyncEval(y))
				}
				if r.IntN(8) == 0 {
					assert.NoError(t, ClearCache())
				}
				for _, c := range []struct {
					a   *Array
					off float32
				}{{y, 0}, {sibling, -1}, {y.Add(1), 1}} {
					v, err := Values[float32](c.a)
					if fails {
						assert.ErrorContains(t, err, "Throwing: thrown")
					} else if assert.NoError(t, err) {
						assert.Equal(t, []float32{2*float32(g+1) + c.off, 2*float32(i+1) + c.off}, v)
					}
				}
			}
		})
	}
	wg.Wait()
}

// Failures of libmlx's own operations.
func TestFailureInLibrary(t *testing.T) {
	singular := Zeros([]int{3, 3}, Float32)
	require.NoError(t, singular.Eval())
	e := asError(t, singular.Inverse().Eval())
	assert.Contains(t, e.Message, "Inverse: LU factorization failed")
	assert.Equal(t, make([]float32, 9), floats(t, singular))

	nan := Full([]int{3, 3}, math.NaN(), Float32)
	u, sigma, vt := nan.SVD()
	e = asError(t, sigma.Eval())
	assert.Equal(t, "svd", e.Op, "refused by this package before LAPACK sees it")
	assert.Same(t, e, u.Err(), "further results of the failed operation")
	assert.Same(t, e, vt.Eval())
	assert.Same(t, e, u.MatMul(vt).Eval())
	require.NoError(t, Eye(3, 3, 0, Float32).Inverse().Eval())
}

// A failed array in other hands: a trace that took it for a constant, and a closure that captured it.
func TestFailureOfCapturedArrays(t *testing.T) {
	x := New([]float32{1, 2})
	bad := faulty(Stream{}, New([]float32{1, 2}), inTask)
	f := Compile(func(a []*Array) []*Array { return []*Array{a[0].Add(bad)} })
	defer f.Close()
	out, err := f.Call(x)
	require.NoError(t, err, "nothing was computed")
	requireFailed(t, out[0].Eval())
	_, err = f.Call(x)
	if err == nil {
		out, _ = f.Call(x)
		err = out[0].Eval()
	}
	requireFailed(t, err)

	_, grads, err := ValueAndGrad(func(a []*Array) []*Array { return []*Array{a[0].Mul(bad).Sum()} })(x)
	if err == nil {
		err = Eval(grads...)
	}
	requireFailed(t, err)
	_, grads, err = ValueAndGrad(func(a []*Array) []*Array { return []*Array{a[0].Square().Sum()} })(x)
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4}, floats(t, grads[0]))
}
