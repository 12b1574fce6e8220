package mlx

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Eval computes arrays and waits for them. It returns the first error that one of them carries or
// that its computation meets. When a computation fails, the arrays asked for, all that was computed
// together with them and all that needs one of these carry the error from then on.
func Eval(arrays ...*Array) error {
	t, err := submit("eval", arrays, false)
	if t == nil {
		return err
	}
	wait(t)
	return settle(t, callSite)
}

// Eval computes the array and waits for it. See the function [Eval].
func (a *Array) Eval() error { return Eval(a) }

// AsyncEval starts the computation of arrays and does not wait for it. An error of the computation
// comes out when an array is used. Where arrays of an earlier AsyncEval are needed on another
// stream, that one is waited for first.
func AsyncEval(arrays ...*Array) error {
	t, err := submit("async_eval", arrays, true)
	if t == nil {
		return err
	}
	background.follow(t, capturePlace(1))
	return nil
}

// submit hands the arrays to MLX. Without a ticket there is nothing to wait for.
func submit(op string, arrays []*Array, async bool) (*C.mlxg_ticket, error) {
	for {
		var c call
		c.begin(op, Stream{})
		handles := make([]*C.mlxg_array, 0, 8)
		for _, a := range arrays {
			h := c.array(a)
			if h == nil {
				break
			}
			handles = append(handles, h)
		}
		if c.err != nil {
			c.unlock()
			return nil, c.err
		}
		s := C.mlxg_submit(unsafe.SliceData(handles), C.int(len(handles)), C.bool(async))
		if s.err.message != nil {
			c.native(s.err)
		}
		pressed := pressure.over(int64(s.active_bytes), int64(s.live_handles))
		c.unlock()
		if pressed {
			pressure.relieve()
		}
		if !s.again {
			return s.ticket, c.err
		}
		wait(s.ticket)
		_ = settle(s.ticket, callSite)
	}
}

// waiting bounds the number of OS threads that wait, as each goroutine that waits in C takes one.
var waiting = make(chan struct{}, 64)

func wait(t *C.mlxg_ticket) {
	// On a GPU a ticket may need that another one is waited for.
	if !hasGPU {
		waiting <- struct{}{}
		defer func() { <-waiting }()
	}
	C.mlxg_ticket_wait(t)
}

// settle gives the outcome of a ticket that was waited for.
func settle(t *C.mlxg_ticket, site func() string) error {
	enter()
	defer lock.Unlock()
	e := C.mlxg_ticket_settle(t)
	if e.message == nil {
		return nil
	}
	return failedComputation(e, site)
}

// background waits for what AsyncEval started, so that a failure is known without anybody asking.
var background follower

type follower struct {
	mu      sync.Mutex
	tickets []followed
	running bool
}

type followed struct {
	ticket *C.mlxg_ticket
	place  place
}

func (f *follower) follow(t *C.mlxg_ticket, p place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tickets = append(f.tickets, followed{t, p})
	if !f.running {
		f.running = true
		go f.run()
	}
}

func (f *follower) run() {
	for {
		f.mu.Lock()
		batch := f.tickets
		f.tickets = nil
		f.running = len(batch) > 0
		f.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, s := range batch {
			wait(s.ticket)
			_ = settle(s.ticket, s.place.String)
		}
	}
}

// pressure decides when so much native memory or so many handles are in use that the collector
// should look for dead arrays: a handle is tiny for Go, whatever hangs on it.
var pressure = memoryPressure{bytes: leastBytes, handles: leastHandles}

// Below these numbers the collector is left alone.
const (
	leastBytes   = 64 << 20
	leastHandles = 5_000
)

type memoryPressure struct {
	// Guarded by lock.
	bytes, handles int64     // the marks
	grown          int       // bytes that came without an evaluation since the last look
	quiet          time.Time // until then handles alone, whose memory is small, do not start the collector
	relieving      bool
}

// grew is over for memory that comes without an evaluation. It needs lock.
func (p *memoryPressure) grew(bytes int) bool {
	if p.grown += bytes; p.grown < leastBytes/4 {
		return false
	}
	p.grown = 0
	return p.over(int64(C.mlxg_memory(C.MLXG_ACTIVE)), int64(C.mlxg_live_handles()))
}

// over needs lock. After true, relieve must be called.
func (p *memoryPressure) over(bytes, handles int64) bool {
	if p.relieving || bytes <= p.bytes && (handles <= p.handles || time.Now().Before(p.quiet)) {
		return false
	}
	p.relieving = true
	return true
}

// relieve runs the collector, frees what it finds, and sets the next marks to twice what is really in use.
func (p *memoryPressure) relieve() {
	// Cleanups run on goroutines of the runtime after the collection. Wait until they have begun, which one more
	// tells, and then until they bring no more.
	begun := make(chan struct{})
	func() { runtime.AddCleanup(new([16]byte), func(ch chan struct{}) { close(ch) }, begun) }()
	start := time.Now()
	runtime.GC()
	took := time.Since(start)
	select {
	case <-begun:
	case <-time.After(100 * time.Millisecond):
	}
	for last, tries := int64(-1), 0; tries < 50; tries++ {
		enter()
		left := int64(C.mlxg_live_handles())
		lock.Unlock()
		if left == last {
			break
		}
		last = left
		time.Sleep(200 * time.Microsecond)
	}
	enter()
	defer lock.Unlock()
	p.bytes = max(leastBytes, 2*int64(C.mlxg_memory(C.MLXG_ACTIVE)))
	p.handles = max(leastHandles, 2*int64(C.mlxg_live_handles()))
	// A collection of a program with much in Go's heap takes its time.
	p.quiet = time.Now().Add(10 * max(0, took-10*time.Millisecond))
	p.relieving = false
}
