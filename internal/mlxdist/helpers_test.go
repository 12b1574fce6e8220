package mlxdist

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// versionHeader is mlx/version.h as it is in the wheels, cut to what is read.
func versionHeader(version string) string {
	p := strings.Split(version, ".")
	return fmt.Sprintf("#pragma once\n\n#define MLX_VERSION_MAJOR %s\n#define MLX_VERSION_MINOR %s\n#define MLX_VERSION_PATCH %s\n"+
		"#define MLX_VERSION_NUMERIC \\\n  (100000 * MLX_VERSION_MAJOR + 1000 * MLX_VERSION_MINOR + MLX_VERSION_PATCH)\n", p[0], p[1], p[2])
}

// member is one file of a test wheel; a zero mode means a plain file.
type member struct {
	name, text string
	mode       fs.FileMode
}

// goodMembers are the files of a small wheel that is right in every way.
func goodMembers() []member {
	return []member{
		{name: "mlx/", mode: fs.ModeDir | 0o755},
		{name: "mlx/include/mlx/version.h", text: versionHeader(Version)},
		{name: "mlx/include/mlx/mlx.h", text: "#include <mlx/version.h>\n"},
		{name: "mlx/lib/libmlx.so", text: strings.Repeat("library ", 2000)},
		{name: "mlx_cpu.libs/libblas.so.3", text: "blas"},
	}
}

// makeWheel writes a wheel and returns its path and the catalog entry for it.
func makeWheel(t *testing.T, members []member) (string, Wheel) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mlx_cpu-"+Version+"-py3-none-any.whl")
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.mode != 0 {
			h.SetMode(m.mode)
		}
		w, err := z.CreateHeader(h)
		require.NoError(t, err)
		if m.text != "" {
			_, err = w.Write([]byte(m.text))
			require.NoError(t, err)
		}
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	return path, Wheel{
		Variant: "linux-amd64-cpu", Project: "mlx-cpu", Platform: "manylinux_2_35_x86_64", GOOS: "linux", GOARCH: "amd64",
		Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]),
	}
}

// copyFetcher hands out a file as the download and counts the calls.
type copyFetcher struct {
	file  string
	err   error
	calls atomic.Int32
}

func (f *copyFetcher) Fetch(_ context.Context, _ Wheel, dir string) (string, error) {
	f.calls.Add(1)
	if f.err != nil {
		return "", f.err
	}
	target := filepath.Join(dir, filepath.Base(f.file))
	return target, copyFile(f.file, target)
}

// filesIn lists all that lies under dir but for the lock file, relative and with slashes.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	found := []string{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, p); rel != "." && rel != ".lock" {
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	}))
	return found
}

// fakeProgram puts an executable shell script into dir.
func fakeProgram(t *testing.T, dir, name, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
}
