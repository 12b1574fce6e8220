package mlx

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files in testdata/files were written by other libraries: see testdata/make_files.py.
type fileContents struct {
	Arrays map[string]struct {
		Dtype, Data string
		Shape       []int
	}
	Meta map[string]any
}

func readFileContents(t testing.TB) map[string]fileContents {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "files", "files.json"))
	require.NoError(t, err)
	var contents map[string]fileContents
	require.NoError(t, json.Unmarshal(text, &contents))
	return contents
}

// loadAny loads a file by its suffix.
func loadAny(path string) (map[string]*Array, map[string]any, error) {
	switch filepath.Ext(path) {
	case ".npy":
		a, err := Load(path)
		return map[string]*Array{"": a}, map[string]any{}, err
	case ".gguf":
		return LoadGGUF(path)
	}
	arrays, meta, err := LoadSafetensors(path)
	converted := map[string]any{}
	for k, v := range meta {
		converted[k] = v
	}
	return arrays, converted, err
}

// raw are the bytes of the elements in row-major order.
func raw(t testing.TB, a *Array) []byte {
	t.Helper()
	v, err := Values[uint8](a.Flatten(0, -1).Contiguous().View(Uint8))
	require.NoError(t, err)
	return v
}

func TestLoadFilesOfOthers(t *testing.T) {
	contents := readFileContents(t)
	require.Greater(t, len(contents), 25)
	for name, want := range contents {
		t.Run(name, func(t *testing.T) {
			arrays, meta, err := loadAny(filepath.Join("testdata", "files", name))
			require.NoError(t, err)
			got, err := json.Marshal(meta)
			require.NoError(t, err)
			expected, err := json.Marshal(want.Meta)
			require.NoError(t, err)
			assert.JSONEq(t, string(expected), string(got))
			require.Len(t, arrays, len(want.Arrays))
			for key, w := range want.Arrays {
				a := arrays[key]
				require.NotNil(t, a, key)
				require.NoError(t, a.Err())
				assert.Equal(t, w.Dtype, a.Dtype().String(), key)
				assert.Equal(t, w.Shape, a.Shape(), key)
				data, err := base64.StdEncoding.DecodeString(w.Data)
				require.NoError(t, err)
				if len(data) > 0 {
					assert.Equal(t, data, raw(t, a), key)
				}
			}
		})
	}
}

// What is saved is byte for byte what the formats' own libraries write, where these have one way to write it.
func TestSaveWritesWhatOthersWrite(t *testing.T) {
	same := func(name string, save func(path string) error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, save(path))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join("testdata", "files", name))
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
	for name := range readFileContents(t) {
		if !strings.HasPrefix(name, "dtype_") && name != "scalar.npy" && name != "empty.npy" {
			continue
		}
		a, err := Load(filepath.Join("testdata", "files", name))
		require.NoError(t, err)
		same(name, func(path string) error { return Save(path, a) })
	}
	arrays, meta, err := LoadSafetensors(filepath.Join("testdata", "files", "library.safetensors"))
	require.NoError(t, err)
	same("library.safetensors", func(path string) error { return SaveSafetensors(path, arrays, meta) })
}

func TestSaveIsAtomic(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.bin")
	failing := errors.New("the disk is full")
	write := func(text string, err error) error {
		return writeAtomically(path, func(w io.Writer) error {
			_, writeErr := io.WriteString(w, text)
			return errors.Join(writeErr, err)
		})
	}
	// Nothing is left of a first file that fails.
	err := write(strings.Repeat("x", 1<<20), failing)
	require.ErrorIs(t, err, failing)
	require.ErrorContains(t, err, "save "+path)
	assert.Empty(t, names(t, folder))
	// A file that was there stays as it was.
	require.NoError(t, write("old", nil))
	require.Error(t, write("new", failing))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	// Nor does a panic leave anything behind.
	assert.Panics(t, func() { _ = writeAtomically(path, func(io.Writer) error { panic("ouch") }) })
	assert.Equal(t, []string{"a.bin"}, names(t, folder))
	require.NoError(t, write("new", nil))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	assert.Equal(t, []string{"a.bin"}, names(t, folder))
}

func names(t testing.TB, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestSavePermissionsAndLinks(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.npy")
	a := New([]float32{1, 2})
	require.NoError(t, Save(path, a))
	plain := filepath.Join(folder, "plain")
	f, err := os.OpenFile(plain, os.O_CREATE, 0o666)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, mode(t, plain), mode(t, path), "a new file has the mode that any new file gets")
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, Save(path, a))
	assert.Equal(t, fs.FileMode(0o600), mode(t, path), "a replaced file keeps its mode")
	link := filepath.Join(folder, "link.npy")
	require.NoError(t, os.Symlink("a.npy", link))
	require.NoError(t, Save(link, New([]float32{7})))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&fs.ModeSymlink, "a link stays a link")
	b, err := Load(path)
	require.NoError(t, err)
	assert.Equal(t, []float32{7}, floats(t, b))
}

func mode(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

// Each kind of file, for what they have in common.
var fileKinds = map[string]struct {
	save func(path string, a *Array) error
	load func(path string) (*Array, error)
}{
	"npy": {Save, Load},
	"safetensors": {func(path string, a *Array) error { return SaveSafetensors(path, map[string]*Array{"x": a}, nil) },
		func(path string) (*Array, error) { m, _, err := LoadSafetensors(path); return m["x"], err }},
	"gguf": {func(path string, a *Array) error { return SaveGGUF(path, map[string]*Array{"x": a}, nil) },
		func(path string) (*Array, error) { m, _, err := LoadGGUF(path); return m["x"], err }},
}

func TestFilesRoundTrip(t *testing.T) {
	base := New([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	arrays := map[string]*Array{
		"plain": base, "transposed": base.T(), "reversed": base.SliceStep([]int{1, 2}, []int{-3, -4}, []int{-1, -1}),
		"slice": base.SliceAxis(1, 1, 2), "broadcast": New([]float32{1, 2}, 2, 1).BroadcastTo(2, 3), "scalar": Scalar(float32(7)),
		"empty": New([]float32{}), "empty axes": Zeros([]int{2, 0, 3}, Int32), "lazy": base.Add(1).Exp(), "not finite": New([]float32{1}).Div(0),
		"large": Arange(0, 300000, 1, Float32).Reshape(300, 1000).T(), "int8": New([]int8{-1, 2}), "float64": New([]float64{1e300}),
		"bfloat16": New([]BF16{BF16From(2.5)}), "float16": New([]F16{F16From(2.5)}), "bool": New([]bool{true, false}),
		"complex": New([]complex64{1 + 2i}), "uint64": New([]uint64{1 << 63}),
	}
	noGGUF := map[string]bool{"bool": true, "complex": true, "uint64": true}
	for kind, k := range fileKinds {
		for name, a := range arrays {
			t.Run(kind+" "+name, func(t *testing.T) {
				// No suffix is added to a name, and odd names are names.
				path := filepath.Join(t.TempDir(), "odd näme %d")
				err := k.save(path, a)
				if kind == "gguf" && noGGUF[name] {
					require.ErrorContains(t, err, `array "x": the format has no `+a.Dtype().String())
					assert.Empty(t, names(t, filepath.Dir(path)))
					return
				}
				require.NoError(t, err)
				assert.Equal(t, []string{"odd näme %d"}, names(t, filepath.Dir(path)))
				b, err := k.load(path)
				require.NoError(t, err)
				assert.Equal(t, a.Dtype(), b.Dtype())
				assert.Equal(t, a.Shape(), b.Shape())
				// What happens to the file later does not matter.
				require.NoError(t, os.Truncate(path, 0))
				if a.Size() > 0 {
					assert.Equal(t, raw(t, a), raw(t, b))
				}
			})
		}
	}
}

func TestFilesErrors(t *testing.T) {
	folder := t.TempDir()
	bad := New([]float32{1, 2}).Add(New([]float32{1, 2, 3}))
	freed := New([]float32{1})
	freed.Free()
	for kind, k := range fileKinds {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(folder, "missing", "a")
			_, err := k.load(path)
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.EqualError(t, err, "load "+path+": no such file or directory")
			err = k.save(path, New([]float32{1}))
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.EqualError(t, err, "save "+path+": no such file or directory")
			_, err = k.load(folder)
			require.ErrorContains(t, err, "load "+folder+": it is not a regular file")
			require.ErrorContains(t, k.save(folder, New([]float32{1})), "not a regular file")
			_, err = k.load(os.DevNull)
			require.ErrorContains(t, err, "not a regular file")
			for _, text := range []string{"", "x", "{}", strings.Repeat("nonsense", 100), strings.Repeat("\x00", 100), strings.Repeat("\xff", 100)} {
				path := filepath.Join(folder, "nonsense")
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
				_, err := k.load(path)
				require.ErrorContains(t, err, "load "+path+": ")
				require.NoError(t, os.Remove(path))
			}
			path = filepath.Join(folder, "a")
			require.ErrorIs(t, k.save(path, bad), bad.Err())
			require.ErrorContains(t, k.save(path, freed), "freed")
			require.ErrorContains(t, k.save(path, nil), "nil")
			require.ErrorContains(t, k.save(path, faulty(Stream{}, New([]float32{1}), inTask)), "thrown in a task")
			assert.Empty(t, names(t, folder))
		})
	}
}

// Loading takes no more memory than the arrays need, and a file that claims more than it has takes none.
func TestLoadMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	require.NoError(t, Save(path, Zeros([]int{1 << 20}, Float32)))
	before := ActiveMemory()
	a, err := Load(path)
	require.NoError(t, err)
	assert.InDelta(t, 4<<20, ActiveMemory()-before, 1<<16)
	a.Free()
	assert.InDelta(t, before, ActiveMemory(), 1<<16)

	// A sparse file is as long as it says, but no memory can hold it.
	const claimed = 1 << 40
	header := "{'descr': '|u1', 'fortran_order': False, 'shape': (1048576, 1048576), }"
	text := append(append([]byte(npyMagic), 1, 0, byte(len(header)), 0), header...)
	require.NoError(t, os.WriteFile(path, text, 0o644))
	require.NoError(t, os.Truncate(path, int64(len(text))+claimed))
	_, err = Load(path)
	require.ErrorContains(t, err, "cannot allocate 1099511627776 bytes")
	assert.InDelta(t, before, ActiveMemory(), 1<<16)
}
