package mlx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The GGUF format: magic and version, the numbers of arrays and of metadata, the metadata, the names,
// shapes and types of the arrays, their elements. See its description at github.com/ggml-org/ggml.

const (
	ggufMagic     = "GGUF"
	ggufVersion   = 3
	ggufAlignment = 32
	ggufMostAxes  = 8

	ggufAlignmentKey = "general.alignment"
)

// ggufType is an element type: so many elements share a block of so many bytes.
type ggufType struct {
	name            string
	elements, bytes int64
	dtype           Dtype
	unpack          ggufUnpacker // nil where the elements stand as they are
	bits            int          // of a packed element
}

var ggufTypes = map[uint32]ggufType{
	0:  {"F32", 1, 4, Float32, nil, 0},
	1:  {"F16", 1, 2, Float16, nil, 0},
	2:  {"Q4_0", ggufGroup, 18, Uint32, unpackQ40, 4},
	3:  {"Q4_1", ggufGroup, 20, Uint32, unpackQ41, 4},
	8:  {"Q8_0", ggufGroup, 34, Uint32, unpackQ80, 8},
	10: {"Q2_K", 256, 84, Float16, unpackQ2K, 0},
	12: {"Q4_K", 256, 144, Float16, unpackQ4K, 0},
	14: {"Q6_K", 256, 210, Float16, unpackQ6K, 0},
	24: {"I8", 1, 1, Int8, nil, 0},
	25: {"I16", 1, 2, Int16, nil, 0},
	26: {"I32", 1, 4, Int32, nil, 0},
	27: {"I64", 1, 8, Int64, nil, 0},
	28: {"F64", 1, 8, Float64, nil, 0},
	30: {"BF16", 1, 2, BFloat16, nil, 0},
}

// The types of metadata.
const (
	ggufUint8 = iota
	ggufInt8
	ggufUint16
	ggufInt16
	ggufUint32
	ggufInt32
	ggufFloat32
	ggufBool
	ggufText
	ggufList
	ggufUint64
	ggufInt64
	ggufFloat64
)

// SaveGGUF writes named arrays and metadata to a file in the GGUF format, under exactly this name. The
// file appears whole or not at all. The format has signed integers and real floats, and at most 8 axes.
// A value of the metadata is a bool, a text, a number of a type with a size (int counts as int64), or a slice of these.
func SaveGGUF(path string, arrays map[string]*Array, meta map[string]any) error {
	names, list, err := saved(path, arrays)
	if err != nil {
		return err
	}
	header, err := ggufHeaderOf(names, list, meta)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return writeAtomically(path, func(w io.Writer) error {
		if _, err := w.Write(header); err != nil {
			return err
		}
		elements := &elementWriter{Writer: w}
		for i, a := range list {
			if err := elements.write("save_gguf", a); err != nil {
				return fmt.Errorf("array %q: %w", names[i], err)
			}
			if _, err := w.Write(make([]byte, ggufPadding(len(elements.memory)))); err != nil {
				return err
			}
		}
		return nil
	})
}

func ggufPadding(n int) int { return (ggufAlignment - n%ggufAlignment) % ggufAlignment }

// ggufWriter makes a header.
type ggufWriter struct{ bytes.Buffer }

func (w *ggufWriter) number(v any) { _ = binary.Write(w, binary.LittleEndian, v) }

func (w *ggufWriter) text(s string) {
	w.number(uint64(len(s)))
	w.WriteString(s)
}

func ggufHeaderOf(names []string, list []*Array, meta map[string]any) ([]byte, error) {
	w := &ggufWriter{}
	w.WriteString(ggufMagic)
	w.number(uint32(ggufVersion))
	w.number(uint64(len(names)))
	w.number(uint64(len(meta)))
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key == ggufAlignmentKey && meta[key] != uint32(ggufAlignment) {
			return nil, fmt.Errorf("metadata %s: the arrays are written with an alignment of uint32(%d)", key, ggufAlignment)
		}
		w.text(key)
		if err := w.value(meta[key]); err != nil {
			return nil, fmt.Errorf("metadata %q: %w", key, err)
		}
	}
	at := 0
	for i, a := range list {
		d, shape := a.Dtype(), a.Shape()
		kind, ok := ggufKind(d)
		switch {
		case !ok:
			return nil, fmt.Errorf("array %q: the format has no %v; it has signed integers and real floats", names[i], d)
		case len(shape) > ggufMostAxes:
			return nil, fmt.Errorf("array %q: shape %v has more than %d axes", names[i], shape, ggufMostAxes)
		}
		w.text(names[i])
		w.number(uint32(len(shape)))
		for _, n := range reversed(shape) {
			w.number(uint64(n))
		}
		w.number(kind)
		w.number(uint64(at))
		at += a.Nbytes()
		at += ggufPadding(at)
	}
	w.Write(make([]byte, ggufPadding(w.Len())))
	return w.Bytes(), nil
}

func ggufKind(d Dtype) (uint32, bool) {
	for kind, t := range ggufTypes {
		if t.dtype == d && t.unpack == nil {
			return kind, true
		}
	}
	return 0, false
}

// value writes the type and the value of an entry of the metadata.
func (w *ggufWriter) value(v any) error {
	if n, ok := v.(int); ok {
		v = int64(n)
	}
	if list, ok := v.([]int); ok {
		v = mapped(list, func(n int) int64 { return int64(n) })
	}
	switch x := v.(type) {
	case string:
		w.number(uint32(ggufText))
		w.text(x)
	case []string:
		w.number([]uint32{ggufList, ggufText})
		w.number(uint64(len(x)))
		for _, s := range x {
			w.text(s)
		}
	default:
		kind, length := ggufNumberKind(v)
		if kind < 0 {
			return fmt.Errorf("a value of type %T cannot be written", v)
		}
		if length >= 0 {
			w.number(uint32(ggufList))
		}
		w.number(uint32(kind))
		if length >= 0 {
			w.number(uint64(length))
		}
		w.number(v)
	}
	return nil
}

// ggufNumberKind is the type of a number or slice of numbers; length is -1 for a number.
func ggufNumberKind(v any) (kind, length int) {
	switch x := v.(type) {
	case bool:
		return ggufBool, -1
	case uint8:
		return ggufUint8, -1
	case int8:
		return ggufInt8, -1
	case uint16:
		return ggufUint16, -1
	case int16:
		return ggufInt16, -1
	case uint32:
		return ggufUint32, -1
	case int32:
		return ggufInt32, -1
	case uint64:
		return ggufUint64, -1
	case int64:
		return ggufInt64, -1
	case float32:
		return ggufFloat32, -1
	case float64:
		return ggufFloat64, -1
	case []bool:
		return ggufBool, len(x)
	case []uint8:
		return ggufUint8, len(x)
	case []int8:
		return ggufInt8, len(x)
	case []uint16:
		return ggufUint16, len(x)
	case []int16:
		return ggufInt16, len(x)
	case []uint32:
		return ggufUint32, len(x)
	case []int32:
		return ggufInt32, len(x)
	case []uint64:
		return ggufUint64, len(x)
	case []int64:
		return ggufInt64, len(x)
	case []float32:
		return ggufFloat32, len(x)
	case []float64:
		return ggufFloat64, len(x)
	}
	return -1, -1
}

// LoadGGUF reads the arrays and the metadata of a GGUF file. Arrays of types Q4_0, Q4_1 and Q8_0 come in the
// form of [QuantizedMatMul], with groups of 32: "x.weight" as packed Uint32, and with it "x.scales" and "x.biases".
// Q2_K, Q4_K and Q6_K become Float16. The metadata has the Go types that [SaveGGUF] takes.
func LoadGGUF(path string) (map[string]*Array, map[string]any, error) {
	var arrays map[string]*Array
	var meta map[string]any
	err := loadFile(path, func(s source) (err error) {
		arrays, meta, err = loadGGUF(s)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return arrays, meta, nil
}

func loadGGUF(s source) (map[string]*Array, map[string]any, error) {
	h, err := readGGUFHeader(s)
	if err != nil {
		return nil, nil, err
	}
	arrays := make(map[string]*Array, len(h.arrays))
	for _, e := range h.arrays {
		if err = e.load(s, arrays); err != nil {
			err = fmt.Errorf("array %q: %w", e.name, err)
			break
		}
	}
	arrays, err = loaded(arrays, err)
	return arrays, h.meta, err
}

// load adds the array, and what comes out with it.
func (e ggufEntry) load(s source, arrays map[string]*Array) error {
	add := func(name string, a *Array) error {
		if err := a.Err(); err != nil {
			return err
		}
		if arrays[name] != nil {
			a.Free()
			return fmt.Errorf("it gives an array %q, which there is already", name)
		}
		arrays[name] = a
		return nil
	}
	if e.kind.unpack == nil {
		a, err := s.array("load_gguf", e.start, e.shape, e.kind.dtype, false)
		if err != nil {
			return err
		}
		return add(e.name, a)
	}
	packed, err := s.bytes(e.start, e.end-e.start)
	if err != nil {
		return err
	}
	u := e.kind.unpack(slices.Chunk(packed, int(e.kind.bytes)))
	if e.kind.dtype == Float16 {
		return add(e.name, New(u.halves, e.shape...))
	}
	last := len(e.shape) - 1
	weights, groups := slices.Clone(e.shape), slices.Clone(e.shape)
	weights[last] = weights[last] / 32 * e.kind.bits
	groups[last] /= ggufGroup
	stem := strings.TrimSuffix(e.name, ".weight")
	return errors.Join(add(e.name, New(u.words, weights...)), add(stem+".scales", New(u.scales, groups...)), add(stem+".biases", New(u.biases, groups...)))
}
