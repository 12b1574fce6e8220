package mlx

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// As long as the format's own library allows.
const safetensorsLongestHeader = 100_000_000

type safetensorsHeader struct {
	entries []safetensorsEntry
	meta    map[string]string
	data    int64 // where the elements start
}

type safetensorsEntry struct {
	span
	dtype Dtype
	shape []int
}

// readSafetensorsHeader reads the header and checks it against the file's size: the arrays must fill the file
// without overlap or holes.
func readSafetensorsHeader(s source) (*safetensorsHeader, error) {
	start, err := s.bytes(0, min(s.size, 8))
	if err != nil {
		return nil, err
	}
	if len(start) < 8 {
		return nil, fmt.Errorf("it is not a safetensors file: it has only %d bytes", len(start))
	}
	n := binary.LittleEndian.Uint64(start)
	if n > safetensorsLongestHeader || int64(n) > s.size-8 {
		return nil, fmt.Errorf("it is not a whole safetensors file: its header should have %d bytes, and %d follow", n, s.size-8)
	}
	text, err := s.bytes(8, int64(n))
	if err != nil {
		return nil, err
	}
	fields, err := objectFields(text)
	if err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	h := &safetensorsHeader{meta: map[string]string{}, data: 8 + int64(n)}
	for _, f := range fields {
		if f.name == safetensorsMeta {
			if h.meta, err = readSafetensorsMeta(f.value); err != nil {
				return nil, fmt.Errorf("the metadata: %w", err)
			}
			continue
		}
		e, err := readSafetensorsEntry(f, s.size-h.data)
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", f.name, err)
		}
		h.entries = append(h.entries, e)
	}
	return h, h.fills(s.size - h.data)
}

func (h *safetensorsHeader) fills(available int64) error {
	spans := make([]span, len(h.entries))
	for i, e := range h.entries {
		spans[i] = e.span
	}
	if err := overlap(spans); err != nil {
		return err
	}
	at := int64(0)
	for _, s := range append(spans, span{"", available, available}) {
		if s.start != at {
			return fmt.Errorf("%d bytes at %d of the data belong to no array", s.start-at, at)
		}
		at = s.end
	}
	return nil
}

func readSafetensorsMeta(text []byte) (map[string]string, error) {
	meta := map[string]string{}
	if string(text) == "null" {
		return meta, nil // libmlx writes this when there is none
	}
	fields, err := objectFields(text)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		var value string
		if err := strictly(f.value, &value); err != nil {
			return nil, fmt.Errorf("%q is not a text", f.name)
		}
		meta[f.name] = value
	}
	return meta, nil
}

// readSafetensorsEntry checks an entry against the number of bytes that follow the header.
func readSafetensorsEntry(f jsonField, available int64) (e safetensorsEntry, err error) {
	fields, err := objectFields(f.value)
	if err != nil {
		return e, err
	}
	var dtype string
	var sizes, offsets []uint64
	found := 0
	for _, f := range fields {
		found++
		switch f.name {
		case "dtype":
			err = strictly(f.value, &dtype)
		case "shape":
			sizes, err = counts(f.value)
		case "data_offsets":
			offsets, err = counts(f.value)
		default:
			found--
		}
		if err != nil {
			return e, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if found != 3 {
		return e, errors.New("dtype, shape and data_offsets are expected")
	}
	d, ok := safetensorsDtype(dtype)
	if !ok {
		return e, fmt.Errorf("there is no dtype for %q", dtype)
	}
	shape, count, err := sizesOf(sizes)
	if err != nil {
		return e, err
	}
	if len(offsets) != 2 || offsets[1] < offsets[0] || offsets[1]-offsets[0] != uint64(count)*uint64(d.Size()) {
		return e, fmt.Errorf("%s%v needs %d bytes, and data_offsets are %d", dtype, shape, count*int64(d.Size()), offsets)
	}
	if offsets[1] > uint64(available) {
		return e, fmt.Errorf("the file is cut off: the array ends at byte %d of the data, which has %d", offsets[1], available)
	}
	return safetensorsEntry{span{f.name, int64(offsets[0]), int64(offsets[1])}, d, shape}, nil
}

// strictly reads a value that must be there.
func strictly(text []byte, v any) error {
	if string(text) == "null" {
		return errors.New("null is no value")
	}
	return json.Unmarshal(text, v)
}

// counts reads a list of whole numbers that are not negative.
func counts(text []byte) ([]uint64, error) {
	var list []*uint64
	if err := strictly(text, &list); err != nil {
		return nil, err
	}
	out := make([]uint64, len(list))
	for i, n := range list {
		if n == nil {
			return nil, errors.New("null is no number")
		}
		out[i] = *n
	}
	return out, nil
}

type jsonField struct {
	name  string
	value json.RawMessage
}

// objectFields gives the fields of a JSON object in their order. A name that stands twice is an error.
func objectFields(text []byte) ([]jsonField, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var fields []jsonField
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("not valid JSON at byte %d", d.InputOffset())
		}
		if seen[name] {
			return nil, fmt.Errorf("%q stands twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("not valid JSON: %w", err)
		}
		fields = append(fields, jsonField{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("the JSON object does not end")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return fields, nil
}
