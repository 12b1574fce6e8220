package mlx

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
)

// Transforms run on OS threads of their own with a large stack: MLX keeps tracing state and
// compiled functions per thread, and its reverse pass recurses as deep as the graph is long.

type worker struct {
	id   uintptr
	jobs chan job
	gone chan struct{} // closed by abandon
	now  job           // what the thread is at; used by the thread only
}

type job struct {
	run  func()
	done chan error
}

var workers struct {
	mu   sync.Mutex
	all  []*worker
	idle []*worker
}

// compiler is the worker that holds all compiled functions.
var compiler struct {
	mu     sync.Mutex
	worker *worker
}

var (
	errWorkerGone = errors.New("the thread for transforms is gone")
	errGoexit     = errors.New("the function called runtime.Goexit, as testing's FailNow does, and did not return")
)

//export mlxgo_worker
func mlxgo_worker(id C.uintptr_t) {
	workers.mu.Lock()
	w := workers.all[id]
	workers.mu.Unlock()
	for j := range w.jobs {
		w.now = j
		j.run()
		w.now = job{} // an idle worker keeps no arrays alive
		j.done <- nil
	}
}

func newWorker() (*worker, error) {
	workers.mu.Lock()
	w := &worker{id: uintptr(len(workers.all)), jobs: make(chan job), gone: make(chan struct{})}
	workers.all = append(workers.all, w)
	workers.mu.Unlock()
	if code := C.mlxg_start_worker(C.uintptr_t(w.id)); code != 0 {
		return nil, fmt.Errorf("cannot start a thread for transforms (error %d)", int(code))
	}
	return w, nil
}

// currentWorker is the worker whose thread this is, nil on any other thread.
func currentWorker() *worker {
	id := C.mlxg_current_worker()
	if id == 0 {
		return nil
	}
	workers.mu.Lock()
	defer workers.mu.Unlock()
	return workers.all[id-1]
}

// onWorker runs f on a worker's thread and waits. Called from a worker, it runs f right there.
func onWorker(f func()) error {
	if currentWorker() != nil {
		f()
		return nil
	}
	workers.mu.Lock()
	var w *worker
	if n := len(workers.idle); n > 0 {
		w = workers.idle[n-1]
		workers.idle = workers.idle[:n-1]
	}
	workers.mu.Unlock()
	if w == nil {
		var err error
		if w, err = newWorker(); err != nil {
			return err
		}
	}
	if err := w.run(f); err != nil {
		return err
	}
	workers.mu.Lock()
	workers.idle = append(workers.idle, w)
	workers.mu.Unlock()
	return nil
}

// run gives f to the worker and waits. After an error other than errWorkerGone f is stuck for ever.
func (w *worker) run(f func()) error {
	done := make(chan error, 1)
	select {
	case w.jobs <- job{f, done}:
		return <-done
	case <-w.gone:
		return errWorkerGone
	}
}

// abandon gives the worker's thread up, for a function that left it by runtime.Goexit: C++ frames lie below it
// that Go cannot unwind. Who waits for the job gets err; the thread and what those frames hold are lost.
func (w *worker) abandon(err error) {
	compiler.mu.Lock()
	if compiler.worker == w {
		compiler.worker = nil
	}
	compiler.mu.Unlock()
	close(w.gone)
	w.now.done <- err
	select {}
}

// compileWorker starts the compiler's worker at its first use.
func compileWorker() (*worker, error) {
	compiler.mu.Lock()
	defer compiler.mu.Unlock()
	if compiler.worker == nil {
		w, err := newWorker()
		if err != nil {
			return nil, err
		}
		compiler.worker = w
	}
	return compiler.worker, nil
}

// compiles tells whether the worker is the one that holds the compiled functions.
func (w *worker) compiles() bool {
	compiler.mu.Lock()
	defer compiler.mu.Unlock()
	return compiler.worker == w
}
