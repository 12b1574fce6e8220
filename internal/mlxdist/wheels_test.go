package mlxdist

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOfficialCatalogIsComplete(t *testing.T) {
	seen := map[string]string{}
	for _, w := range Official {
		assert.Regexp(t, `^[0-9a-f]{64}$`, w.SHA256, w.Variant)
		assert.True(t, strings.HasPrefix(w.Variant, w.GOOS+"-"+w.GOARCH+"-"), w.Variant)
		assert.Greater(t, w.Unpacked, w.Size, w.Variant)
		for _, key := range []string{w.Variant, w.SHA256, w.Project + w.Platform} {
			assert.Empty(t, seen[key], "%s and %s share %s", w.Variant, seen[key], key)
			seen[key] = w.Variant
		}
	}
	for _, name := range Official.Variants() {
		w, err := Official.Named(name)
		require.NoError(t, err)
		assert.Equal(t, name, w.Variant)
	}
	_, err := Official.Named("plan9-mips")
	assert.ErrorContains(t, err, `"plan9-mips"`)
	assert.ErrorContains(t, err, "linux-arm64-cpu")
}

func TestWheelForMachine(t *testing.T) {
	for _, c := range []struct {
		goos, goarch, version string
		cuda                  bool
		want                  string
	}{
		{"linux", "amd64", "", false, "linux-amd64-cpu"},
		{"linux", "arm64", "", false, "linux-arm64-cpu"},
		{"linux", "amd64", "", true, "linux-amd64-cuda13"},
		{"linux", "arm64", "", true, "linux-arm64-cuda13"},
		{"darwin", "arm64", "14.0", false, "darwin-arm64-macos14"},
		{"darwin", "arm64", "14.7.1", false, "darwin-arm64-macos14"},
		{"darwin", "arm64", "15.0", false, "darwin-arm64-macos15"},
		{"darwin", "arm64", "26.1", false, "darwin-arm64-macos15"},
		{"darwin", "arm64", "26.2", false, "darwin-arm64-macos26"},
		{"darwin", "arm64", "26.10.1", false, "darwin-arm64-macos26"},
		{"darwin", "arm64", "27.0", false, "darwin-arm64-macos26"},
	} {
		reversed := slices.Clone(Official) // the order in the catalog must not matter
		slices.Reverse(reversed)
		for _, catalog := range []Catalog{Official, reversed} {
			w, err := catalog.For(Host{c.goos, c.goarch, c.version}, c.cuda)
			require.NoError(t, err, "%+v", c)
			assert.Equal(t, c.want, w.Variant, "%+v", c)
		}
	}
	for _, c := range []struct {
		goos, goarch, version string
		cuda                  bool
		want                  string
	}{
		{"linux", "386", "", false, "has no build for linux/386"},
		{"windows", "amd64", "", false, "has no build for windows/amd64"},
		{"darwin", "amd64", "15.0", false, "only on Apple silicon"},
		{"darwin", "arm64", "13.7", false, "macOS 13.7 is too old"},
		{"darwin", "arm64", "", false, "macOS (unknown version) is too old"},
		{"darwin", "arm64", "15.0", true, "no CUDA build for darwin/arm64"},
		{"linux", "riscv64", "", true, "no CUDA build for linux/riscv64"},
	} {
		_, err := Official.For(Host{c.goos, c.goarch, c.version}, c.cuda)
		assert.ErrorContains(t, err, c.want, "%+v", c)
	}
}

func TestCheckLibc(t *testing.T) {
	path := t.TempDir()
	t.Setenv("PATH", path)
	for printed, want := range map[string]string{"glibc 2.35": "", "glibc 2.100": "", "glibc 2.31": "this system has glibc 2.31", "glibc 1.99": "glibc 1.99"} {
		fakeProgram(t, path, "getconf", "echo "+printed)
		err := CheckLibc("linux")
		if want == "" {
			assert.NoError(t, err, printed)
		} else {
			assert.ErrorContains(t, err, want)
			assert.ErrorContains(t, err, "2.35")
		}
		assert.NoError(t, CheckLibc("darwin"))
	}
}
