package mlx

import (
	"errors"
	"math"
)

// nonsense gives, for an argument of a kind and its good value, values that are wrong, extreme or unusual. Each
// call makes new arrays.
func nonsense(kind string, good any) []any {
	switch kind {
	case "array", "array?":
		list := []any{(*Array)(nil), freedArray(), ErrorArray("earlier", errors.New("carried")), &Array{}}
		if a, ok := good.(*Array); ok {
			return append(list, oddArrays(a)...)
		}
		return append(list, oddArrays(New([]float32{1, 2, 3, 4}, 2, 2))...)
	case "arrays":
		return oddLists(good.([]*Array))
	case "operand", "int?", "float?":
		list := []any{nil, (*Array)(nil), "text", struct{}{}, true, 3, -1, 0, math.MaxInt64, math.MinInt64, uint64(math.MaxUint64), math.NaN(),
			math.Inf(1), 1e300, 2i, 1.5, freedArray()}
		if a, ok := good.(*Array); ok {
			return append(list, oddArrays(a)...)
		}
		return append(list, New([]float32{1, 2, 3, 4, 5}), New([]float32{}))
	case "int":
		return []any{-1, 0, 1, 2, 3, -2, -5, 31, 100, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64}
	case "float":
		return []any{math.NaN(), math.Inf(1), math.Inf(-1), 0.0, -1.0, 1e300, -1e300, 5e-324}
	case "bool":
		return []any{true, false}
	case "string":
		return []any{"", "nonsense", "ij,jk->ik", "->", ",", "...", "left", "ij", "\x00\xff", "fro", "upper"}
	case "ints", "shape":
		return oddInts(good.([]int))
	case "dtype":
		list := []any{Dtype(99), Dtype(255)}
		for d := range dtypeNames {
			list = append(list, Dtype(d))
		}
		return list
	case "uint64":
		return []any{uint64(0), uint64(math.MaxUint64)}
	}
	panic("no nonsense for arguments of kind " + kind)
}

func freedArray() *Array {
	a := New([]float32{1})
	a.Free()
	return a
}

// oddArrays are variations of an array: ranks, sizes, types, values.
func oddArrays(a *Array) []any {
	list := []any{a.ExpandDims(0), a.ExpandDims(-1), a.ExpandDims(0, 1, 2), a.Flatten(0, -1), a.TakeFlat(New([]int{0})), Scalar(float32(2)),
		New([]float32{}), Zeros([]int{0, 0}, a.Dtype()), Zeros([]int{7}, a.Dtype()), Zeros([]int{2, 3}, a.Dtype()),
		Zeros([]int{1, 1, 1, 1, 1, 1, 1}, a.Dtype()), Zeros([]int{1 << 20, 1 << 20}, a.Dtype()), a.T()}
	shape := a.Shape()
	for axis := range shape {
		if shape[axis] > 0 {
			list = append(list, a.SliceAxis(axis, 0, shape[axis]-1), a.SliceAxis(axis, 0, 0))
		}
		list = append(list, Concatenate([]*Array{a, a}, axis))
	}
	for d := range dtypeNames {
		list = append(list, a.AsType(Dtype(d)))
	}
	for _, v := range []any{math.NaN(), math.Inf(-1), 1 << 30, -(1 << 30), 3, -3} {
		list = append(list, Full(shape, v, a.Dtype()))
	}
	for _, v := range list {
		// A failure later is then the operation's own.
		if odd := v.(*Array); odd.Size() < 1<<22 {
			_ = odd.Eval()
		}
	}
	return list
}

func oddLists(good []*Array) []any {
	list := []any{[]*Array(nil), []*Array{}, []*Array{nil}, []*Array{freedArray()}, []*Array{ErrorArray("earlier", errors.New("carried"))},
		append([]*Array{New([]float32{1, 2, 3})}, good...), []*Array{Scalar(float32(1)), Scalar(float32(1))}}
	if len(good) > 0 {
		list = append(list, good[1:], []*Array{good[0], good[0], good[0]}, append(append([]*Array{}, good...), nil))
		for _, odd := range oddArrays(good[0]) {
			list = append(list, append([]*Array{odd.(*Array)}, good[1:]...))
		}
	}
	return list
}

func oddInts(good []int) []any {
	list := []any{[]int(nil), []int{0}, []int{1}, []int{-1}, []int{-9}, []int{2}, []int{0, 0}, []int{1, 1}, []int{0, 1}, []int{-1, -1}, []int{100},
		[]int{3, 3, 3}, []int{math.MaxInt32}, []int{math.MaxInt32, math.MaxInt32}, []int{math.MinInt32}, []int{1 << 40}, []int{math.MinInt64},
		[]int{1 << 16, 1 << 16, 1 << 16}, make([]int, 40), append([]int{1}, good...)}
	for i := range good {
		list = append(list, good[:i])
		for _, v := range []int{-1, 0, 1, -100, 100, math.MaxInt32, math.MinInt32} {
			changed := append([]int{}, good...)
			changed[i] = v
			list = append(list, changed)
		}
	}
	return list
}
