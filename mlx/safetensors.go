package mlx

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// The safetensors format: 8 bytes with the length of a JSON header, the header, the elements. See its
// description at github.com/huggingface/safetensors.

// safetensorsNames are the format's names of our dtypes.
var safetensorsNames = [...]string{Bool: "BOOL", Uint8: "U8", Uint16: "U16", Uint32: "U32", Uint64: "U64", Int8: "I8", Int16: "I16",
	Int32: "I32", Int64: "I64", Float16: "F16", Float32: "F32", Float64: "F64", BFloat16: "BF16", Complex64: "C64"}

// safetensorsDtype resolves a name. 8-bit floats are kept as bytes, for [Array.FromFP8].
func safetensorsDtype(name string) (Dtype, bool) {
	if name == "F8_E4M3" || name == "F8_E8M0" {
		return Uint8, true
	}
	i := slices.Index(safetensorsNames[:], name)
	return Dtype(max(i, 0)), i >= 0
}

const safetensorsMeta = "__metadata__"

// SaveSafetensors writes named arrays and text to a file in the safetensors format, under exactly this
// name. The file appears whole or not at all. The same arrays give the same file.
func SaveSafetensors(path string, arrays map[string]*Array, meta map[string]string) error {
	names, _, err := saved(path, arrays)
	if err != nil {
		return err
	}
	// Larger elements first: each array then starts at a multiple of its elements' size.
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(arrays[b].Dtype().Size(), arrays[a].Dtype().Size())
	})
	header, err := safetensorsText(names, arrays, meta)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return writeAtomically(path, func(w io.Writer) error {
		if _, err := w.Write(header); err != nil {
			return err
		}
		elements := &elementWriter{Writer: w}
		for _, name := range names {
			if err := elements.write("save_safetensors", arrays[name]); err != nil {
				return fmt.Errorf("array %q: %w", name, err)
			}
		}
		return nil
	})
}

// safetensorsText is the file up to the elements.
func safetensorsText(names []string, arrays map[string]*Array, meta map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	b.WriteByte('{')
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encode := func(v any, after string) {
		_ = encoder.Encode(v) // texts and numbers never fail
		b.Truncate(b.Len() - len("\n"))
		b.WriteString(after)
	}
	for key, value := range meta {
		if !utf8.ValidString(key + value) {
			return nil, fmt.Errorf("the metadata %q: %q is not valid UTF-8", key, value)
		}
	}
	if len(meta) > 0 {
		encode(safetensorsMeta, ":")
		encode(meta, ",")
	}
	at := 0
	for _, name := range names {
		switch {
		case name == safetensorsMeta:
			return nil, fmt.Errorf("the name %s is reserved by the format", safetensorsMeta)
		case !utf8.ValidString(name):
			return nil, fmt.Errorf("the name %q is not valid UTF-8", name)
		}
		a := arrays[name]
		end := at + a.Nbytes()
		encode(name, ":")
		encode(struct {
			Dtype   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{safetensorsNames[a.Dtype()], append([]int{}, a.Shape()...), [2]int{at, end}}, ",")
		at = end
	}
	if text := b.Bytes(); text[len(text)-1] == ',' {
		b.Truncate(len(text) - 1)
	}
	b.WriteByte('}')
	if n := b.Len() - 8; n > safetensorsLongestHeader {
		return nil, fmt.Errorf("the header would have %d bytes; the format allows %d", n, safetensorsLongestHeader)
	}
	// The elements start at a multiple of 8 bytes.
	b.WriteString(blanks((8 - b.Len()%8) % 8))
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

// LoadSafetensors reads the arrays and the metadata of a file in the safetensors format.
func LoadSafetensors(path string) (map[string]*Array, map[string]string, error) {
	var arrays map[string]*Array
	var meta map[string]string
	err := loadFile(path, func(s source) (err error) {
		arrays, meta, err = loadSafetensors(s)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return arrays, meta, nil
}

func loadSafetensors(s source) (map[string]*Array, map[string]string, error) {
	h, err := readSafetensorsHeader(s)
	if err != nil {
		return nil, nil, err
	}
	arrays := make(map[string]*Array, len(h.entries))
	for _, e := range h.entries {
		arrays[e.name], err = s.array("load_safetensors", h.data+e.start, e.shape, e.dtype, false)
		if err != nil {
			delete(arrays, e.name)
			err = fmt.Errorf("array %q: %w", e.name, err)
			break
		}
	}
	arrays, err = loaded(arrays, err)
	return arrays, h.meta, err
}
