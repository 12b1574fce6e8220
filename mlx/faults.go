package mlx

// #include <stdlib.h>
// #include "shim.h"
import "C"

import "unsafe"

// The tests' way to operations that misbehave on purpose, to counters and to the same work in C++.

// Where a computation made by faulty throws.
const (
	inTask       = 0
	atSubmission = 1
)

// faulty is an array of a's shape whose computation throws.
func faulty(s Stream, a *Array, where int) *Array {
	var c call
	c.begin("faulty", s)
	h := c.array(a)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_test_throw(h, C.int(where), c.stream))
}

// slow is a copy of a whose computation takes at least so many milliseconds.
func slow(s Stream, a *Array, milliseconds int) *Array {
	var c call
	c.begin("slow", s)
	h := c.array(a)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_test_sleep(h, C.int(milliseconds), c.stream))
}

// gated is a copy of a whose computation waits until openGate is called.
func gated(s Stream, a *Array) (b *Array, openGate func()) {
	C.mlxg_test_gate(false)
	return slow(s, a, -1), func() { C.mlxg_test_gate(true) }
}

// nativeStreams is the number of streams that libmlx has made.
func nativeStreams() int {
	enter()
	defer lock.Unlock()
	return int(C.mlxg_stream_count())
}

// versionFault is what the package says when it was compiled with the headers of one version and runs with
// a library of another.
func versionFault(headers, library string) string {
	h, l := C.CString(headers), C.CString(library)
	defer C.free(unsafe.Pointer(h))
	defer C.free(unsafe.Pointer(l))
	text := C.mlxg_version_fault(h, l)
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

// nativeAdd is the time in nanoseconds of a loop of n additions written in C++, with or without evaluation.
func nativeAdd(a, b *Array, n int, evaluate bool) float64 {
	enter()
	defer lock.Unlock()
	return float64(C.mlxg_bench_add(a.handle, b.handle, C.int(n), C.bool(evaluate), C.int(defaultStream.Load())))
}

// nativeSgemm is the time in nanoseconds of one product of square matrices by the BLAS library alone.
func nativeSgemm(a, b, c []float32, size, n int) float64 {
	return float64(C.mlxg_bench_sgemm((*C.float)(&a[0]), (*C.float)(&b[0]), (*C.float)(&c[0]), C.int(size), C.int(n)))
}
