package mlxdist

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnpack(t *testing.T) {
	file, _ := makeWheel(t, goodMembers())
	dir := t.TempDir()
	entries, err := unpack(file, dir, createFile)
	require.NoError(t, err)
	require.Len(t, entries, 4, "folders are not listed")
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(e.path)))
		require.NoError(t, err)
		assert.Equal(t, e.size, info.Size(), e.path)
	}
	text, err := os.ReadFile(filepath.Join(dir, "mlx_cpu.libs", "libblas.so.3"))
	require.NoError(t, err)
	assert.Equal(t, "blas", string(text))
}

func TestUnpackRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  member
		want string
	}{
		{"parent", member{name: "../evil", text: "x"}, "leads out of the folder"},
		{"parent in the middle", member{name: "mlx/../../evil", text: "x"}, "leads out of the folder"},
		{"absolute", member{name: "/tmp/evil", text: "x"}, "leads out of the folder"},
		{"backslash", member{name: `..\evil`, text: "x"}, "leads out of the folder"},
		{"parent folder", member{name: "../evil/", mode: fs.ModeDir | 0o755}, "leads out of the folder"},
		{"link", member{name: "mlx/link", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}, "neither a file nor a folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, _ := makeWheel(t, append(goodMembers(), c.bad))
			outer := t.TempDir()
			dir := filepath.Join(outer, "in", "ner")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			_, err := unpack(file, dir, createFile)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, []string{"in", "in/ner"}, filesIn(t, outer), "nothing may be written")
		})
	}
	file, _ := makeWheel(t, append(goodMembers(), member{name: "mlx/include/mlx/mlx.h", text: "again"}))
	_, err := unpack(file, t.TempDir(), createFile)
	assert.ErrorIs(t, err, fs.ErrExist, "a name that comes twice")
}

func TestUnpackDamagedFiles(t *testing.T) {
	file, _ := makeWheel(t, []member{{name: "a", text: "some text that is stored, to be found again"}})
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	flipped := bytes.Clone(data)
	flipped[35] ^= 0x40 // in the compressed text: the length or the CRC does not fit then
	for name, content := range map[string][]byte{"cut": data[:len(data)-10], "empty": nil, "no zip": []byte("<html>"), "flipped": flipped} {
		require.NoError(t, os.WriteFile(file, content, 0o644))
		_, err := unpack(file, t.TempDir(), createFile)
		assert.Error(t, err, name)
		assert.ErrorContains(t, err, filepath.Base(file), name)
	}
}
