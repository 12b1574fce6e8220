package mlx

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// in time fails the test when f takes too long to be anything but stuck.
func inTime(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		buf := make([]byte, 1<<20)
		t.Fatalf("stuck:\n%s", buf[:runtime.Stack(buf, true)])
	}
}

func TestValueAndGrad(t *testing.T) {
	x, y := New([]float32{1, 2, 3}), New([]float32{4, 5, 6})
	f := func(a []*Array) []*Array {
		product := a[0].Mul(a[1])
		return []*Array{product.Mul(a[0]).Sum(), product, a[1].Negative()} // sum(x^2 y) and two auxiliary values
	}
	values, grads, err := ValueAndGrad(f, 0, 1)(x, y)
	require.NoError(t, err)
	require.Len(t, values, 3)
	require.Len(t, grads, 2)
	assert.Equal(t, []float32{78}, floats(t, values[0]))
	assert.Equal(t, []float32{4, 10, 18}, floats(t, values[1]))
	assert.Equal(t, []float32{-4, -5, -6}, floats(t, values[2]))
	assert.Equal(t, []float32{8, 20, 36}, floats(t, grads[0]))
	assert.Equal(t, []float32{1, 4, 9}, floats(t, grads[1]))

	_, grads, err = ValueAndGrad(f, 1, 0)(x, y)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 4, 9}, floats(t, grads[0]), "gradients come in the order of the argument numbers")
	assert.Equal(t, []float32{8, 20, 36}, floats(t, grads[1]))

	grads, err = Grad(f, 1)(x, y)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 4, 9}, floats(t, grads[0]))
}

func TestGradOfGrad(t *testing.T) {
	cube := func(a []*Array) []*Array { return []*Array{a[0].Mul(a[0]).Mul(a[0]).Sum()} }
	second := Grad(func(a []*Array) []*Array {
		inner, err := Grad(cube)(a[0])
		if err != nil {
			return []*Array{ErrorArray("inner", err)}
		}
		return []*Array{inner[0].Sum()}
	})
	grads, err := second(New([]float32{1, 2, -3}))
	require.NoError(t, err)
	assert.Equal(t, []float32{6, 12, -18}, floats(t, grads[0]))
}

func TestVJPAndJVP(t *testing.T) {
	x := New([]float32{1, 2})
	f := func(a []*Array) []*Array { return []*Array{a[0].Square(), a[0].Exp()} }
	outs, grads, err := VJP(f, []*Array{x}, []*Array{New([]float32{1, 10}), Zeros([]int{2}, Float32)})
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 4}, floats(t, outs[0]))
	assert.Equal(t, []float32{2, 40}, floats(t, grads[0]))
	outs, tangents, err := JVP(f, []*Array{x}, []*Array{New([]float32{1, 10})})
	require.NoError(t, err)
	require.Len(t, outs, 2)
	assert.Equal(t, []float32{2, 40}, floats(t, tangents[0]))
	assert.InDeltaSlice(t, []float32{float32(math.E), 10 * float32(math.Exp(2))}, floats(t, tangents[1]), 1e-4)

	_, _, err = VJP(f, []*Array{x}, []*Array{x})
	asError(t, err)
	_, _, err = VJP(f, []*Array{x}, []*Array{x, Zeros([]int{3}, Float32)})
	assert.ErrorContains(t, err, "(3)")
	_, _, err = VJP(f, []*Array{x}, []*Array{x, x, x})
	asError(t, err)
	outs, grads, err = VJP(func(a []*Array) []*Array { return []*Array{a[0].StopGradient(), a[0].Mul(3)} },
		[]*Array{x}, []*Array{New([]float32{100, 100}), New([]float32{1, 2})})
	require.NoError(t, err)
	require.Len(t, outs, 2)
	assert.Equal(t, []float32{3, 6}, floats(t, grads[0]), "a stopped output takes its cotangent along")
	_, _, err = JVP(f, []*Array{x}, nil)
	assert.ErrorContains(t, err, "1 primals and 0 tangents")
	_, _, err = JVP(f, []*Array{x}, []*Array{Zeros([]int{3}, Float32)})
	asError(t, err)
}

func TestVMap(t *testing.T) {
	a, b := New([]float32{1, 2, 3, 4, 5, 6}, 3, 2), New([]float32{10, 20})
	outer := func(x []*Array) []*Array { return []*Array{x[0].Mul(x[1]).Sum()} }
	out, err := VMap(outer, []int{0, -1}, nil)(a, b)
	require.NoError(t, err)
	assert.Equal(t, []float32{50, 110, 170}, floats(t, out[0]))
	out, err = VMap(func(x []*Array) []*Array { return []*Array{x[0].Add(x[1])} }, []int{1, 0}, []int{1})(a, b)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2}, out[0].Shape())
	assert.Equal(t, []float32{11, 22, 13, 24, 15, 26}, floats(t, out[0]))
	for _, axes := range [][]int{{0}, {2, 0}, {0, 0}} {
		_, err = VMap(outer, axes, nil)(a, b)
		asError(t, err)
	}
	_, err = VMap(outer, []int{0, -1}, []int{0, 0})(a, b)
	asError(t, err)
}

func TestCheckpoint(t *testing.T) {
	runs := 0
	f := Checkpoint(func(a []*Array) []*Array {
		runs++
		return []*Array{a[0].Tanh().Square()}
	})
	loss := func(a []*Array) []*Array {
		out, err := f(a[0])
		if err != nil {
			return []*Array{ErrorArray("checkpoint", err)}
		}
		return []*Array{out[0].Sum()}
	}
	x := New([]float32{0.5, -1})
	grads, err := Grad(loss)(x)
	require.NoError(t, err)
	want, err := Grad(func(a []*Array) []*Array { return []*Array{a[0].Tanh().Square().Sum()} })(x)
	require.NoError(t, err)
	assert.InDeltaSlice(t, floats(t, want[0]), floats(t, grads[0]), 1e-6)
	assert.Equal(t, 2, runs, "once forward, once again for the gradient")
	out, err := f(x)
	require.NoError(t, err)
	assert.Len(t, floats(t, out[0]), 2)
}

func TestCustomVJP(t *testing.T) {
	scale := New([]float32{100})
	f := CustomVJP(
		func(a []*Array) []*Array { return []*Array{a[0].Mul(a[1]), a[0]} },
		func(primals, cotangents, outputs []*Array) []*Array {
			// Not the true gradient, to tell them apart; scale is captured.
			return []*Array{cotangents[0].Mul(scale), outputs[0].Add(primals[1]).Mul(0).Add(7)}
		})
	loss := func(a []*Array) []*Array {
		out, err := f(a...)
		if err != nil {
			return []*Array{ErrorArray("custom", err)}
		}
		return []*Array{out[0].Sum()}
	}
	x, y := New([]float32{1, 2}), New([]float32{3, 4})
	values, grads, err := ValueAndGrad(loss, 0, 1)(x, y)
	require.NoError(t, err)
	assert.Equal(t, []float32{11}, floats(t, values[0]))
	assert.Equal(t, []float32{100, 100}, floats(t, grads[0]))
	assert.Equal(t, []float32{7, 7}, floats(t, grads[1]))

	for name, c := range map[string]struct {
		vjp  VJPFunc
		want string
	}{
		"too few":     {func(p, c, o []*Array) []*Array { return c[:1] }, "returned 1 arrays; expected 2"},
		"too many":    {func(p, c, o []*Array) []*Array { return []*Array{c[0], c[0], c[0]} }, "returned 3 arrays; expected 2"},
		"none":        {func(p, c, o []*Array) []*Array { return nil }, "no arrays"},
		"nil array":   {func(p, c, o []*Array) []*Array { return []*Array{c[0], nil} }, "result 1 of the function is nil"},
		"wrong shape": {func(p, c, o []*Array) []*Array { return []*Array{c[0].Sum(), c[0]} }, "gradient 0 has shape []; expected [2]"},
		"an error":    {func(p, c, o []*Array) []*Array { return []*Array{c[0], ErrorArray("mine", errors.New("no gradient"))} }, "mine: no gradient"},
		"a panic":     {func(p, c, o []*Array) []*Array { return p[:99] }, "panicked"},
	} {
		g := CustomVJP(func(a []*Array) []*Array { return []*Array{a[0].Mul(a[1])} }, c.vjp)
		_, _, err := ValueAndGrad(func(a []*Array) []*Array {
			out, err := g(a...)
			if err != nil {
				return []*Array{ErrorArray("custom", err)}
			}
			return []*Array{out[0].Sum()}
		}, 0, 1)(x, y)
		assert.ErrorContains(t, asError(t, err), c.want, name)
	}
	_, err = CustomVJP(func(a []*Array) []*Array { return a }, nil)(x)
	assert.ErrorContains(t, asError(t, err), "nil")
}

func TestEvalInsideClosure(t *testing.T) {
	var seen []float32
	_, grads, err := ValueAndGrad(func(a []*Array) []*Array {
		y := a[0].Mul(2)
		var err error
		if seen, err = Values[float32](y); err != nil {
			return []*Array{ErrorArray("read", err)}
		}
		return []*Array{y.Square().Sum()}
	})(New([]float32{1, 2}))
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4}, seen)
	assert.Equal(t, []float32{8, 16}, floats(t, grads[0]), "the graph is kept")

	// Where MLX traces without values, reading is an error and the next call works.
	peek := func(a []*Array) []*Array {
		if _, err := Values[float32](a[0].Mul(2)); err != nil {
			return []*Array{ErrorArray("peek", err)}
		}
		return a
	}
	_, err = VMap(peek, nil, nil)(New([]float32{1, 2}))
	assert.ErrorContains(t, asError(t, err), "eval")
	c := Compile(peek)
	defer c.Close()
	_, err = c.Call(New([]float32{1, 2}))
	assert.ErrorContains(t, asError(t, err), "eval")
	assert.Equal(t, []float32{3}, floats(t, New([]float32{1}).Add(2)))
}

// Each transform, as a function of one array.
func transforms() map[string]func(f Func, x *Array) error {
	return map[string]func(f Func, x *Array) error{
		"value_and_grad": func(f Func, x *Array) error { _, _, err := ValueAndGrad(f)(x); return err },
		"vjp": func(f Func, x *Array) error {
			_, _, err := VJP(f, []*Array{x}, []*Array{Scalar[float32](1)})
			return err
		},
		"jvp":        func(f Func, x *Array) error { _, _, err := JVP(f, []*Array{x}, []*Array{x}); return err },
		"vmap":       func(f Func, x *Array) error { _, err := VMap(f, nil, nil)(x); return err },
		"checkpoint": func(f Func, x *Array) error { _, err := Checkpoint(f)(x); return err },
		"custom_vjp": func(f Func, x *Array) error {
			_, err := CustomVJP(f, func(p, c, o []*Array) []*Array { return p })(x)
			return err
		},
		"compile": func(f Func, x *Array) error {
			c := Compile(f)
			defer c.Close()
			_, err := c.Call(x)
			return err
		},
	}
}

// What a closure can do wrong is an error of the transform, crosses no C frame, and the next call works.
func TestTransformOfFaultyClosure(t *testing.T) {
	mine := errors.New("mine")
	for name, c := range map[string]struct {
		f    Func
		want string
	}{
		"nil":         {func([]*Array) []*Array { return nil }, "no arrays"},
		"no results":  {func([]*Array) []*Array { return []*Array{} }, "no arrays"},
		"nil result":  {func([]*Array) []*Array { return []*Array{nil} }, "result 0 of the function is nil"},
		"error":       {func([]*Array) []*Array { return []*Array{ErrorArray("cell", mine)} }, "cell: mine"},
		"wrong shape": {func(a []*Array) []*Array { return []*Array{a[0].Reshape(99)} }, "reshape"},
		"freed":       {func(a []*Array) []*Array { a[0].Free(); return a }, "freed"},
		"panic":       {func([]*Array) []*Array { panic("ouch") }, "panicked: ouch"},
		"panic error": {func([]*Array) []*Array { panic(mine) }, "panicked: mine"},
		"index":       {func(a []*Array) []*Array { return []*Array{a[5]} }, "index out of range"},
		"Goexit":      {func([]*Array) []*Array { runtime.Goexit(); return nil }, "runtime.Goexit"},
	} {
		for transform, run := range transforms() {
			inTime(t, func() {
				x := New([]float32{1, 2})
				err := run(c.f, x)
				if assert.Error(t, err, "%s in %s", name, transform) {
					var e *Error
					assert.ErrorAs(t, err, &e, "%s in %s", name, transform)
					assert.ErrorContains(t, err, c.want, "%s in %s", name, transform)
					assert.Regexp(t, `^transforms_test\.go:\d+$`, e.Site)
				}
				if name == "error" || name == "panic error" {
					assert.ErrorIs(t, err, mine, "%s in %s", name, transform)
				}
				assert.NoError(t, run(func(a []*Array) []*Array { return []*Array{a[0].Sum()} }, x), "the next call of %s", transform)
				assert.Equal(t, []float32{2, 3}, floats(t, x.Add(1)))
			})
		}
	}
	for transform, run := range transforms() {
		assert.ErrorContains(t, run(nil, New([]float32{1})), "nil", transform)
	}
}

func TestTransformArguments(t *testing.T) {
	sum := func(a []*Array) []*Array { return []*Array{a[0].Sum()} }
	x := New([]float32{1, 2})
	_, _, err := ValueAndGrad(sum, 1)(x)
	assert.ErrorContains(t, asError(t, err), "argument number 1 is not one of the 1 arguments")
	_, _, err = ValueAndGrad(sum, -1)(x)
	asError(t, err)
	_, _, err = ValueAndGrad(sum, 0, 0)(x)
	asError(t, err)
	_, _, err = ValueAndGrad(sum)()
	asError(t, err)
	_, _, err = ValueAndGrad(sum)(nil)
	asError(t, err)
	_, _, err = ValueAndGrad(func(a []*Array) []*Array { return a })(x)
	assert.ErrorContains(t, asError(t, err), "scalar")
}

func TestArraysLeakedFromClosure(t *testing.T) {
	var argument, inner, kept *Array
	_, grads, err := ValueAndGrad(func(a []*Array) []*Array {
		argument, inner = a[0], a[0].Mul(2)
		kept = Keep(inner.StopGradient())
		return []*Array{inner.Sum()}
	})(New([]float32{1, 2}))
	require.NoError(t, err)
	assert.ErrorContains(t, inner.Eval(), "closed scope (use Keep")
	assert.ErrorContains(t, argument.Add(1).Err(), "closed scope (use Keep")
	assert.Equal(t, []float32{2, 4}, floats(t, kept))
	assert.Equal(t, []float32{2, 2}, floats(t, grads[0]))
}

// B44: what happens to a state's variable after the forward pass does not change the gradient.
func TestTransformB44StateReplacedBeforeBackward(t *testing.T) {
	h0 := New([]float32{0.3, -0.6})
	state := h0
	_, grads, err := ValueAndGrad(func(a []*Array) []*Array {
		out := a[0].Tanh()
		state = Keep(out)
		state.Free()
		h0.Free()
		return []*Array{out.Sum()}
	})(h0)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float32{0.915137, 0.711578}, floats(t, grads[0]), 1e-6)
}
