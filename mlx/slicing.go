package mlx

// SliceAxis takes start <= index < stop along one axis; negative values count from the end.
func (a *Array) SliceAxis(axis, start, stop int) *Array { return Ops{}.sliceAxis(a, axis, start, stop) }

// SliceAxis is [Array.SliceAxis] on the stream.
func (o Ops) SliceAxis(a *Array, axis, start, stop int) *Array {
	return o.sliceAxis(a, axis, start, stop)
}
