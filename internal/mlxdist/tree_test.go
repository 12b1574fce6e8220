package mlxdist

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeFiles makes the given files (path with slashes: text) under dir.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func TestOpenLayouts(t *testing.T) {
	for _, c := range []struct {
		name, goos string
		files      []string
		dir, base  string
	}{
		{"unpacked wheel", "linux", []string{"mlx/include/mlx/version.h", "mlx/lib/libmlx.so"}, ".", "mlx"},
		{"site-packages/mlx", "linux", []string{"mlx/include/mlx/version.h", "mlx/lib/libmlx.so"}, "mlx", "mlx"},
		{"prefix", "darwin", []string{"include/mlx/version.h", "lib/libmlx.dylib"}, ".", "."},
		{"prefix with lib64", "linux", []string{"include/mlx/version.h", "lib64/libmlx.so"}, ".", "."},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{c.files[0]: versionHeader(Version), c.files[1]: "library"})
			tree, err := Open(filepath.Join(dir, c.dir), c.goos)
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(dir, c.base), tree.Dir)
			assert.Equal(t, filepath.Join(dir, c.base, "include"), tree.Include)
			assert.Equal(t, filepath.Join(dir, filepath.FromSlash(c.files[1])), tree.Library)
			assert.Equal(t, filepath.Dir(tree.Library), tree.Lib)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	make := func(version, lib string) string {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"include/mlx/version.h": version, lib: "library"})
		return dir
	}
	for _, c := range []struct{ dir, want string }{
		{filepath.Join(empty, "no"), "the folder does not exist"},
		{file, "it is not a folder"},
		{empty, "expected include/mlx/version.h and lib/libmlx.so"},
		{make(versionHeader(Version), "lib/libmlx.dylib"), "no MLX for linux"},
		{make(versionHeader(Version), "lib/libmlx.so/x"), "no MLX for linux"},
		{make(versionHeader("0.32.2"), "lib/libmlx.so"), "is version 0.32.2, but this module needs " + Version},
		{make("#define MLX_VERSION_MAJOR 0\n", "lib/libmlx.so"), "is version (unreadable)"},
	} {
		_, err := Open(c.dir, "linux")
		require.ErrorContains(t, err, c.want)
		assert.ErrorContains(t, err, c.dir)
	}
}
