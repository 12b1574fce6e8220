// Package mlx is the array and stream core: Apple's MLX (libmlx) for Go.
//
// An [*Array] is an immutable n-dimensional array. Operations are lazy: they build a graph that
// runs when values are asked for ([Eval], [Values], [Item], printing).
//
//	a := mlx.New([]float32{1, 2, 3, 4}, 2, 2)
//	b := a.MatMul(a.T()).Add(1).Sqrt()
//	v, err := mlx.Values[float32](b)
//
// # Errors
//
// An operation never panics and never returns nil. A fault (wrong shapes, types, a freed array)
// gives an array that carries the error; operations on it carry it on; it comes out of
// [Array.Err], [Eval] and every read of values. The message names the operation, the inputs
// and the line of the program that made the first fault. Constructors of larger things and
// everything that reads or writes files return an error in the usual way.
//
// # Memory
//
// Go's collector does not see the memory of arrays. Three nets hold it: [Array.Free] gives an
// array back at once; a [Scope] owns all that is computed from its arrays and gives them back
// together; and what nobody freed is given back some time after the collector found it
// unreachable. When more than 64 MiB, and more than twice what the last collection left, are in use
// the package runs the collector by itself, so that arrays nobody freed hold some 256 MiB at most, or as
// much as those in use.
//
// # Threads
//
// Any goroutine may call anything on any array. Calls into MLX are short and hold one lock;
// waiting for results happens outside of it. But MLX takes a graph of more than about a hundred operations
// only as fast as it computes them, and others wait as long. A function given to a transform runs on a thread of the
// package; goroutines that it starts must not use its arguments.
package mlx

//go:generate go run ../internal/opgen -table ops.txt -out .
