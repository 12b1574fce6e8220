package mlx

// #include "shim.h"
import "C"

// VJP runs f on primals and gives its outputs and, for each primal, the vector-Jacobian product
// with the cotangents (one for each output, of the output's shape).
func VJP(f Func, primals, cotangents []*Array) (outputs, grads []*Array, err error) {
	return twoLists("vjp", f, func(c *call, fn C.uintptr_t, first *C.int) C.mlxg_results {
		p, t := c.arrays(primals), c.arrays(cotangents)
		if c.err != nil {
			return C.mlxg_results{}
		}
		return C.mlxg_vjp(fn, p, t, first)
	})
}

// JVP runs f on primals and gives its outputs and, for each output, the Jacobian-vector product
// with the tangents (one for each primal, of the primal's shape).
func JVP(f Func, primals, tangents []*Array) (outputs, derivatives []*Array, err error) {
	return twoLists("jvp", f, func(c *call, fn C.uintptr_t, first *C.int) C.mlxg_results {
		p, t := c.arrays(primals), c.arrays(tangents)
		if c.err == nil && len(primals) != len(tangents) {
			c.fail("one tangent for each primal is expected; given %d primals and %d tangents", len(primals), len(tangents))
		}
		if c.err != nil {
			return C.mlxg_results{}
		}
		return C.mlxg_jvp(fn, p, t, first)
	})
}

// ValueAndGrad makes a function that gives the outputs of f and the gradient of its first output,
// a scalar, with respect to the arguments at argnums (default: the first). Further outputs of f
// are auxiliary values and have no gradient.
func ValueAndGrad(f Func, argnums ...int) func(args ...*Array) (values, grads []*Array, err error) {
	if len(argnums) == 0 {
		argnums = []int{0}
	}
	return func(args ...*Array) (values, grads []*Array, err error) {
		return twoLists("value_and_grad", f, func(c *call, fn C.uintptr_t, first *C.int) C.mlxg_results {
			in, nums := c.arrays(args), c.ints("argnums", argnums)
			for _, i := range argnums {
				if i < 0 || i >= len(args) {
					c.fail("argument number %d is not one of the %d arguments", i, len(args))
				}
			}
			if c.err != nil {
				return C.mlxg_results{}
			}
			return C.mlxg_value_and_grad(fn, in, nums, first)
		})
	}
}

// Grad is [ValueAndGrad] without the values.
func Grad(f Func, argnums ...int) func(args ...*Array) (grads []*Array, err error) {
	both := ValueAndGrad(f, argnums...)
	return func(args ...*Array) ([]*Array, error) {
		values, grads, err := both(args...)
		for _, v := range values {
			v.Free()
		}
		return grads, err
	}
}

// VMap makes a function that maps f over an axis of its arguments. inAxes has one axis for each
// argument, -1 for one that is not mapped; outAxes likewise for the outputs. Empty lists mean axis 0.
func VMap(f Func, inAxes, outAxes []int) func(args ...*Array) ([]*Array, error) {
	return func(args ...*Array) ([]*Array, error) {
		return oneList("vmap", f, func(c *call, fn C.uintptr_t) C.mlxg_results {
			a, in, out := c.arrays(args), c.ints("in axes", inAxes), c.ints("out axes", outAxes)
			if c.err != nil {
				return C.mlxg_results{}
			}
			return C.mlxg_vmap(fn, a, in, out)
		})
	}
}

// Checkpoint makes a function that gives f's outputs and, when a gradient is taken, runs f again
// instead of keeping what it computed: less memory for more time.
func Checkpoint(f Func) func(args ...*Array) ([]*Array, error) {
	return func(args ...*Array) ([]*Array, error) {
		return oneList("checkpoint", f, func(c *call, fn C.uintptr_t) C.mlxg_results {
			a := c.arrays(args)
			if c.err != nil {
				return C.mlxg_results{}
			}
			return C.mlxg_checkpoint(fn, a)
		})
	}
}

// CustomVJP makes a function that gives f's outputs and whose gradient is computed by vjp.
func CustomVJP(f Func, vjp VJPFunc) func(args ...*Array) ([]*Array, error) {
	return func(args ...*Array) ([]*Array, error) {
		return oneList("custom_vjp", f, func(c *call, fn C.uintptr_t) C.mlxg_results {
			a := c.arrays(args)
			if vjp == nil {
				c.fail("the gradient function is nil")
			}
			if c.err != nil {
				return C.mlxg_results{}
			}
			return C.mlxg_custom_vjp(fn, registerFunction(vjp), a)
		})
	}
}

// twoLists runs a transform that gives two lists of arrays, the first of them *first long.
func twoLists(op string, f Func, run func(c *call, fn C.uintptr_t, first *C.int) C.mlxg_results) (a, b []*Array, err error) {
	var first C.int
	all, err := oneList(op, f, func(c *call, fn C.uintptr_t) C.mlxg_results { return run(c, fn, &first) })
	if err != nil {
		return nil, nil, err
	}
	return all[:first:first], all[first:], nil
}

func oneList(op string, f Func, run func(c *call, fn C.uintptr_t) C.mlxg_results) (out []*Array, err error) {
	if f == nil {
		return nil, &Error{Op: op, Message: "the function is nil", Site: callSite()}
	}
	site := callSite()
	failed := onWorker(func() { out, err = callTransform(op, site, f, run) })
	if failed != nil {
		return nil, &Error{Op: op, Message: failed.Error(), Site: site}
	}
	return out, err
}

func callTransform(op, site string, f Func, run func(c *call, fn C.uintptr_t) C.mlxg_results) ([]*Array, error) {
	var c call
	c.begin(op, Stream{})
	defer c.unlock()
	if c.err != nil {
		return nil, transformError(op, site, c.err)
	}
	fn := registerFunction(f)
	r := run(&c, fn)
	defer forgetReleasedFunctions()
	if c.err == nil && r.err.message == nil {
		return takeArrays(r, c.scope), nil
	}
	if c.err == nil {
		c.native(r.err)
	} else {
		// The number never reached native code, which would have released it.
		functions.mu.Lock()
		delete(functions.live, uintptr(fn))
		functions.mu.Unlock()
	}
	return nil, transformError(op, site, failures.take(c.err))
}
