package rnn

import "github.com/mpsrnn/mpsrnn/mlx"

// lengthMask knows which steps of which rows are real.
type lengthMask struct {
	longest, shortest int
	valid             *mlx.Array // [longest*N, 1] bool
}

// newLengthMask takes lengths that are known, or an array of lengths that are not.
func newLengthMask(o mlx.Ops, known []int, unknown *mlx.Array, T, N int) *lengthMask {
	m := &lengthMask{longest: T}
	lengths := unknown
	if unknown == nil {
		m.longest, m.shortest = 0, T
		for _, l := range known {
			m.longest, m.shortest = max(m.longest, l), min(m.shortest, l)
		}
		lengths = mlx.New(known, N)
	}
	steps := o.Reshape(o.Arange(0, float64(m.longest), 1, mlx.Int32), m.longest, 1)
	m.valid = o.Reshape(o.Less(steps, o.Reshape(lengths, 1, N)), m.longest*N, 1)
	return m
}

// zeroPadding gives a [T*N, features] with zeros in the padding, whatever stands there (0 * NaN would be NaN). A
// gradient that comes in there is dropped in the same way; MLX would multiply it by 0.
func (m *lengthMask) zeroPadding(o mlx.Ops, a *mlx.Array) *mlx.Array {
	zero := func(valid, a *mlx.Array) *mlx.Array { return o.Where(valid, a, 0.0) }
	if !a.IsTracer() {
		return zero(m.valid, a)
	}
	out, err := mlx.CustomVJP(
		func(args []*mlx.Array) []*mlx.Array { return []*mlx.Array{zero(args[1], args[0])} },
		func(args, d, _ []*mlx.Array) []*mlx.Array { return []*mlx.Array{zero(args[1], d[0]), args[1]} },
	)(a, m.valid)
	if err != nil {
		return mlx.ErrorArray("lengths", err)
	}
	return out[0]
}
