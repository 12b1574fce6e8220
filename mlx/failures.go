package mlx

// #include "shim.h"
import "C"

import (
	"errors"
	"strings"
	"sync"
)

// computations has the errors of the latest failed computations, by their numbers, so that all arrays
// that one of them spoiled carry the same error. It is guarded by lock.
var computations = map[uint64]*Error{}

// failedComputation gives the error of a failed computation and frees e. It needs lock.
func failedComputation(e C.mlxg_error, site func() string) error {
	number := uint64(e.failure)
	text := takeError(e).Error()
	if known := computations[number]; known != nil {
		return known
	}
	op, message := splitMessage(text)
	op, _, _ = strings.Cut(op, "::eval_")
	err := &Error{Op: "eval", Message: message, Site: site()}
	if op == "Checked" { // checks.cpp names the operation
		err.Op, err.Message, _ = strings.Cut(message, ": ")
	} else if op != "" {
		err.Message = op + ": " + message
	}
	const kept = 256
	computations[number] = err
	delete(computations, number-kept)
	return err
}

// failures keeps the Go errors that crossed native code as text, so that errors.Is and errors.As
// work on what a transform returns.
var failures failedCalls

type failedCalls struct {
	mu   sync.Mutex
	last []error
}

func (f *failedCalls) put(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	const kept = 64
	if len(f.last) == kept {
		copy(f.last, f.last[1:])
		f.last = f.last[:kept-1]
	}
	f.last = append(f.last, err)
}

// take gives the original of err, or err itself.
func (f *failedCalls) take(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.last) - 1; i >= 0; i-- {
		if original := f.last[i]; original.Error() == err.Error() {
			f.last = append(f.last[:i], f.last[i+1:]...)
			return original
		}
	}
	return err
}

// transformError makes err an *Error. A worker's own stack does not show the line of the program.
func transformError(op, site string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Op: op, Message: err.Error(), Site: site, cause: err}
	}
	if e.Site == "" {
		e.Site = site
	}
	return err
}
