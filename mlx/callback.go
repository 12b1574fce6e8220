package mlx

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"unsafe"
)

// Func is a function of arrays that a transform can trace. It may use other arrays as constants.
// A result that carries an error makes the transform fail with that error; a panic becomes an error,
// and so does runtime.Goexit (testing's FailNow), which costs a thread and what the transform holds.
//
// Arrays that f computes from its arguments belong to a scope of the call that is closed when f
// returns: return what is needed later, or Keep it. f must not hand its arguments to other goroutines.
type Func func(args []*Array) []*Array

// VJPFunc gives the gradients of the primals from those of the outputs (the cotangents).
type VJPFunc func(primals, cotangents, outputs []*Array) []*Array

// functions resolves the numbers by which native code knows Go functions.
var functions struct {
	mu   sync.Mutex
	next uintptr
	live map[uintptr]any
}

func registerFunction(f any) C.uintptr_t {
	functions.mu.Lock()
	defer functions.mu.Unlock()
	if functions.live == nil {
		functions.live = map[uintptr]any{}
	}
	functions.next++
	functions.live[functions.next] = f
	return C.uintptr_t(functions.next)
}

// liveFunctions is the number of Go functions that native graphs still refer to.
func liveFunctions() int {
	enter()
	defer lock.Unlock()
	forgetReleasedFunctions()
	functions.mu.Lock()
	defer functions.mu.Unlock()
	return len(functions.live)
}

// forgetReleasedFunctions drops the functions that no native graph needs any more.
func forgetReleasedFunctions() {
	var ids [64]C.uintptr_t
	for {
		n := int(C.mlxg_released_functions(&ids[0], C.int(len(ids))))
		if n == 0 {
			return
		}
		functions.mu.Lock()
		for _, id := range ids[:n] {
			delete(functions.live, uintptr(id))
		}
		functions.mu.Unlock()
	}
}

// mlxgo_call runs a Go function for native code, which holds the lock through the Go function
// that called it. The lock is free while the function runs.
//
//export mlxgo_call
func mlxgo_call(id C.uintptr_t, kind C.int, handles **C.mlxg_array, n, nPrimals, nCotangents C.int, out *C.mlxg_vec, message **C.char) C.int {
	functions.mu.Lock()
	f := functions.live[uintptr(id)]
	functions.mu.Unlock()
	scope := NewScope()
	args := make([]*Array, int(n))
	for i, h := range unsafe.Slice(handles, int(n)) {
		args[i] = newArray(h, scope)
	}
	lock.Unlock()
	results, err := runProtected(f, kind, args, int(nPrimals), int(nCotangents), scope)
	enter()
	if err == nil {
		err = checkResults(kind, results, args[:nPrimals])
	}
	if err == nil {
		for _, r := range results {
			C.mlxg_vec_push(out, r.handle)
		}
	}
	scope.close()
	if err != nil {
		*message = C.CString(err.Error())
		failures.put(err)
		return 1
	}
	return 0
}

// checkResults finds what MLX would take badly. It needs lock.
func checkResults(kind C.int, results, primals []*Array) error {
	if len(results) == 0 {
		return errors.New("the function returned no arrays")
	}
	if kind == C.MLXG_CALL_VJP && len(results) != len(primals) {
		return fmt.Errorf("the gradient function returned %d arrays; expected %d, one for each argument", len(results), len(primals))
	}
	for i, r := range results {
		if r == nil {
			return fmt.Errorf("result %d of the function is nil", i)
		}
		if err := r.fault("result of the function"); err != nil {
			return err
		}
		if kind == C.MLXG_CALL_VJP && !primals[i].scope.isClosed() && primals[i].handle != nil {
			_, got := r.describe()
			if _, want := primals[i].describe(); !slices.Equal(got, want) {
				return fmt.Errorf("gradient %d has shape %v; expected %v, that of the argument", i, got, want)
			}
		}
	}
	return nil
}

func runProtected(f any, kind C.int, args []*Array, nPrimals, nCotangents int, scope *Scope) (results []*Array, err error) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		} else if !returned {
			scope.Close()
			currentWorker().abandon(errGoexit)
		}
	}()
	switch f := f.(type) {
	case Func:
		results = f(args)
	case VJPFunc:
		results = f(args[:nPrimals], args[nPrimals:nPrimals+nCotangents], args[nPrimals+nCotangents:])
	default:
		err = errors.New("the function is no longer known")
	}
	returned = true
	return results, err
}

func panicError(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("the function panicked: %w\n%s", err, debug.Stack())
	}
	return fmt.Errorf("the function panicked: %v\n%s", p, debug.Stack())
}
