package mlx

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Larger headers are taken for damaged ones.
const (
	ggufLongestText = 64 << 20
	ggufLongestList = 1 << 24
)

type ggufHeader struct {
	arrays []ggufEntry
	meta   map[string]any
}

type ggufEntry struct {
	span  // in the file
	kind  ggufType
	shape []int
}

// ggufReader walks through a header and keeps the first fault; after it, all values are zero.
type ggufReader struct {
	in       *bufio.Reader
	at, size int64
	err      error
	small    [8]byte
}

func (r *ggufReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// fill reads len(b) bytes.
func (r *ggufReader) fill(b []byte) {
	if int64(len(b)) > r.size-r.at {
		r.fail("%w", errCutOff)
	}
	if r.err == nil {
		if _, err := io.ReadFull(r.in, b); err != nil {
			r.fail("reading %d bytes at %d: %w", len(b), r.at, err)
		}
	}
	if r.err != nil {
		clear(b)
	}
	r.at += int64(len(b))
}

// bytes gives n bytes, at most 8, that are good until the next call.
func (r *ggufReader) bytes(n int) []byte {
	r.fill(r.small[:n])
	return r.small[:n]
}

func (r *ggufReader) uint8() uint8     { return r.bytes(1)[0] }
func (r *ggufReader) uint16() uint16   { return binary.LittleEndian.Uint16(r.bytes(2)) }
func (r *ggufReader) uint32() uint32   { return binary.LittleEndian.Uint32(r.bytes(4)) }
func (r *ggufReader) uint64() uint64   { return binary.LittleEndian.Uint64(r.bytes(8)) }
func (r *ggufReader) int8() int8       { return int8(r.uint8()) }
func (r *ggufReader) int16() int16     { return int16(r.uint16()) }
func (r *ggufReader) int32() int32     { return int32(r.uint32()) }
func (r *ggufReader) int64() int64     { return int64(r.uint64()) }
func (r *ggufReader) float32() float32 { return math.Float32frombits(r.uint32()) }
func (r *ggufReader) float64() float64 { return math.Float64frombits(r.uint64()) }
func (r *ggufReader) bool() bool       { return r.uint8() != 0 }

func (r *ggufReader) text() string {
	n := r.uint64()
	if n > ggufLongestText || int64(n) > r.size-r.at {
		r.fail("a text of %d bytes is longer than the file or than a text can be", n)
		return ""
	}
	b := make([]byte, n)
	r.fill(b)
	if r.err != nil {
		return ""
	}
	return string(b)
}

// value reads a number or text, or a list of them.
func (r *ggufReader) value(kind uint32) any {
	if kind != ggufList {
		return r.values(kind, -1)
	}
	inner, n := r.uint32(), r.uint64()
	switch {
	case inner == ggufList:
		r.fail("lists of lists are not supported")
	case n > ggufLongestList || int64(n) > r.size-r.at:
		r.fail("a list of %d values is longer than the file or than a list can be", n)
	default:
		return r.values(inner, int(n))
	}
	return nil
}

// values reads a list of n values, or one value when n is negative.
func (r *ggufReader) values(kind uint32, n int) any {
	switch kind {
	case ggufUint8:
		return ggufValues(r, n, r.uint8)
	case ggufInt8:
		return ggufValues(r, n, r.int8)
	case ggufUint16:
		return ggufValues(r, n, r.uint16)
	case ggufInt16:
		return ggufValues(r, n, r.int16)
	case ggufUint32:
		return ggufValues(r, n, r.uint32)
	case ggufInt32:
		return ggufValues(r, n, r.int32)
	case ggufFloat32:
		return ggufValues(r, n, r.float32)
	case ggufBool:
		return ggufValues(r, n, r.bool)
	case ggufText:
		return ggufValues(r, n, r.text)
	case ggufUint64:
		return ggufValues(r, n, r.uint64)
	case ggufInt64:
		return ggufValues(r, n, r.int64)
	case ggufFloat64:
		return ggufValues(r, n, r.float64)
	}
	r.fail("type %d of metadata is not known", kind)
	return nil
}

func ggufValues[T any](r *ggufReader, n int, one func() T) any {
	if n < 0 {
		return one()
	}
	list := make([]T, 0, min(n, 1<<12))
	for len(list) < n && r.err == nil {
		list = append(list, one())
	}
	return list
}

// readGGUFHeader reads the header and checks it against the file's size.
func readGGUFHeader(s source) (*ggufHeader, error) {
	r := &ggufReader{in: bufio.NewReaderSize(io.NewSectionReader(s, 0, s.size), 1<<16), size: s.size}
	if magic := string(r.bytes(4)); magic != ggufMagic {
		return nil, errors.New("it is not a GGUF file")
	}
	// Version 1 has shorter lengths, and files with the highest byte first have a version of 2^24 and more.
	if v := r.uint32(); r.err == nil && v != 2 && v != ggufVersion {
		return nil, fmt.Errorf("version %d of the GGUF format is not supported", v)
	}
	arrays, pairs := r.uint64(), r.uint64()
	h := &ggufHeader{meta: map[string]any{}}
	for i := uint64(0); i < pairs && r.err == nil; i++ {
		key := r.text()
		value := r.value(r.uint32())
		if _, twice := h.meta[key]; twice && r.err == nil {
			return nil, fmt.Errorf("metadata %q stands twice", key)
		} else if r.err != nil {
			return nil, fmt.Errorf("metadata %q: %w", key, r.err)
		}
		h.meta[key] = value
	}
	alignment := int64(ggufAlignment)
	if v, ok := h.meta[ggufAlignmentKey]; ok {
		n, _ := v.(uint32)
		if n == 0 || n&(n-1) != 0 || n > 1<<20 {
			return nil, fmt.Errorf("%s is %v; a power of two of type uint32 is expected", ggufAlignmentKey, v)
		}
		alignment = int64(n)
	}
	seen := map[string]bool{}
	for i := uint64(0); i < arrays && r.err == nil; i++ {
		e, err := r.entry(alignment)
		if r.err != nil {
			break
		}
		if err == nil && seen[e.name] {
			err = errors.New("it stands twice")
		}
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", e.name, err)
		}
		seen[e.name] = true
		h.arrays = append(h.arrays, e)
	}
	if r.err != nil {
		return nil, r.err
	}
	return h, h.place((r.at+alignment-1)/alignment*alignment, s.size)
}

// entry reads where an array is, from the start of the data.
func (r *ggufReader) entry(alignment int64) (e ggufEntry, err error) {
	e.name = r.text()
	axes := r.uint32()
	if axes > ggufMostAxes {
		return e, fmt.Errorf("%d axes are too many", axes)
	}
	sizes := make([]uint64, axes)
	for i := range sizes {
		sizes[len(sizes)-1-i] = r.uint64()
	}
	kind, offset := r.uint32(), r.uint64()
	var count int64
	if e.shape, count, err = sizesOf(sizes); err != nil {
		return e, err
	}
	known := false
	e.kind, known = ggufTypes[kind]
	switch row := e.kind.elements; {
	case !known:
		return e, fmt.Errorf("elements of type %d are not supported", kind)
	case row > 1 && (len(e.shape) == 0 || int64(e.shape[len(e.shape)-1])%row != 0):
		return e, fmt.Errorf("type %s has blocks of %d elements, which do not fill the last axis of shape %v", e.kind.name, row, e.shape)
	case offset > math.MaxInt64/2 || int64(offset)%alignment != 0:
		return e, fmt.Errorf("offset %d is not a multiple of %d", offset, alignment)
	}
	e.start = int64(offset)
	e.end = e.start + count/e.kind.elements*e.kind.bytes
	return e, nil
}

// place moves the arrays to where the data starts, and checks that they are in the file and do not overlap.
func (h *ggufHeader) place(data, size int64) error {
	spans := make([]span, len(h.arrays))
	for i := range h.arrays {
		e := &h.arrays[i]
		e.start, e.end = e.start+data, e.end+data
		if e.end > size {
			return fmt.Errorf("the file is cut off: array %q ends at byte %d, and there are %d", e.name, e.end, size)
		}
		spans[i] = e.span
	}
	return overlap(spans)
}
