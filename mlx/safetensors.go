package mlx

// #include "shim.h"
import "C"

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"
)

// The safetensors format: 8 bytes with the length of a JSON header, the header, the data. See its
// description at github.com/huggingface/safetensors. It is read and written here and not by libmlx,
// which knows no float64 in it and trusts what a header tells.

// safetensorsNames are the format's names of our dtypes.
var safetensorsNames = [...]string{Bool: "BOOL", Uint8: "U8", Uint16: "U16", Uint32: "U32", Uint64: "U64", Int8: "I8", Int16: "I16",
	Int32: "I32", Int64: "I64", Float16: "F16", Float32: "F32", Float64: "F64", BFloat16: "BF16", Complex64: "C64"}

// safetensorsDtype resolves a name. 8-bit floats are kept as bytes, for [Array.FromFP8].
func safetensorsDtype(name string) (Dtype, bool) {
	if name == "F8_E4M3" {
		return Uint8, true
	}
	i := slices.Index(safetensorsNames[:], name)
	return Dtype(max(i, 0)), i >= 0
}

const (
	safetensorsMeta          = "__metadata__"
	safetensorsLongestHeader = 100 << 20
)

type safetensorsEntry struct {
	Dtype   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// SaveSafetensors writes named arrays and text to a file in the safetensors format, under exactly this
// name. The file appears whole or not at all.
func SaveSafetensors(path string, arrays map[string]*Array, meta map[string]string) error {
	names, list := sorted(arrays)
	if err := Eval(list...); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	header := map[string]any{}
	if len(meta) > 0 {
		header[safetensorsMeta] = meta
	}
	var at int64
	for i, a := range list {
		if names[i] == safetensorsMeta {
			return fmt.Errorf("save %s: the name %s is reserved by the format", path, safetensorsMeta)
		}
		shape := []int64{}
		for _, d := range a.Shape() {
			shape = append(shape, int64(d))
		}
		end := at + int64(a.Nbytes())
		header[names[i]] = safetensorsEntry{safetensorsNames[a.Dtype()], shape, [2]int64{at, end}}
		at = end
	}
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	// The data starts at a multiple of 8 bytes.
	text = append(text, bytes.Repeat([]byte(" "), (8-len(text)%8)%8)...)
	return writeAtomically(path, func(f *os.File) error {
		w := bufio.NewWriter(f)
		if err := binary.Write(w, binary.LittleEndian, uint64(len(text))); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		for _, a := range list {
			raw := make([]byte, a.Nbytes())
			if err := read("save_safetensors", a, unsafe.Pointer(unsafe.SliceData(raw)), len(raw)); err != nil {
				return err
			}
			if _, err := w.Write(raw); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

// LoadSafetensors reads a file in the safetensors format.
func LoadSafetensors(path string) (map[string]*Array, map[string]string, error) {
	var arrays map[string]*Array
	var meta map[string]string
	err := checkFile(path, func(f *os.File, size int64) error {
		h, err := readSafetensorsHeader(f, size)
		if err != nil {
			return err
		}
		meta = h.meta
		arrays = make(map[string]*Array, len(h.entries))
		for name, e := range h.entries {
			raw, err := readAt(f, h.data+e.Offsets[0], e.Offsets[1]-e.Offsets[0])
			if err != nil {
				return err
			}
			d, _ := safetensorsDtype(e.Dtype)
			a := fromBytes("load_safetensors", raw, e.Shape, d)
			if err := a.Err(); err != nil {
				return fmt.Errorf("array %q: %w", name, err)
			}
			arrays[name] = a
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return arrays, meta, nil
}

func fromBytes(op string, raw []byte, shape []int64, d Dtype) *Array {
	sizes := make([]int, len(shape))
	for i, v := range shape {
		sizes[i] = int(v)
	}
	var c call
	c.begin(op, Stream{})
	dims := c.shape("shape", sizes)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_from_data(unsafe.Pointer(unsafe.SliceData(raw)), dims, C.int(d)))
}

type safetensorsHeader struct {
	entries map[string]safetensorsEntry
	meta    map[string]string
	data    int64 // where the data starts
}

// readSafetensorsHeader reads the header and checks it against the file's size.
func readSafetensorsHeader(f *os.File, size int64) (*safetensorsHeader, error) {
	if size < 8 {
		return nil, fmt.Errorf("not a safetensors file: it has only %d bytes", size)
	}
	b, err := readAt(f, 0, 8)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(b)
	if n > safetensorsLongestHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("not a whole safetensors file: its header should have %d bytes, and %d follow", n, size-8)
	}
	text, err := readAt(f, 8, int64(n))
	if err != nil {
		return nil, err
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("the header is not valid JSON: %w", err)
	}
	if err := uniqueKeys(text); err != nil {
		return nil, err
	}
	h := &safetensorsHeader{entries: map[string]safetensorsEntry{}, meta: map[string]string{}, data: 8 + int64(n)}
	for name, value := range raw {
		if name == safetensorsMeta {
			if err := json.Unmarshal(value, &h.meta); err != nil {
				return nil, errors.New("the metadata is not a list of texts")
			}
			continue
		}
		var e safetensorsEntry
		if err := json.Unmarshal(value, &e); err != nil {
			return nil, fmt.Errorf("array %q: the entry is not valid: %w", name, err)
		}
		if err := e.check(size - h.data); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		h.entries[name] = e
	}
	return h, h.overlap()
}

// check compares the entry with the number of data bytes in the file.
func (e safetensorsEntry) check(available int64) error {
	d, ok := safetensorsDtype(e.Dtype)
	if !ok {
		return fmt.Errorf("unknown dtype %q", e.Dtype)
	}
	count, err := elements(e.Shape)
	if err != nil {
		return fmt.Errorf("shape %v: %w", e.Shape, err)
	}
	want, start, end := count*int64(d.Size()), e.Offsets[0], e.Offsets[1]
	if start < 0 || end < start || end-start != want {
		return fmt.Errorf("%s%v needs %d bytes, and the header gives it [%d, %d)", e.Dtype, e.Shape, want, start, end)
	}
	if end > available {
		return fmt.Errorf("the file is cut off: the array ends at byte %d of the data, which has %d", end, available)
	}
	return nil
}

// overlap finds arrays that share bytes.
func (h *safetensorsHeader) overlap() error {
	names := make([]string, 0, len(h.entries))
	for name := range h.entries {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := h.entries[a].Offsets, h.entries[b].Offsets
		return slices.Compare(x[:], y[:])
	})
	for i := 1; i < len(names); i++ {
		if h.entries[names[i]].Offsets[0] < h.entries[names[i-1]].Offsets[1] {
			return fmt.Errorf("arrays %q and %q share bytes", names[i-1], names[i])
		}
	}
	return nil
}

// uniqueKeys finds a name that stands twice at the top of a JSON object.
func uniqueKeys(header []byte) error {
	d := json.NewDecoder(bytes.NewReader(header))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("the header is not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("the header is not valid JSON: %w", err)
		}
		name, _ := t.(string)
		if seen[name] {
			return fmt.Errorf("array %q stands twice in the header", name)
		}
		seen[name] = true
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return fmt.Errorf("the header is not valid JSON: %w", err)
		}
	}
	return nil
}
