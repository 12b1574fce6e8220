package mlx

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inModes runs f with each compile mode, and leaves the mode as it was.
func inModes(t *testing.T, f func(t *testing.T)) {
	for name, mode := range map[string]CompileMode{"disabled": CompileDisabled, "no simplify": CompileNoSimplify,
		"no fuse": CompileNoFuse, "enabled": CompileEnabled} {
		t.Run(name, func(t *testing.T) {
			before := CurrentCompileMode()
			require.NoError(t, SetCompileMode(mode))
			defer func() { require.NoError(t, SetCompileMode(before)) }()
			require.Equal(t, mode, CurrentCompileMode())
			f(t)
		})
	}
}

func call1(t *testing.T, c *Compiled, args ...*Array) []float32 {
	t.Helper()
	out, err := c.Call(args...)
	require.NoError(t, err)
	require.Len(t, out, 1)
	return floats(t, out[0])
}

func TestCompileTracesOncePerShapeAndType(t *testing.T) {
	traces := 0
	c := Compile(func(a []*Array) []*Array {
		traces++
		return []*Array{a[0].Exp().Mul(0).Add(a[0]).Sum()}
	})
	defer c.Close()
	for range 3 {
		assert.Equal(t, []float32{3}, call1(t, c, New([]float32{1, 2})))
		assert.Equal(t, []float32{6}, call1(t, c, New([]float32{1, 2, 3})))
		out, err := c.Call(New([]F16{F16From(1), F16From(2)}))
		require.NoError(t, err)
		assert.Equal(t, Float16, out[0].Dtype())
	}
	assert.Equal(t, 3, traces)

	traces = 0
	free := CompileShapeless(func(a []*Array) []*Array {
		traces++
		return []*Array{a[0].Mul(2)}
	})
	defer free.Close()
	assert.Equal(t, []float32{2, 4}, call1(t, free, New([]float32{1, 2})))
	assert.Equal(t, []float32{2, 4, 6}, call1(t, free, New([]float32{1, 2, 3})))
	assert.Equal(t, 1, traces)
}

// B80: views with negative strides inside compiled functions.
func TestCompileB80NegativeStrides(t *testing.T) {
	inModes(t, func(t *testing.T) {
		flip := Compile(func(a []*Array) []*Array { return []*Array{a[0].Flip(0).Mul(2).Add(1)} })
		defer flip.Close()
		strided := Compile(func(a []*Array) []*Array {
			return []*Array{a[0].SliceStep([]int{2}, []int{-4}, []int{-1}).Mul(2).Add(1).Tanh()}
		})
		defer strided.Close()
		x := New([]float32{1, 2, 3})
		for range 2 {
			assert.Equal(t, []float32{7, 5, 3}, call1(t, flip, x))
			got := call1(t, strided, x)
			want := floats(t, New([]float32{7, 5, 3}).Tanh())
			assert.InDeltaSlice(t, want, got, 1e-6)
		}
	})
}

// B80: F1 of the cases, a GRU, backwards in time inside a compiled function.
func TestCompileB80ReverseGRU(t *testing.T) {
	inModes(t, func(t *testing.T) {
		c := Compile(func(a []*Array) []*Array {
			h := Zeros([]int{1, 2}, Float32)
			out := make([]*Array, 3)
			for i := range out {
				h = gruStep(a[0].Flip(0).SliceAxis(0, i, i+1), h)
				out[2-i] = h
			}
			return []*Array{Concatenate(out, 0)}
		})
		defer c.Close()
		for range 2 {
			assert.InDeltaSlice(t, []float32{.180394, .105600, .304540, .243989, .063841, .019346}, call1(t, c, gruInput()), 2e-6)
		}
	})
}

// B82: a trace that failed must not be taken for a good one.
func TestCompileB82FirstTraceFails(t *testing.T) {
	inModes(t, func(t *testing.T) {
		mine := errors.New("not yet")
		for name, fault := range map[string]func(){"error": nil, "panic": func() { panic(mine) }, "Goexit": runtime.Goexit} {
			calls := 0
			c := Compile(func(a []*Array) []*Array {
				if calls++; calls == 1 {
					if fault == nil {
						return []*Array{ErrorArray("first", mine)}
					}
					fault()
				}
				return []*Array{a[0].Add(1)}
			})
			x := New([]float32{1, 2})
			_, err := c.Call(x)
			require.Error(t, err, name)
			if name != "Goexit" {
				require.ErrorIs(t, err, mine, name)
			}
			for range 3 {
				assert.Equal(t, []float32{2, 3}, call1(t, c, x), name)
			}
			if name != "Goexit" {
				traced := calls
				calls = 0
				_, err = c.Call(New([]float32{1, 2, 3}))
				require.Error(t, err, "another trace that fails")
				calls = traced
				assert.Equal(t, []float32{2, 3}, call1(t, c, x), name)
				assert.Equal(t, []float32{2, 3, 4}, call1(t, c, New([]float32{1, 2, 3})), name)
				if CurrentCompileMode() != CompileDisabled {
					assert.Equal(t, traced+1, calls, "the first trace is still there")
				}
			}
			c.Close()
		}
	})
}

// B83: 1000 compiled functions, made, called and dropped: each its own result, and nothing piles up.
func TestCompileB83ManyFunctions(t *testing.T) {
	x := New([]float32{1, 2})
	run := func(n int, drop func(*Compiled)) {
		for i := range n {
			c := Compile(func(a []*Array) []*Array { return []*Array{a[0].Add(i)} })
			out, err := c.Call(x)
			require.NoError(t, err)
			require.Equal(t, []float32{float32(i + 1), float32(i + 2)}, floats(t, out[0]))
			out[0].Free()
			drop(c)
		}
		collect()
	}
	run(10, (*Compiled).Close)
	live, functions := LiveArrays(), liveFunctions()
	run(1000, (*Compiled).Close)
	assert.Equal(t, live, LiveArrays())
	assert.Equal(t, functions, liveFunctions())
	run(1000, func(*Compiled) {})
	assert.Equal(t, live, LiveArrays())
	assert.Equal(t, functions, liveFunctions())

	c := Compile(func(a []*Array) []*Array { return a })
	c.Close()
	c.Close()
	_, err := c.Call(x)
	assert.ErrorContains(t, asError(t, err), "closed")
	_, err = Compile(nil).Call(x)
	assert.ErrorContains(t, asError(t, err), "nil")
}

// MLX's entry of a function is in use while the function is traced.
func TestCompileReentrant(t *testing.T) {
	inTime(t, func() {
		var c *Compiled
		c = Compile(func(a []*Array) []*Array {
			if a[0].Dim(0) == 1 {
				return []*Array{a[0].Mul(10)}
			}
			first, err := c.Call(a[0].SliceAxis(0, 0, 1))
			if err != nil {
				return []*Array{ErrorArray("first", err)}
			}
			rest, err := c.Call(a[0].SliceAxis(0, 1, a[0].Dim(0)))
			if err != nil {
				return []*Array{ErrorArray("rest", err)}
			}
			return []*Array{Concatenate([]*Array{first[0], rest[0]}, 0)}
		})
		x := New([]float32{1, 2, 3, 4, 5, 6, 7, 8})
		for range 3 {
			assert.Equal(t, []float32{10, 20, 30, 40, 50, 60, 70, 80}, call1(t, c, x))
		}
		c.Close()

		var inner, closing *Compiled
		inner = Compile(func(a []*Array) []*Array { return []*Array{a[0].Add(1)} })
		closing = Compile(func(a []*Array) []*Array {
			closing.Close()
			out, err := inner.Call(a[0])
			inner.Close()
			if err != nil {
				return []*Array{ErrorArray("inner", err)}
			}
			return []*Array{out[0].Mul(2)}
		})
		assert.Equal(t, []float32{4}, call1(t, closing, New([]float32{1})))
		_, err := closing.Call(x)
		assert.ErrorContains(t, err, "closed")
	})
}

func TestCompileAndGrad(t *testing.T) {
	inModes(t, func(t *testing.T) {
		x := New([]float32{1, 2})
		step := Compile(func(a []*Array) []*Array {
			values, grads, err := ValueAndGrad(func(b []*Array) []*Array { return []*Array{b[0].Tanh().Square().Sum()} })(a[0])
			if err != nil {
				return []*Array{ErrorArray("step", err)}
			}
			return []*Array{values[0], grads[0]}
		})
		defer step.Close()
		square := Compile(func(a []*Array) []*Array { return []*Array{a[0].Tanh().Square()} })
		defer square.Close()
		_, want, err := ValueAndGrad(func(a []*Array) []*Array { return []*Array{a[0].Tanh().Square().Sum()} })(x)
		require.NoError(t, err)
		for range 2 {
			out, err := step.Call(x)
			require.NoError(t, err)
			assert.InDeltaSlice(t, floats(t, want[0]), floats(t, out[1]), 1e-6, "gradient inside a compiled function")
			_, grads, err := ValueAndGrad(func(a []*Array) []*Array {
				out, err := square.Call(a[0])
				if err != nil {
					return []*Array{ErrorArray("square", err)}
				}
				return []*Array{out[0].Sum()}
			})(x)
			require.NoError(t, err)
			assert.InDeltaSlice(t, floats(t, want[0]), floats(t, grads[0]), 1e-6, "compiled function inside a gradient")
			require.Len(t, call1(t, square, x), 2)
		}
	})
}

func TestCompileFromManyGoroutines(t *testing.T) {
	inTime(t, func() {
		shared := Compile(func(a []*Array) []*Array { return []*Array{a[0].Mul(2).Add(a[1])} })
		defer shared.Close()
		var wg sync.WaitGroup
		for g := range 64 {
			wg.Go(func() {
				own := Compile(func(a []*Array) []*Array { return []*Array{a[0].Add(g)} })
				defer own.Close()
				for i := range 20 {
					x := New([]float32{float32(g), float32(i)})
					out, err := shared.Call(x, x)
					if !assert.NoError(t, err) {
						return
					}
					v, err := Values[float32](out[0])
					assert.NoError(t, err)
					assert.Equal(t, []float32{3 * float32(g), 3 * float32(i)}, v)
					if out, err = own.Call(x); assert.NoError(t, err) {
						v, err = Values[float32](out[0])
						assert.NoError(t, err)
						assert.Equal(t, []float32{2 * float32(g), float32(g + i)}, v)
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestCompileModeOutOfRange(t *testing.T) {
	asError(t, SetCompileMode(CompileEnabled+1))
	asError(t, SetCompileMode(-1))
}
