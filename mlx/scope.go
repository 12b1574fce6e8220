package mlx

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync/atomic"
)

// Scope owns arrays: those given to [Scope.Own] and all that is computed from them. Close gives
// them back together. When arrays of several scopes meet in one operation, the result belongs to
// the scope that was made last. Scopes may be used from any goroutine and need not be closed in order.
type Scope struct {
	order  uint64
	closed bool // guarded by lock
	list   *scopeList
}

// scopeList is apart from the scope, so that the scope's cleanup does not keep the scope alive.
type scopeList struct {
	handles []*C.mlxg_array
}

func (l *scopeList) add(h *C.mlxg_array) int {
	l.handles = append(l.handles, h)
	return len(l.handles) - 1
}

func (l *scopeList) remove(slot int) { l.handles[slot] = nil }

func (l *scopeList) take() []*C.mlxg_array {
	alive := l.handles[:0]
	for _, h := range l.handles {
		if h != nil {
			alive = append(alive, h)
		}
	}
	l.handles = nil
	return alive
}

var scopes atomic.Uint64

// NewScope makes an empty scope. One that is never closed is given back by the collector.
func NewScope() *Scope {
	s := &Scope{order: scopes.Add(1), list: &scopeList{}}
	runtime.AddCleanup(s, func(l *scopeList) { abandoned.putList(l) }, s.list)
	return s
}

func (s *Scope) isClosed() bool { return s != nil && s.closed }

// Own returns an array with the same elements that belongs to the scope; a itself stays where it is.
func (s *Scope) Own(a *Array) *Array {
	return retain("own", a, s)
}

// Keep returns an array with the same elements that belongs to no scope and outlives this one.
func (s *Scope) Keep(a *Array) *Array { return Keep(a) }

// Keep returns an array with the same elements that belongs to no scope. Parameters, optimiser
// state and a state that is carried to the next step need it when they were computed from scoped arrays.
func Keep(a *Array) *Array {
	return retain("keep", a, nil)
}

func retain(op string, a *Array, scope *Scope) *Array {
	var c call
	c.begin(op, Stream{})
	if scope.isClosed() {
		c.fail("the scope is closed")
	}
	h := c.array(a)
	if c.err != nil {
		return c.broken()
	}
	c.scope = scope
	return c.end(C.mlxg_retain(h))
}

// Close gives all arrays of the scope back. Their later use is an error. Close may be called again.
func (s *Scope) Close() {
	if s == nil {
		return
	}
	enter()
	defer lock.Unlock()
	s.close()
}

// close needs lock.
func (s *Scope) close() {
	if s.closed {
		return
	}
	s.closed = true
	freeHandles(s.list.take())
}
