package mlx

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// New makes an array of data in row-major order; the data is copied. Without a shape the array
// has one axis. A count that does not fit the shape gives an array that carries the error.
// []int becomes Int32, and a value beyond its range is an error; use []int64 for larger ones.
func New[T Element](data []T, shape ...int) *Array {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	return fromSlice("new", data, shape)
}

// Scalar makes an array without axes.
func Scalar[T Element](v T) *Array {
	return fromSlice("scalar", []T{v}, nil)
}

func fromSlice[T Element](op string, data []T, shape []int) *Array {
	var c call
	c.begin(op, Stream{})
	dims := c.shape("shape", shape)
	if n, _ := countElements(shape); c.err == nil && n != len(data) {
		c.fail("%d values do not fill shape %v, which has %d", len(data), shape, n)
	}
	var src unsafe.Pointer
	if ints, ok := any(data).([]int); ok {
		narrow := make([]int32, len(ints))
		for i, v := range ints {
			if v > math.MaxInt32 || v < math.MinInt32 {
				c.fail("value %d does not fit in int32; use []int64", v)
				break
			}
			narrow[i] = int32(v)
		}
		src = unsafe.Pointer(unsafe.SliceData(narrow))
	} else {
		src = unsafe.Pointer(unsafe.SliceData(data))
	}
	if c.err != nil {
		return c.broken()
	}
	d := dtypeOf[T]()
	r := C.mlxg_from_data(src, dims, C.int(d))
	pressed := pressure.grew(len(data) * d.Size())
	a := c.end(r)
	if pressed {
		pressure.relieve()
	}
	return a
}

// Values evaluates the array and copies its elements out in row-major order, whatever its strides.
// T must be the Go type of the array's dtype; int reads Int32 and Int64.
func Values[T Element](a *Array) ([]T, error) {
	return values[T]("values", a)
}

func values[T Element](op string, a *Array) ([]T, error) {
	d := a.Dtype()
	if err := a.Err(); err != nil {
		return nil, err
	}
	want := dtypeOf[T]()
	var zero T
	_, isInt := any(zero).(int)
	if d != want && !(isInt && d == Int64) {
		return nil, &Error{Op: op, Message: "the array has dtype " + d.String() + " and cannot be read as " + want.String() +
			"; use AsType first", Site: callSite()}
	}
	if !isInt {
		out := make([]T, a.Size())
		err := read(op, a, unsafe.Pointer(unsafe.SliceData(out)), len(out)*d.Size())
		if err != nil {
			return nil, err
		}
		return out, nil
	}
	if d == Int64 {
		wide, err := values[int64](op, a)
		return widen[T](wide), err
	}
	narrow, err := values[int32](op, a)
	return widen[T](narrow), err
}

func widen[T Element, S int32 | int64](from []S) []T {
	if from == nil {
		return nil
	}
	out := make([]int, len(from))
	for i, v := range from {
		out[i] = int(v)
	}
	return any(out).([]T)
}

// Item evaluates an array of one element, of any number of axes, and returns the element.
func Item[T Element](a *Array) (T, error) {
	var zero T
	if err := a.Err(); err != nil {
		return zero, err
	}
	if a.Size() != 1 {
		d, shape := a.Dtype(), a.Shape()
		return zero, &Error{Op: "item", Message: "one element is expected; given " + d.String() + fmt.Sprint(shape), Site: callSite()}
	}
	v, err := values[T]("item", a)
	if err != nil {
		return zero, err
	}
	return v[0], nil
}

// read copies the evaluated elements of a to dst. Large copies run outside of the lock, on a handle of their own.
func read(op string, a *Array, dst unsafe.Pointer, bytes int) error {
	if err := a.Eval(); err != nil {
		return err
	}
	enter()
	if err := a.fault(op); err != nil {
		lock.Unlock()
		return err
	}
	const copiedUnderLock = 64 << 10
	if bytes <= copiedUnderLock {
		defer lock.Unlock()
		return readError(op, C.mlxg_read(a.handle, dst, C.size_t(bytes)))
	}
	own := C.mlxg_retain(a.handle)
	lock.Unlock()
	if own.err.message != nil {
		return readError(op, own.err)
	}
	err := readError(op, C.mlxg_read(own.out, dst, C.size_t(bytes)))
	enter()
	freeHandles([]*C.mlxg_array{own.out})
	lock.Unlock()
	return err
}

func readError(op string, e C.mlxg_error) error {
	err := takeError(e)
	if err == nil {
		return nil
	}
	return &Error{Op: op, Message: tidyMessage(err.Error()), Site: callSite()}
}
