package mlx

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// Array is an immutable n-dimensional array, or an error. See the package's documentation for
// errors, memory and use from several goroutines. The zero value carries an error.
type Array struct {
	// All fields are guarded by lock.
	handle  *C.mlxg_array
	err     error
	scope   *Scope
	slot    int // in the scope's list
	cleanup runtime.Cleanup
}

var (
	errFreed       = errors.New("the array was freed")
	errScopeClosed = errors.New("the array belongs to a closed scope (use Keep, or return it as a result of the function)")
	errEmptyArray  = errors.New("the array was not made by this package")
)

// newArray owns h. It needs lock.
func newArray(h *C.mlxg_array, scope *Scope) *Array {
	a := &Array{handle: h, scope: scope}
	if scope != nil && !scope.closed {
		a.slot = scope.list.add(h)
	} else {
		a.scope = nil
		a.cleanup = runtime.AddCleanup(a, func(h *C.mlxg_array) { abandoned.put(h) }, h)
	}
	return a
}

// fault says why the array cannot be used. It needs lock.
func (a *Array) fault(op string) error {
	switch {
	case a.err == errFreed || a.err == errEmptyArray:
		return &Error{Op: op, Message: a.err.Error(), Site: callSite()}
	case a.err != nil:
		return a.err
	case a.scope.isClosed():
		return &Error{Op: op, Message: errScopeClosed.Error(), Site: callSite()}
	case a.handle == nil:
		return &Error{Op: op, Message: errEmptyArray.Error(), Site: callSite()}
	}
	if e := C.mlxg_failure(a.handle); e.message != nil {
		a.err = failedComputation(e, callSite)
		return a.err
	}
	return nil
}

// Err is the error that the array carries, nil for a good array. It does not evaluate, so a
// fault that shows itself only in the computation is not seen before [Array.Eval].
func (a *Array) Err() error {
	if a == nil {
		return &Error{Op: "err", Message: "the array is nil", Site: callSite()}
	}
	enter()
	defer lock.Unlock()
	return a.fault("err")
}

// Free gives the array's memory back now, unless other arrays still need it. A later use is an error.
func (a *Array) Free() {
	if a == nil {
		return
	}
	enter()
	defer lock.Unlock()
	a.free()
	if a.err == nil {
		a.err = errFreed
	}
}

// free needs lock.
func (a *Array) free() {
	if a.handle == nil {
		return
	}
	h := a.handle
	a.handle = nil
	if a.scope != nil {
		if a.scope.closed {
			return
		}
		a.scope.list.remove(a.slot)
	} else {
		a.cleanup.Stop()
	}
	C.mlxg_free_many(&h, 1)
}

// describe needs lock and a handle.
func (a *Array) describe() (Dtype, []int) {
	d := C.mlxg_describe(a.handle)
	n := int(d.ndim)
	shape := make([]int, n)
	if n <= len(d.shape) {
		for i := range shape {
			shape[i] = int(d.shape[i])
		}
	} else {
		sizes := make([]int32, n)
		C.mlxg_shape(a.handle, (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(sizes))))
		for i, v := range sizes {
			shape[i] = int(v)
		}
	}
	return Dtype(d.dtype), shape
}

// info is the description of a usable array.
func (a *Array) info(op string) (d C.mlxg_description, ok bool) {
	if a == nil {
		return d, false
	}
	enter()
	defer lock.Unlock()
	if a.handle == nil || a.scope.isClosed() {
		return d, false
	}
	return C.mlxg_describe(a.handle), true
}

// Shape is the size of each axis, nil for an array that carries an error. It does not evaluate.
func (a *Array) Shape() []int {
	if a == nil {
		return nil
	}
	enter()
	defer lock.Unlock()
	if a.handle == nil || a.scope.isClosed() {
		return nil
	}
	_, shape := a.describe()
	return shape
}

// Dim is the size of an axis; a negative axis counts from the end. It is 0 when there is no such axis.
func (a *Array) Dim(axis int) int {
	shape := a.Shape()
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) {
		return 0
	}
	return shape[axis]
}

// NDim is the number of axes, 0 for an array that carries an error.
func (a *Array) NDim() int {
	d, _ := a.info("ndim")
	return int(d.ndim)
}

// Size is the number of elements, 0 for an array that carries an error.
func (a *Array) Size() int {
	d, _ := a.info("size")
	return int(d.size)
}

// Nbytes is the number of bytes of all elements.
func (a *Array) Nbytes() int { return a.Size() * a.Dtype().Size() }

// Dtype is the type of the elements; Bool for an array that carries an error.
func (a *Array) Dtype() Dtype {
	d, _ := a.info("dtype")
	return Dtype(d.dtype)
}

// IsTracer tells whether the array is an argument of a function that is being transformed, or computed from one.
func (a *Array) IsTracer() bool {
	if a == nil {
		return false
	}
	enter()
	defer lock.Unlock()
	return a.handle != nil && !a.scope.isClosed() && bool(C.mlxg_is_tracer(a.handle))
}

func countElements(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("a size is negative")
		}
		if d > math.MaxInt32 {
			return 0, fmt.Errorf("a size is over the limit of %d", math.MaxInt32)
		}
		if d != 0 && n > (1<<46)/d {
			return 0, fmt.Errorf("too many elements")
		}
		n *= d
	}
	return n, nil
}
