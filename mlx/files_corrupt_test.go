package mlx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func npyFile(header string, data int) string {
	return npyMagic + "\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header + strings.Repeat("x", data)
}

func safetensorsFile(header string, data int) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + strings.Repeat("x", data)
}

// ggufFile makes a file of metadata and arrays written by add, which gives their numbers, and data.
func ggufFile(add func(w *ggufWriter) (arrays, pairs int), data int) string {
	w := &ggufWriter{}
	arrays, pairs := add(w)
	head := &ggufWriter{}
	head.WriteString(ggufMagic)
	head.number(uint32(ggufVersion))
	head.number([]uint64{uint64(arrays), uint64(pairs)})
	head.Write(w.Bytes())
	head.Write(make([]byte, ggufPadding(head.Len())))
	return head.String() + strings.Repeat("x", data)
}

func ggufArray(name string, kind uint32, offset uint64, sizes ...uint64) func(w *ggufWriter) (int, int) {
	return func(w *ggufWriter) (int, int) {
		w.text(name)
		w.number(uint32(len(sizes)))
		w.number(sizes)
		w.number(kind)
		w.number(offset)
		return 1, 0
	}
}

func ggufPair(key string, values ...any) func(w *ggufWriter) (int, int) {
	return func(w *ggufWriter) (int, int) {
		w.text(key)
		for _, v := range values {
			w.number(v)
		}
		return 0, 1
	}
}

func ggufAll(parts ...func(w *ggufWriter) (int, int)) func(w *ggufWriter) (int, int) {
	return func(w *ggufWriter) (arrays, pairs int) {
		for _, add := range parts {
			a, p := add(w)
			arrays, pairs = arrays+a, pairs+p
		}
		return arrays, pairs
	}
}

const twoFloats = `"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`

// What is wrong with a file is said exactly; an empty message stands for a good file.
var corruptFiles = map[string][]struct{ text, want string }{
	"npy": {
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8), ""},
		{npyFile(`{"shape":(2,),"fortran_order":True,"descr":"|f4"}  `+"\n", 8), ""},
		{npyFile("{'descr': '=f4', 'fortran_order': False, 'shape': (), }", 4), ""},
		{npyMagic[:4], "it is not a .npy file"},
		{npyMagic + "\x01\x00\x01", "the file is cut off inside of its header"},
		{npyMagic + "\x07\x02ab{}", "version 7.2 of the .npy format is not known"},
		{npyMagic + "\x02\x00\xff\xff\xff\x7f", "a header of 2147483647 bytes is too long"},
		{npyMagic + "\x01\x00\xff\x00{}", "the file is cut off inside of its header"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7), "shape [2] of float32 needs 8 bytes of data, and there are 7"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9), "and there are 9"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8), "size -2 is not possible"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967298,), }", 8), "size 4294967298 is not possible"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647,2147483647,2147483647), }", 8), "too many elements"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8), `"99999999999999999999" is not a size`},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,,), }", 8), `"" is not a size`},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': ('a'), }", 8), "is not a size"},
		{npyFile("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", 16), `there is no dtype for numpy's type "<c16"`},
		{npyFile("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8), `no dtype for numpy's type "|O"`},
		{npyFile("{'descr': '<U5', 'fortran_order': False, 'shape': (1,), }", 20), `no dtype for numpy's type "<U5"`},
		{npyFile("{'descr': 'f4x', 'fortran_order': False, 'shape': (2,), }", 8), `type "f4x" is not supported`},
		{npyFile("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8), "the header is not of the usual form"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, }", 8), "the header is not of the usual form"},
		{npyFile("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8), "not of the usual form"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 'x'}", 8), "not of the usual form"},
		{npyFile("{'descr': True, 'fortran_order': False, 'shape': (2,), }", 8), "not of the usual form"},
		{npyFile("{'descr': '<f4', 'fortran_order': 'True', 'shape': (2,), }", 8), "not of the usual form"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': '2', }", 8), "not of the usual form"},
		{npyFile("", 8), "not of the usual form"},
	},
	"safetensors": {
		{safetensorsFile(`{`+twoFloats+`}`, 8), ""},
		{safetensorsFile(`{}`, 0), ""},
		{safetensorsFile(`{"__metadata__":null}  `, 0), ""},
		{safetensorsFile(`{"__metadata__":{"a":"b"},`+twoFloats+`}`, 8), ""},
		{safetensorsFile(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},`+twoFloats+`,"b":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}}`, 8), ""},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":[1]}}`, 8), ""},
		{"short", "it is not a safetensors file: it has only 5 bytes"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff{}", "its header should have 18446744073709551615 bytes, and 2 follow"},
		{"\x03\x00\x00\x00\x00\x00\x00\x00{}", "its header should have 3 bytes, and 2 follow"},
		{safetensorsFile(``, 8), "the header: not a JSON object"},
		{safetensorsFile(`[1]`, 8), "the header: not a JSON object"},
		{safetensorsFile(`{"x"`, 8), "not valid JSON"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]`, 8), "not valid JSON"},
		{safetensorsFile(`{`+twoFloats, 8), "does not end"},
		{safetensorsFile(`{`+twoFloats+`}{}`, 8), "something follows"},
		{safetensorsFile(`{`+twoFloats+`,`+twoFloats+`}`, 8), `"x" stands twice`},
		{safetensorsFile("{\"\xff\":1}", 8), "not valid UTF-8"},
		{safetensorsFile(strings.Repeat(`{"a":`, 100000), 0), "not valid JSON"},
		{safetensorsFile(`{"x":7}`, 8), `array "x": not a JSON object`},
		{safetensorsFile(`{"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), `"dtype" stands twice`},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2]}}`, 8), "dtype, shape and data_offsets are expected"},
		{safetensorsFile(`{"x":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}}`, 8), `array "x": there is no dtype for "F33"`},
		{safetensorsFile(`{"x":{"dtype":7,"shape":[2],"data_offsets":[0,8]}}`, 8), "dtype: json: cannot unmarshal number"},
		{safetensorsFile(`{"x":{"dtype":null,"shape":[2],"data_offsets":[0,8]}}`, 8), "dtype: null is no value"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), "shape: json: cannot unmarshal number -2"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}}`, 8), "shape: json: cannot unmarshal number 2.5"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[null],"data_offsets":[0,8]}}`, 8), "shape: null is no number"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[99999999999],"data_offsets":[0,8]}}`, 8), "size 99999999999 is not possible"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2147483647,2147483647,2147483647],"data_offsets":[0,8]}}`, 8), "too many elements"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}}`, 7), "F32[2] needs 8 bytes, and data_offsets are [0 7]"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), "data_offsets are [8 0]"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}}`, 8), "data_offsets are [0]"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,0]}}`, 8), "data_offsets are [18446744073709551608 0]"},
		{safetensorsFile(`{`+twoFloats+`}`, 7), `array "x": the file is cut off: the array ends at byte 8 of the data, which has 7`},
		{safetensorsFile(`{`+twoFloats+`}`, 9), "1 bytes at 8 of the data belong to no array"},
		{safetensorsFile(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, 16), "8 bytes at 0 of the data belong to no array"},
		{safetensorsFile(`{`+twoFloats+`,"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), `arrays "x" and "y" share bytes`},
		{safetensorsFile(`{"__metadata__":[1]}`, 0), "the metadata: not a JSON object"},
		{safetensorsFile(`{"__metadata__":{"a":7}}`, 0), `the metadata: "a" is not a text`},
		{safetensorsFile(`{"__metadata__":{"a":null}}`, 0), `the metadata: "a" is not a text`},
	},
	"gguf": {
		{ggufFile(ggufArray("x", 0, 0, 2), 8), ""},
		{ggufFile(ggufAll(ggufPair(ggufAlignmentKey, uint32(ggufUint32), uint32(8)), ggufArray("x", 24, 8, 2), ggufArray("y", 24, 0, 3)), 40), ""},
		{"GGU", "it is not a GGUF file"},
		{"GGUF\x01\x00\x00\x00", "version 1 of the GGUF format is not supported"},
		{"GGUF\x00\x00\x00\x03", "version 50331648 of the GGUF format is not supported"},
		{"GGUF\x03\x00\x00\x00\x01", "the file is cut off inside of its header"},
		{ggufFile(ggufArray("x", 0, 0, 2), 7), `the file is cut off: array "x" ends at byte 72, and there are 71`},
		{ggufFile(ggufArray("x", 99, 0, 2), 8), `array "x": elements of type 99 are not supported`},
		{ggufFile(ggufArray("x", 6, 0, 32), 64), "elements of type 6 are not supported"},
		{ggufFile(ggufArray("x", 2, 0, 33), 64), "type Q4_0 has blocks of 32 elements, which do not fill the last axis of shape [33]"},
		{ggufFile(ggufArray("x", 2, 0), 64), "which do not fill the last axis of shape []"},
		{ggufFile(ggufArray("x", 0, 3, 2), 64), "offset 3 is not a multiple of 32"},
		{ggufFile(ggufArray("x", 0, math.MaxUint64-31, 2), 64), "is not a multiple of 32"},
		{ggufFile(ggufArray("x", 0, 1<<40, 2), 64), "the file is cut off"},
		{ggufFile(ggufArray("x", 0, 0, 1<<33), 64), "size 8589934592 is not possible"},
		{ggufFile(ggufArray("x", 0, 0, 1<<30, 1<<30, 1<<30), 64), "too many elements"},
		{ggufFile(ggufArray("x", 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1), 64), "9 axes are too many"},
		{ggufFile(ggufAll(ggufArray("x", 0, 0, 2), ggufArray("x", 0, 32, 2)), 64), `array "x": it stands twice`},
		{ggufFile(ggufAll(ggufArray("x", 0, 0, 10), ggufArray("y", 0, 32, 2)), 64), `arrays "x" and "y" share bytes`},
		{ggufFile(ggufPair("k", uint32(13), uint64(0)), 0), `metadata "k": type 13 of metadata is not known`},
		{ggufFile(ggufPair("k", uint32(ggufList), uint32(ggufList), uint64(1)), 99), `metadata "k": lists of lists are not supported`},
		{ggufFile(ggufPair("k", uint32(ggufList), uint32(ggufUint8), uint64(math.MaxUint64)), 99), "a list of 18446744073709551615 values is longer"},
		{ggufFile(ggufPair("k", uint32(ggufList), uint32(ggufUint64), uint64(90)), 99), "the file is cut off inside of its header"},
		{ggufFile(ggufPair("k", uint32(ggufText), uint64(math.MaxUint64)), 99), "a text of 18446744073709551615 bytes is longer"},
		{ggufFile(ggufPair("k", uint32(ggufText), uint64(1000)), 99), "a text of 1000 bytes is longer"},
		{ggufFile(ggufAll(ggufPair("k", uint32(ggufUint8), uint8(1)), ggufPair("k", uint32(ggufUint8), uint8(1))), 0), `metadata "k" stands twice`},
		{ggufFile(ggufPair(ggufAlignmentKey, uint32(ggufUint32), uint32(33)), 0), "general.alignment is 33; a power of two"},
		{ggufFile(ggufPair(ggufAlignmentKey, uint32(ggufUint32), uint32(0)), 0), "general.alignment is 0; a power of two"},
		{ggufFile(ggufPair(ggufAlignmentKey, uint32(ggufInt32), int32(32)), 0), "of type uint32 is expected"},
	},
}

func TestLoadCorruptFiles(t *testing.T) {
	before := LiveArrays()
	for kind, cases := range corruptFiles {
		path := filepath.Join(t.TempDir(), "file."+kind)
		for i, c := range cases {
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o644))
			arrays, _, err := loadAny(path)
			if c.want == "" {
				assert.NoError(t, err, "%s %d", kind, i)
				for _, a := range arrays {
					a.Free()
				}
				continue
			}
			assert.ErrorContains(t, err, "load "+path+": ", "%s %d", kind, i)
			assert.ErrorContains(t, err, c.want, "%s %d", kind, i)
		}
	}
	assert.LessOrEqual(t, LiveArrays(), before, "a file that fails leaves no arrays")
}

// seeds are good files to damage.
func seeds(t testing.TB, kind string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for name := range readFileContents(t) {
		if strings.HasSuffix(name, kind) {
			text, err := os.ReadFile(filepath.Join("testdata", "files", name))
			require.NoError(t, err)
			files[name] = text
		}
	}
	require.NotEmpty(t, files)
	return files
}

// loadDamaged loads bytes as a file, and uses what comes out. Only a crash is a fault.
func loadDamaged(t testing.TB, kind string, text []byte) (good bool) {
	t.Helper()
	var arrays map[string]*Array
	var err error
	s := source{bytes.NewReader(text), int64(len(text))}
	switch kind {
	case ".npy":
		var a *Array
		a, err = loadNPY(s)
		arrays = map[string]*Array{"": a}
	case ".safetensors":
		arrays, _, err = loadSafetensors(s)
	case ".gguf":
		arrays, _, err = loadGGUF(s)
	}
	if err != nil {
		return false
	}
	for name, a := range arrays {
		require.NoError(t, a.Err(), name)
		require.NotEmpty(t, a.String(), name)
		raw(t, a)
		a.Free()
	}
	return true
}

// damage changes a file in one of several ways.
func damage(rnd *rand.Rand, text []byte, others map[string][]byte) []byte {
	text = slices.Clone(text)
	for range 1 + rnd.IntN(3) {
		// Most of what can go wrong is in the header, at the beginning.
		reach := len(text)
		if rnd.IntN(3) > 0 {
			reach = min(reach, 300)
		}
		if reach == 0 {
			return text
		}
		i := rnd.IntN(reach)
		switch rnd.IntN(7) {
		case 0:
			text[i] ^= 1 << rnd.IntN(8)
		case 1:
			text[i] = byte(rnd.Uint32())
		case 2:
			text = text[:i]
		case 3:
			text = slices.Delete(text, i, min(i+1+rnd.IntN(8), len(text)))
		case 4:
			text = slices.Insert(text, i, text[i:min(i+1+rnd.IntN(16), len(text))]...)
		case 5:
			binary.LittleEndian.PutUint32(text[min(i, max(0, len(text)-4)):][:min(4, len(text))], rnd.Uint32()>>rnd.IntN(32))
		case 6:
			for _, other := range others {
				text = slices.Concat(text[:i], other[min(i, len(other)):])
				break
			}
		}
		if len(text) < 4 {
			return text
		}
	}
	return text
}

func TestLoadDamagedFiles(t *testing.T) {
	for _, kind := range []string{".npy", ".safetensors", ".gguf"} {
		files := seeds(t, kind)
		rnd := rand.New(rand.NewPCG(1, 2))
		rounds := 3000 / len(files)
		good := 0
		for name, text := range files {
			for range rounds {
				damaged := damage(rnd, text, files)
				if loadDamaged(t, kind, damaged) {
					good++
				}
			}
			require.True(t, loadDamaged(t, kind, text), name)
		}
		assert.NotZero(t, good, "some damage is only to elements (%s)", fmt.Sprint(kind))
	}
}

func FuzzLoadNPY(f *testing.F)         { fuzzLoad(f, ".npy") }
func FuzzLoadSafetensors(f *testing.F) { fuzzLoad(f, ".safetensors") }
func FuzzLoadGGUF(f *testing.F)        { fuzzLoad(f, ".gguf") }

func fuzzLoad(f *testing.F, kind string) {
	for _, text := range seeds(f, kind) {
		f.Add(text)
	}
	for _, c := range corruptFiles[kind[1:]] {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { loadDamaged(t, kind, text) })
}
