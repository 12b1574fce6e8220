package mlx

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Device is a kind of processor that computes.
type Device uint8

// The devices. GPU is Apple's (Metal) or NVIDIA's (CUDA), where libmlx has it.
const (
	CPU Device = iota
	GPU
)

func (d Device) String() string {
	if d == GPU {
		return "gpu"
	}
	return "cpu"
}

// Stream is a queue of work on a device: what one stream is given runs in order. The zero value
// stands for the default device's stream.
type Stream struct {
	index int32 // 1 + the shim's index; 0: the default
}

// defaultStream is the shim's index of the default device's stream.
var defaultStream atomic.Int32

func (s Stream) resolve() int32 {
	if s.index == 0 {
		return defaultStream.Load()
	}
	return s.index - 1
}

// Ops is the set of all operations on one stream. The zero value uses the default stream.
type Ops struct {
	stream Stream
}

// On gives the operations on stream s: mlx.On(s).MatMul(a, b) is a.MatMul(b) computed there.
func On(s Stream) Ops { return Ops{stream: s} }

// DefaultStream is the stream of the default device.
func DefaultStream() Stream {
	enter()
	defer lock.Unlock()
	return Stream{index: defaultStream.Load() + 1}
}

// DeviceStream is the device's own stream; an error when the machine has no such device.
func DeviceStream(d Device) (Stream, error) {
	err := enter()
	defer lock.Unlock()
	if err != nil {
		return Stream{}, err
	}
	if d == GPU && !hasGPU {
		return Stream{}, fmt.Errorf("stream: no GPU that MLX can use on this machine")
	}
	return Stream{index: int32(d) + 1}, nil
}

// NewStream makes one more stream. A stream lives until the program ends and has a thread or a
// command queue of its own: make few and keep them.
func NewStream(d Device) (Stream, error) {
	err := enter()
	defer lock.Unlock()
	if err != nil {
		return Stream{}, err
	}
	r := C.mlxg_new_stream(C.bool(d == GPU))
	if err := takeError(r.err); err != nil {
		return Stream{}, fmt.Errorf("stream: %w", err)
	}
	return Stream{index: int32(r.stream) + 1}, nil
}

// DefaultDevice is the device that operations without a stream run on: the GPU where there is one.
func DefaultDevice() Device {
	enter()
	defer lock.Unlock()
	if defaultStream.Load() == 1 && hasGPU {
		return GPU
	}
	return CPU
}

// SetDefaultDevice chooses the device of operations without a stream, for the whole process.
func SetDefaultDevice(d Device) error {
	s, err := DeviceStream(d)
	if err != nil {
		return err
	}
	enter()
	defer lock.Unlock()
	C.mlxg_set_default_device(C.bool(d == GPU))
	defaultStream.Store(s.index - 1)
	return nil
}

// Available tells whether libmlx can compute on the device.
func (d Device) Available() bool {
	enter()
	defer lock.Unlock()
	return d == CPU || hasGPU
}

// Info is what libmlx tells of the device, by MLX's names ("device_name", "memory_size", ...).
func (d Device) Info() map[string]string {
	enter()
	defer lock.Unlock()
	text := C.mlxg_device_info(C.bool(d == GPU))
	defer C.free(unsafe.Pointer(text))
	info := map[string]string{}
	for line := range strings.Lines(C.GoString(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			info[key] = value
		}
	}
	return info
}

// Synchronize waits until all work that the stream was given is done. An error of the work belongs to
// its arrays and comes out there.
func (s Stream) Synchronize() error {
	err := enter()
	t := C.mlxg_unfinished()
	lock.Unlock()
	if t != nil {
		wait(t)
		_ = settle(t, callSite)
	}
	return err
}
