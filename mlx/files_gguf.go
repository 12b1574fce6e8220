package mlx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// ggufBlock is how many elements of a type share a block of how many bytes. See the description of
// GGUF at github.com/ggml-org/ggml.
type ggufBlock struct{ elements, bytes int64 }

// ggufTypes are the element types that libmlx reads.
var ggufTypes = map[uint32]ggufBlock{
	0: {1, 4}, 1: {1, 2}, 2: {32, 18}, 3: {32, 20}, 8: {32, 34}, 24: {1, 1}, 25: {1, 2}, 26: {1, 4}, 27: {1, 8}, 28: {1, 8},
}

// ggufScalars are the sizes of the metadata's value types.
var ggufScalars = map[uint32]int64{0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

const (
	ggufText, ggufList = 8, 9
	ggufLongestText    = 64 << 20
)

// ggufReader walks through a header and remembers the first fault.
type ggufReader struct {
	f        *os.File
	at, size int64
	err      error
}

func (r *ggufReader) skip(n int64) {
	if r.err == nil && (n < 0 || n > r.size-r.at) {
		r.err = errors.New("the file ends inside of its header")
	}
	if r.err == nil {
		r.at += n
	}
}

func (r *ggufReader) bytes(n int64) []byte {
	start := r.at
	r.skip(n)
	if r.err != nil {
		return make([]byte, min(n, 8))
	}
	b, err := readAt(r.f, start, n)
	if err != nil {
		r.err = err
		return make([]byte, n)
	}
	return b
}

func (r *ggufReader) u32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }
func (r *ggufReader) u64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

func (r *ggufReader) text() string {
	n := r.u64()
	if n > ggufLongestText {
		r.err = errors.Join(r.err, errors.New("a text is longer than the file can hold"))
		return ""
	}
	return string(r.bytes(int64(n)))
}

func (r *ggufReader) value(kind uint32, depth int) {
	switch size, ok := ggufScalars[kind]; {
	case ok:
		r.skip(size)
	case kind == ggufText:
		r.text()
	case kind == ggufList && depth < 4:
		inner, n := r.u32(), r.u64()
		if size, ok := ggufScalars[inner]; ok {
			if n > math.MaxInt64/8 {
				n = math.MaxInt64 / 8
			}
			r.skip(int64(n) * size)
			return
		}
		for i := uint64(0); i < n && r.err == nil; i++ {
			r.value(inner, depth+1)
		}
	default:
		if r.err == nil {
			r.err = fmt.Errorf("metadata of type %d is not known", kind)
		}
	}
}

func checkGGUF(f *os.File, size int64) error {
	r := &ggufReader{f: f, size: size}
	if magic := r.bytes(4); r.err != nil || string(magic) != "GGUF" {
		return errors.New("not a GGUF file")
	}
	if v := r.u32(); r.err == nil && v != 3 && v != 2 {
		return fmt.Errorf("version %d of the GGUF format is not supported", v)
	}
	tensors, pairs := r.u64(), r.u64()
	alignment := int64(32)
	for i := uint64(0); i < pairs && r.err == nil; i++ {
		key := r.text()
		kind := r.u32()
		if key == "general.alignment" && kind == 4 {
			alignment = int64(r.u32())
			continue
		}
		r.value(kind, 0)
	}
	if r.err == nil && (alignment <= 0 || alignment > 1<<20 || alignment&(alignment-1) != 0) {
		return fmt.Errorf("alignment %d is not a power of two", alignment)
	}
	var end int64
	seen := map[string]bool{}
	for i := uint64(0); i < tensors && r.err == nil; i++ {
		last, err := r.tensor(seen, alignment)
		if err != nil && r.err == nil {
			return err
		}
		end = max(end, last)
	}
	if r.err != nil {
		return r.err
	}
	data := (r.at + alignment - 1) / alignment * alignment
	if tensors > 0 && (end > size || data > size-end) {
		return fmt.Errorf("the file is cut off: it needs %d bytes and has %d", data+end, size)
	}
	return nil
}

// tensor checks one entry and gives where its data ends.
func (r *ggufReader) tensor(seen map[string]bool, alignment int64) (end int64, err error) {
	name, dims := r.text(), r.u32()
	if dims > 8 {
		return 0, fmt.Errorf("array %q: %d axes are too many", name, dims)
	}
	shape := make([]int64, dims)
	for i := range shape {
		shape[i] = int64(min(r.u64(), math.MaxInt64))
	}
	kind, offset := r.u32(), r.u64()
	if r.err != nil {
		return 0, r.err
	}
	count, err := elements(shape)
	if err != nil {
		return 0, fmt.Errorf("array %q: shape %v: %w", name, shape, err)
	}
	block, ok := ggufTypes[kind]
	switch {
	case seen[name]:
		return 0, fmt.Errorf("array %q stands twice", name)
	case !ok:
		return 0, fmt.Errorf("array %q: element type %d is not supported", name, kind)
	case count%block.elements != 0:
		return 0, fmt.Errorf("array %q: shape %v does not fill blocks of %d", name, shape, block.elements)
	case offset > math.MaxInt64/2 || int64(offset)%alignment != 0:
		return 0, fmt.Errorf("array %q: offset %d is not possible", name, offset)
	}
	seen[name] = true
	return int64(offset) + count/block.elements*block.bytes, nil
}
