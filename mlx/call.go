package mlx

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"
)

// Error is a fault of an operation.
type Error struct {
	Op      string // the operation, for example "matmul"
	Message string // what was given and what was expected
	Site    string // file:line of the call outside this module's packages, "" when unknown
	cause   error
}

// Unwrap is the error that the program itself gave, by [ErrorArray] or a panic, nil for others.
func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Error() string {
	s := e.Op + ": " + e.Message
	if e.Site != "" {
		s += " (" + e.Site + ")"
	}
	return s
}

// call is one operation in the making: it holds the lock from begin to end, collects the
// arguments in native form, the scope of the result and the first fault.
type call struct {
	op     string
	stream C.int
	scope  *Scope
	err    error
	ins    [4]*Array
	n      int
	held   bool
	small  [24]int32
	used   int
}

func (c *call) begin(op string, stream Stream) {
	c.op = op
	if err := enter(); err != nil {
		c.err = &Error{Op: op, Message: err.Error(), Site: callSite()}
	}
	c.held = true
	c.stream = C.int(stream.resolve())
}

func (c *call) unlock() {
	if c.held {
		c.held = false
		lock.Unlock()
	}
}

func (c *call) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Op: c.op, Message: fmt.Sprintf(format, args...), Site: callSite()}
	}
}

// array gives the native handle of a, or records why it cannot be used.
func (c *call) array(a *Array) *C.mlxg_array {
	if a == nil {
		c.fail("the array is nil")
		return nil
	}
	if c.n < len(c.ins) {
		c.ins[c.n] = a
		c.n++
	}
	if a.handle == nil || a.scope.isClosed() {
		if c.err == nil {
			c.err = a.fault(c.op)
		}
		return nil
	}
	if a.scope != nil && (c.scope == nil || a.scope.order > c.scope.order) {
		c.scope = a.scope
	}
	return a.handle
}

func (c *call) optional(a *Array) *C.mlxg_array {
	if a == nil {
		return nil
	}
	return c.array(a)
}

func (c *call) arrays(list []*Array) C.mlxg_arrays {
	if len(list) == 0 {
		return C.mlxg_arrays{}
	}
	handles := make([]*C.mlxg_array, len(list))
	for i, a := range list {
		handles[i] = c.array(a)
	}
	return C.mlxg_arrays{data: unsafe.SliceData(handles), len: C.int(len(handles))}
}

func (c *call) int(name string, v int) C.int {
	if v > math.MaxInt32 || v < math.MinInt32 {
		c.fail("%s is %d, which does not fit in 32 bits", name, v)
		return 0
	}
	return C.int(v)
}

func (c *call) ints(name string, v []int) C.mlxg_ints {
	if len(v) == 0 {
		return C.mlxg_ints{}
	}
	var dst []int32
	if c.used+len(v) <= len(c.small) {
		dst = c.small[c.used : c.used+len(v)]
		c.used += len(v)
	} else {
		dst = make([]int32, len(v))
	}
	for i, x := range v {
		if x > math.MaxInt32 || x < math.MinInt32 {
			c.fail("%s has %d, which does not fit in 32 bits", name, x)
			return C.mlxg_ints{}
		}
		dst[i] = int32(x)
	}
	return C.mlxg_ints{data: (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(dst))), len: C.int(len(dst))}
}

// shape is ints that must be a valid shape: no negative size, and a count of elements that fits in memory.
func (c *call) shape(name string, v []int) C.mlxg_ints {
	if _, err := countElements(v); err != nil {
		c.fail("%s %v: %v", name, v, err)
		return C.mlxg_ints{}
	}
	return c.ints(name, v)
}

func (c *call) dtype(d Dtype) C.int {
	if !d.valid() {
		c.fail("unknown dtype %d", d)
		return 0
	}
	return C.int(d)
}

func (c *call) optionalDtype(d *Dtype) C.int {
	if d == nil {
		return -1
	}
	return c.dtype(*d)
}

// operand is an *Array or a Go scalar. nil is a missing operand.
func (c *call) operand(name string, v any) C.mlxg_operand {
	switch x := v.(type) {
	case nil:
		return C.mlxg_operand{kind: C.MLXG_NONE}
	case *Array:
		if x == nil {
			c.fail("%s is a nil array", name)
			return C.mlxg_operand{kind: C.MLXG_NONE}
		}
		return C.mlxg_operand{kind: C.MLXG_ARRAY, array: c.array(x)}
	case float64:
		return C.mlxg_operand{kind: C.MLXG_FLOAT, re: C.double(x)}
	case float32:
		return C.mlxg_operand{kind: C.MLXG_FLOAT, re: C.double(x)}
	case int:
		return intOperand(int64(x))
	case int8:
		return intOperand(int64(x))
	case int16:
		return intOperand(int64(x))
	case int32:
		return intOperand(int64(x))
	case int64:
		return intOperand(x)
	case uint8:
		return intOperand(int64(x))
	case uint16:
		return intOperand(int64(x))
	case uint32:
		return intOperand(int64(x))
	case uint64:
		if x > math.MaxInt64 {
			c.fail("%s is %d, too large for a scalar: use mlx.Scalar", name, x)
		}
		return intOperand(int64(x))
	case uint:
		if uint64(x) > math.MaxInt64 {
			c.fail("%s is %d, too large for a scalar: use mlx.Scalar", name, x)
		}
		return intOperand(int64(x))
	case bool:
		o := C.mlxg_operand{kind: C.MLXG_BOOL}
		if x {
			o.i = 1
		}
		return o
	case F16:
		return C.mlxg_operand{kind: C.MLXG_FLOAT, re: C.double(x.Float32())}
	case BF16:
		return C.mlxg_operand{kind: C.MLXG_FLOAT, re: C.double(x.Float32())}
	case complex64:
		return C.mlxg_operand{kind: C.MLXG_COMPLEX, re: C.double(real(x)), im: C.double(imag(x))}
	case complex128:
		return C.mlxg_operand{kind: C.MLXG_COMPLEX, re: C.double(real(x)), im: C.double(imag(x))}
	}
	c.fail("%s has type %T; expected *mlx.Array or a number", name, v)
	return C.mlxg_operand{kind: C.MLXG_NONE}
}

func intOperand(v int64) C.mlxg_operand {
	return C.mlxg_operand{kind: C.MLXG_INT, i: C.int64_t(v)}
}

// broken ends a call whose arguments were not usable.
func (c *call) broken() *Array {
	c.unlock()
	return &Array{err: c.err}
}

func (c *call) end(r C.mlxg_result) *Array {
	if r.err.message != nil {
		c.native(r.err)
		return c.broken()
	}
	a := newArray(r.out, c.scope)
	c.unlock()
	return a
}

// endMany ends a call of several results that went well.
func (c *call) endMany(r C.mlxg_results) []*Array {
	out := takeArrays(r, c.scope)
	c.unlock()
	return out
}

// brokenMany ends a failed call of n results: each carries the error. There is at least one, and no more than memory holds
// when n itself is nonsense.
func (c *call) brokenMany(n int) []*Array {
	c.unlock()
	const most = 1 << 20
	if n > most {
		n = 1
	}
	out := make([]*Array, max(n, 1))
	for i := range out {
		out[i] = &Array{err: c.err}
	}
	return out
}

// takeArrays needs lock.
func takeArrays(r C.mlxg_results, scope *Scope) []*Array {
	handles := make([]*C.mlxg_array, int(r.n))
	C.mlxg_vec_take(r.out, unsafe.SliceData(handles))
	out := make([]*Array, len(handles))
	for i, h := range handles {
		out[i] = newArray(h, scope)
	}
	return out
}

// native records a fault of libmlx. It needs lock.
func (c *call) native(e C.mlxg_error) {
	if e.failure != 0 {
		c.err = failedComputation(e, callSite)
		return
	}
	carried := bool(e.carried)
	err := takeError(e)
	if carried {
		c.err = err
		return
	}
	c.err = &Error{Op: c.op, Message: tidyMessage(err.Error()) + c.describeInputs(), Site: callSite()}
}

// tidyMessage drops MLX's "[operation] " in front and the line end behind.
func tidyMessage(s string) string {
	_, s = splitMessage(s)
	return s
}

// splitMessage takes MLX's "[operation] message" apart.
func splitMessage(s string) (op, message string) {
	if strings.HasPrefix(s, "[") {
		if i := strings.Index(s, "] "); i > 0 {
			op, s = s[1:i], s[i+2:]
		}
	}
	return op, strings.TrimRight(s, ". \n")
}

func (c *call) describeInputs() string {
	var b strings.Builder
	for i, a := range c.ins[:c.n] {
		if i == 0 {
			b.WriteString("; given ")
		} else {
			b.WriteString(", ")
		}
		if a.handle == nil || a.scope.isClosed() {
			b.WriteString("a failed array")
			continue
		}
		d, shape := a.describe()
		fmt.Fprintf(&b, "%v%v", d, shape)
	}
	return b.String()
}

const modulePath = "github.com/mpsrnn/mpsrnn/"

// place is where a goroutine was, cheaper to take than to name.
type place struct {
	pcs [32]uintptr
	n   int
}

// capturePlace leaves out skip callers besides itself.
func capturePlace(skip int) (p place) {
	p.n = runtime.Callers(skip+2, p.pcs[:])
	return p
}

// String is the line of the program that called into this module's library packages, "" when unknown.
// A test of theirs counts as the program.
func (p place) String() string {
	if p.n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(p.pcs[:p.n])
	for {
		f, more := frames.Next()
		// A worker's stack ends in frames of cgo and the runtime.
		inside := strings.HasPrefix(f.Function, modulePath+"mlx.") || strings.HasPrefix(f.Function, modulePath+"mlx/") ||
			strings.HasPrefix(f.Function, modulePath+"rnn") || strings.HasPrefix(f.Function, "runtime.") ||
			strings.HasPrefix(f.Function, "_cgo")
		if f.File != "" && (!inside || strings.HasSuffix(f.File, "_test.go")) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

func callSite() string { return capturePlace(1).String() }

// ErrorArray is an array that carries err, for layers that find a fault themselves. op names the
// operation or layer; an err that is nil counts as a fault of the caller.
func ErrorArray(op string, err error) *Array {
	if err == nil {
		err = errors.New("ErrorArray was given no error")
	}
	var known *Error
	if errors.As(err, &known) {
		return &Array{err: err}
	}
	return &Array{err: &Error{Op: op, Message: err.Error(), Site: callSite(), cause: err}}
}
