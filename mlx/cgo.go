package mlx

// #cgo CXXFLAGS: -std=c++20 -O2 -Wall
// #cgo LDFLAGS: -lmlx
// #cgo linux LDFLAGS: -ldl -lpthread
// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// lock guards every use of a handle and of MLX's graph. It is free while a Go function runs inside a transform.
var lock sync.Mutex

// The state below is guarded by lock.
var (
	started    bool
	startError error
	hasGPU     bool
)

var errShutdown = errors.New("mlx was shut down")

// enter takes the lock, starts MLX at the first call and gives back the handles that the
// collector found. On an error the lock is held too.
func enter() error {
	lock.Lock()
	if !started {
		started = true
		r := C.mlxg_start()
		startError = takeError(r.err)
		hasGPU = bool(r.gpu)
		compileMode = CompileNoFuse
		if hasGPU {
			compileMode = CompileEnabled
			defaultStream.Store(1)
		}
	}
	if abandoned.waiting.Load() {
		abandoned.drain()
	}
	return startError
}

// takeError turns a native error into a Go error and frees it.
func takeError(e C.mlxg_error) error {
	if e.message == nil {
		return nil
	}
	text := C.GoString(e.message)
	C.mlxg_error_free(e)
	return errors.New(text)
}

// abandoned holds the handles that the collector found unreachable, until the next call frees them.
var abandoned abandonedHandles

type abandonedHandles struct {
	mu      sync.Mutex
	handles []*C.mlxg_array
	lists   []*scopeList
	spare   []*C.mlxg_array // guarded by lock
	waiting atomic.Bool
}

func (q *abandonedHandles) put(h *C.mlxg_array) {
	q.mu.Lock()
	q.handles = append(q.handles, h)
	q.waiting.Store(true)
	q.mu.Unlock()
}

// putList takes a scope's list unread, as only the holder of lock may look into it.
func (q *abandonedHandles) putList(l *scopeList) {
	q.mu.Lock()
	q.lists = append(q.lists, l)
	q.waiting.Store(true)
	q.mu.Unlock()
}

// drain needs lock.
func (q *abandonedHandles) drain() {
	q.mu.Lock()
	batch, lists := q.handles, q.lists
	q.handles, q.lists = q.spare[:0], nil
	q.waiting.Store(false)
	q.mu.Unlock()
	freeHandles(batch)
	for _, l := range lists {
		freeHandles(l.take())
	}
	q.spare = batch[:0]
	if cap(q.spare) > 1<<16 {
		q.spare = nil
	}
	forgetReleasedFunctions()
}

// freeHandles needs lock.
func freeHandles(handles []*C.mlxg_array) {
	if len(handles) > 0 {
		C.mlxg_free_many(unsafe.SliceData(handles), C.int(len(handles)))
	}
}

// Shutdown waits for all work to end and stops the package: every later operation gives an error.
// Programs need not call it; a service that wants no work running when it exits does.
func Shutdown() error {
	err := enter()
	defer lock.Unlock()
	if err != nil {
		return err
	}
	err = takeError(C.mlxg_stop())
	startError = errShutdown
	return err
}

// Version is the version of libmlx that the program runs with.
func Version() string { return C.GoString(C.mlxg_library_version()) }

// BLAS is the file of the library that multiplies matrices on the CPU, or "" when it cannot be told.
// On Linux the one inside MLX's own wheel is slow; see cmd/mlxsetup for OpenBLAS.
func BLAS() string {
	enter()
	defer lock.Unlock()
	s := C.mlxg_blas_file()
	defer C.free(unsafe.Pointer(s))
	return C.GoString(s)
}

// SetBLASThreads sets how many threads OpenBLAS may use for one matrix product on the CPU; the
// package starts with one. More help while nothing else wants the cores: OpenBLAS's idle threads spin.
// Results for different numbers of threads differ in their last bits. It is false, and nothing
// happens, when the BLAS in use is not OpenBLAS.
func SetBLASThreads(n int) bool {
	enter()
	defer lock.Unlock()
	return n > 0 && bool(C.mlxg_set_blas_threads(C.int(n)))
}

func cString(s string) C.mlxg_string {
	return C.mlxg_string{data: (*C.char)(unsafe.Pointer(unsafe.StringData(s))), len: C.size_t(len(s))}
}

func pinString(p *runtime.Pinner, s string) C.mlxg_string {
	if len(s) > 0 {
		p.Pin(unsafe.StringData(s))
	}
	return cString(s)
}
