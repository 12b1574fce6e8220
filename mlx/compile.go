package mlx

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync/atomic"
)

// Compiled is a function whose graph is traced once for each combination of argument shapes and
// dtypes and then reused. What f reads besides its arguments is a constant of the trace.
type Compiled struct {
	state *compiledState
}

type compiledState struct {
	f         Func
	id        uintptr
	shapeless bool
	erased    atomic.Bool
	tracer    *worker // the thread that is at a call of it; used by that thread only
}

var compiledIDs atomic.Uint64

// Compile makes a compiled function. On a GPU chains of elementwise operations become one kernel;
// on the CPU the graph is only simplified and reused unless [SetCompileMode] asks for fusion.
func Compile(f Func) *Compiled { return newCompiled(f, false) }

// CompileShapeless is [Compile] with one trace for all shapes of the same number of axes. f must
// not depend on the sizes.
func CompileShapeless(f Func) *Compiled { return newCompiled(f, true) }

func newCompiled(f Func, shapeless bool) *Compiled {
	// MLX knows a compiled function by a number; one is never used twice.
	s := &compiledState{f: f, id: uintptr(compiledIDs.Add(1)), shapeless: shapeless}
	c := &Compiled{state: s}
	runtime.AddCleanup(c, func(s *compiledState) { go s.erase() }, s)
	return c
}

// Call runs the function. Inside another transform it is traced with it.
func (c *Compiled) Call(args ...*Array) ([]*Array, error) {
	s := c.state
	defer runtime.KeepAlive(c)
	if s.f == nil {
		return nil, &Error{Op: "compile", Message: "the function is nil", Site: callSite()}
	}
	if s.erased.Load() {
		return nil, &Error{Op: "compile", Message: "the compiled function is closed", Site: callSite()}
	}
	site := callSite()
	if w := currentWorker(); w != nil && (!w.compiles() || s.tracer == w) {
		return s.inline(args)
	} else if w != nil {
		return s.call(w, site, args)
	}
	for {
		w, err := compileWorker()
		var out []*Array
		var fault error
		if err == nil {
			err = w.run(func() { out, fault = s.call(w, site, args) })
		}
		if err == nil {
			return out, fault
		}
		if err != errWorkerGone {
			return nil, &Error{Op: "compile", Message: err.Error(), Site: site}
		}
	}
}

// call runs on the compiler's thread. MLX's entry for the function must stay while it is traced: neither may it be
// called again, nor erased.
func (s *compiledState) call(w *worker, site string, args []*Array) ([]*Array, error) {
	s.tracer = w
	out, err := callTransform("compile", site, s.f, func(c *call, fn C.uintptr_t) C.mlxg_results {
		a := c.arrays(args)
		if c.err != nil {
			return C.mlxg_results{}
		}
		return C.mlxg_compiled_call(fn, C.uintptr_t(s.id), C.bool(s.shapeless), a)
	})
	s.tracer = nil
	if s.erased.Load() {
		s.eraseHere()
	}
	return out, err
}

// inline runs the function inside of another trace, which records its operations.
func (s *compiledState) inline(args []*Array) ([]*Array, error) {
	out := s.f(args)
	for _, a := range out {
		if err := a.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Close forgets the traces now; the collector does it later otherwise. A later Call is an error.
func (c *Compiled) Close() { c.state.erase() }

func (s *compiledState) erase() {
	if s.erased.Swap(true) {
		return
	}
	compiler.mu.Lock()
	w := compiler.worker
	compiler.mu.Unlock()
	switch {
	case w == nil:
	case w != currentWorker():
		_ = w.run(s.eraseHere) // a worker that is gone has taken the traces along
	case s.tracer != w:
		s.eraseHere()
	}
}

func (s *compiledState) eraseHere() {
	enter()
	defer lock.Unlock()
	C.mlxg_compiled_erase(C.uintptr_t(s.id))
	forgetReleasedFunctions()
}

// CompileMode tells how far compiled functions go.
type CompileMode int

// The modes, from none to all.
const (
	CompileDisabled   CompileMode = iota // run the function anew each time
	CompileNoSimplify                    // keep the trace as it is
	CompileNoFuse                        // simplify it; the default without a GPU
	CompileEnabled                       // fuse elementwise chains; on the CPU this runs g++ while the program runs
)

// SetCompileMode sets the mode for the whole process.
func SetCompileMode(m CompileMode) error {
	err := enter()
	defer lock.Unlock()
	if err != nil {
		return err
	}
	if m < CompileDisabled || m > CompileEnabled {
		return &Error{Op: "set_compile_mode", Message: "unknown mode", Site: callSite()}
	}
	C.mlxg_set_compile_mode(C.int(m))
	compileMode = m
	return nil
}

// compileMode is guarded by lock.
var compileMode CompileMode

// CurrentCompileMode is the mode of the process.
func CurrentCompileMode() CompileMode {
	enter()
	defer lock.Unlock()
	return compileMode
}
