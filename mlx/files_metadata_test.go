package mlx

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSafetensorsNamesAndMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	arrays := map[string]*Array{}
	for i, name := range []string{"", "x", "model.layers.0.Wx", "with space", `"quoted" \ / `, "<&>\u2028", "\x00\n\t\x7f", "Größe 語 🙂", "dtype"} {
		arrays[name] = Full([]int{i}, i, Int32)
	}
	meta := map[string]string{"": "", "format": "mlx", "a\x00b\n": "c\x00 <&> \" 語", "__metadata__": "{}"}
	require.NoError(t, SaveSafetensors(path, arrays, meta))
	gotArrays, gotMeta, err := LoadSafetensors(path)
	require.NoError(t, err)
	assert.Equal(t, meta, gotMeta)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(arrays)), slices.Collect(maps.Keys(gotArrays)))
	for name, a := range arrays {
		assert.Equal(t, a.String(), gotArrays[name].String(), name)
	}
	// The same arrays give the same file, whatever the order of the map.
	first, err := os.ReadFile(path)
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, SaveSafetensors(path, maps.Clone(arrays), maps.Clone(meta)))
		again, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	// Nothing at all is a file too.
	require.NoError(t, SaveSafetensors(path, nil, nil))
	gotArrays, gotMeta, err = LoadSafetensors(path)
	require.NoError(t, err)
	assert.Equal(t, map[string]*Array{}, gotArrays)
	assert.Equal(t, map[string]string{}, gotMeta)

	x := New([]float32{1})
	assert.ErrorContains(t, SaveSafetensors(path, map[string]*Array{"__metadata__": x}, nil), "reserved")
	assert.ErrorContains(t, SaveSafetensors(path, map[string]*Array{"\xff": x}, nil), "not valid UTF-8")
	assert.ErrorContains(t, SaveSafetensors(path, nil, map[string]string{"k": "\xff"}), "not valid UTF-8")
	assert.ErrorContains(t, SaveSafetensors(path, nil, map[string]string{"\xff": ""}), "not valid UTF-8")
}

// Every array starts at a multiple of its elements' size, so that others can map the file into memory.
func TestSafetensorsAlignment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	arrays := map[string]*Array{"a": New([]uint8{1, 2, 3}), "b": New([]float64{1}), "c": New([]F16{1}), "d": New([]float32{1}), "e": New([]int64{1})}
	require.NoError(t, SaveSafetensors(path, arrays, nil))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	h, err := readSafetensorsHeader(source{f, info.Size()})
	require.NoError(t, err)
	require.Len(t, h.entries, len(arrays))
	for _, e := range h.entries {
		assert.Zero(t, (h.data+e.start)%int64(e.dtype.Size()), e.name)
	}
}

func TestGGUFMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gguf")
	meta := map[string]any{
		"bool": true, "uint8": uint8(255), "int8": int8(-128), "uint16": uint16(65535), "int16": int16(-32768), "uint32": uint32(math.MaxUint32),
		"int32": int32(math.MinInt32), "uint64": uint64(math.MaxUint64), "int64": int64(math.MinInt64), "float32": float32(1.5),
		"float64": math.Pi, "text": "a\x00b 語", "": "", "bools": []bool{true, false}, "uint8s": []uint8{1, 2}, "int8s": []int8{-1, 2},
		"uint16s": []uint16{1}, "int16s": []int16{-1}, "uint32s": []uint32{7, 8, 9}, "int32s": []int32{-7}, "uint64s": []uint64{1 << 63},
		"int64s": []int64{-1}, "float32s": []float32{1, 2}, "float64s": []float64{}, "texts": []string{"", "one", "two\n"}, "none": []string{},
		ggufAlignmentKey: uint32(32),
	}
	arrays := map[string]*Array{"x": New([]float32{1, 2, 3}), "": New([]int8{-1})}
	require.NoError(t, SaveGGUF(path, arrays, meta))
	gotArrays, gotMeta, err := LoadGGUF(path)
	require.NoError(t, err)
	assert.Equal(t, meta, gotMeta)
	assert.Len(t, gotArrays, 2)
	assert.Equal(t, []float32{1, 2, 3}, floats(t, gotArrays["x"]))

	require.NoError(t, SaveGGUF(path, nil, map[string]any{"one": 1, "list": []int{2, 3}}))
	gotArrays, gotMeta, err = LoadGGUF(path)
	require.NoError(t, err)
	assert.Empty(t, gotArrays)
	assert.Equal(t, map[string]any{"one": int64(1), "list": []int64{2, 3}}, gotMeta)

	for _, bad := range []any{nil, 1i, []any{1}, map[string]int{}, struct{}{}, arrays["x"]} {
		assert.ErrorContains(t, SaveGGUF(path, nil, map[string]any{"k": bad}), `metadata "k": a value of type`)
	}
	assert.ErrorContains(t, SaveGGUF(path, nil, map[string]any{ggufAlignmentKey: uint32(64)}), "alignment of uint32(32)")
	assert.ErrorContains(t, SaveGGUF(path, map[string]*Array{"x": Zeros(make([]int, 9), Int8)}, nil), "more than 8 axes")
}

// Quantised arrays come in the form that the operations on them take.
func TestGGUFQuantisedArraysAreUsable(t *testing.T) {
	arrays, _, err := LoadGGUF(filepath.Join("testdata", "files", "quantised.gguf"))
	require.NoError(t, err)
	x := Ones([]int{1, 256}, Float32)
	for name, bits := range map[string]int{"Q4_0": 4, "Q4_1": 4, "Q8_0": 8} {
		w, scales, biases := arrays[name+".weight"], arrays[name+".scales"].AsType(Float32), arrays[name+".biases"].AsType(Float32)
		y := QuantizedMatMul(x, w, scales, biases, true, ggufGroup, bits, "affine")
		want := Dequantize(w, scales, biases, ggufGroup, bits, "affine").Sum(1)
		assert.InDeltaSlice(t, floats(t, want), floats(t, y.Flatten(0, -1)), 0.01, name)
	}
}
