package mlxdist

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// elfHeaderOnly returns a 64-bit ELF file that has a header and nothing else.
func elfHeaderOnly(t *testing.T, machine elf.Machine) string {
	t.Helper()
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Ehsize: 64, Phentsize: 56, Shentsize: 64}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	require.NoError(t, binary.Write(&b, binary.LittleEndian, h))
	return b.String()
}

func TestFindOpenBLAS(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"arm/libopenblas.so.0":    elfHeaderOnly(t, elf.EM_AARCH64),
		"amd/libopenblas.so.0":    elfHeaderOnly(t, elf.EM_X86_64),
		"text/libopenblas.so.0":   "INPUT(-lopenblas)",
		"folder/libopenblas.so.0": "", // made a folder below
		"other/libopenblas.so":    elfHeaderOnly(t, elf.EM_X86_64),
	})
	folder := filepath.Join(root, "folder", "libopenblas.so.0")
	require.NoError(t, os.Remove(folder))
	require.NoError(t, os.Mkdir(folder, 0o755))
	var dirs []string
	for _, name := range []string{"none", "text", "folder", "other", "arm", "amd"} {
		dirs = append(dirs, filepath.Join(root, name))
	}
	assert.Equal(t, filepath.Join(root, "amd", "libopenblas.so.0"), FindOpenBLAS("amd64", dirs))
	assert.Equal(t, filepath.Join(root, "arm", "libopenblas.so.0"), FindOpenBLAS("arm64", dirs))
	assert.Empty(t, FindOpenBLAS("amd64", dirs[:5]))
	assert.Contains(t, LibraryDirs("amd64"), "/usr/lib/x86_64-linux-gnu")
	assert.Contains(t, LibraryDirs("arm64"), "/usr/lib/aarch64-linux-gnu")
}

// The bundle of a Linux program, with real libraries, is tested in cmd/mlxsetup.
func TestBundleForMacOS(t *testing.T) {
	source := t.TempDir()
	writeFiles(t, source, map[string]string{
		"mlx/include/mlx/version.h":                            versionHeader(Version),
		"mlx/lib/libmlx.dylib":                                 "library",
		"mlx/lib/libjaccl.dylib":                               "jaccl",
		"mlx/lib/mlx.metallib":                                 "kernels",
		"mlx/lib/cmake/x.cmake":                                "not needed",
		"mlx_metal-" + Version + ".dist-info/licenses/LICENSE": "MIT",
	})
	tree, err := Open(source, "darwin")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "new", "dist")
	for range 2 { // the second time it replaces the first
		names, err := tree.Bundle(dir, "", "arm64", nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"mlx"}, names)
		assert.Equal(t, []string{"mlx", "mlx/LICENSE", "mlx/lib", "mlx/lib/libjaccl.dylib", "mlx/lib/libmlx.dylib", "mlx/lib/mlx.metallib"}, filesIn(t, dir))
	}
	text, err := os.ReadFile(filepath.Join(dir, "mlx", "lib", "mlx.metallib"))
	require.NoError(t, err)
	assert.Equal(t, "kernels", string(text))
}

func TestBundleFaultsLeaveTheFolderAsItWas(t *testing.T) {
	source := t.TempDir()
	writeFiles(t, source, map[string]string{"mlx/include/mlx/version.h": versionHeader(Version), "mlx/lib/libmlx.dylib": "library", "mlx/lib/libmlx.so": "no ELF"})
	mac, err := Open(source, "darwin")
	require.NoError(t, err)
	linux, err := Open(source, "linux")
	require.NoError(t, err)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"mlx/mine.go": "package mlx"})

	_, err = mac.Bundle(dir, "", "arm64", nil)
	assert.ErrorContains(t, err, "holds no MLX libraries: choose another folder")
	_, err = linux.Bundle(dir, "", "amd64", nil)
	assert.ErrorContains(t, err, "is not a Linux library")
	_, err = mac.Bundle(filepath.Join(dir, "mlx", "mine.go"), "", "arm64", nil)
	assert.Error(t, err)
	require.NoError(t, os.Remove(mac.Library))
	_, err = mac.Bundle(dir, "", "arm64", nil)
	assert.ErrorContains(t, err, "libmlx.dylib")
	assert.Equal(t, []string{"mlx", "mlx/mine.go"}, filesIn(t, dir))
}
