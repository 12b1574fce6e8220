package mlx

// #include "shim.h"
import "C"

// Tidy runs f at once and gives back what f computed from its arguments, except the results, when
// it returns. MLX can then reuse the memory of intermediate values while it evaluates. The results
// belong to the scope that an operation on args would give.
func Tidy(f Func, args ...*Array) []*Array {
	inner := NewScope()
	defer inner.Close()
	owned := make([]*Array, len(args))
	for i, a := range args {
		owned[i] = inner.Own(a)
	}
	results := f(owned)
	out := make([]*Array, len(results))
	for i, r := range results {
		out[i] = moveOut(r, args)
	}
	return out
}

func moveOut(r *Array, args []*Array) *Array {
	var c call
	c.begin("tidy", Stream{})
	var outer *Scope
	for _, a := range args {
		if a != nil && !a.scope.isClosed() && a.scope != nil && (outer == nil || a.scope.order > outer.order) {
			outer = a.scope
		}
	}
	h := c.array(r)
	if c.err != nil {
		return c.broken()
	}
	c.scope = outer
	return c.end(C.mlxg_retain(h))
}
