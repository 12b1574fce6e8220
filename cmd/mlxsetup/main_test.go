package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/mlxdist"
)

// fileFetcher hands out a wheel, or fails when it has none.
type fileFetcher struct{ wheel []byte }

func (f fileFetcher) Fetch(_ context.Context, _ mlxdist.Wheel, dir string) (string, error) {
	if f.wheel == nil {
		return "", errors.New("the package index could not be reached")
	}
	path := filepath.Join(dir, "mlx.whl")
	return path, os.WriteFile(path, f.wheel, 0o644)
}

func versionHeader(version string) string {
	p := strings.Split(version, ".")
	return fmt.Sprintf("#define MLX_VERSION_MAJOR %s\n#define MLX_VERSION_MINOR %s\n#define MLX_VERSION_PATCH %s\n", p[0], p[1], p[2])
}

// newTool returns a tool for linux/amd64 with a small wheel to fetch, an empty cache
// with a space in its path, no OpenBLAS, and go env settings of its own.
func newTool(t *testing.T) (tl *tool, stdout, stderr *bytes.Buffer) {
	t.Helper()
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for name, text := range map[string]string{"mlx/include/mlx/version.h": versionHeader(mlxdist.Version), "mlx/lib/libmlx.so": "library"} {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	sum := sha256.Sum256(wheel.Bytes())
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)

	t.Setenv(mlxdist.CacheEnv, filepath.Join(t.TempDir(), "my cache"))
	t.Setenv("GOENV", filepath.Join(t.TempDir(), "goenv"))
	t.Setenv(cppVar, "")
	t.Setenv(ldVar, "")
	return &tool{
		stdout: stdout, stderr: stderr,
		host: mlxdist.Host{GOOS: "linux", GOARCH: "amd64"},
		catalog: mlxdist.Catalog{
			{Variant: "linux-amd64-cpu", Project: "mlx-cpu", GOOS: "linux", GOARCH: "amd64", SHA256: hex.EncodeToString(sum[:])},
			{Variant: "linux-arm64-cpu", Project: "mlx-cpu", GOOS: "linux", GOARCH: "arm64", SHA256: strings.Repeat("0", 64)},
			{Variant: "linux-amd64-cuda13", Project: "mlx-cuda-13", GOOS: "linux", GOARCH: "amd64", CUDA: true, SHA256: hex.EncodeToString(sum[:])},
		},
		fetch: fileFetcher{wheel.Bytes()},
	}, stdout, stderr
}

// cached is the folder in which newTool's wheel ends up.
func cached(t *testing.T) string {
	t.Helper()
	root, err := mlxdist.DefaultRoot()
	require.NoError(t, err)
	return filepath.Join(root, mlxdist.Version+"-linux-amd64-cpu", "mlx")
}

func TestPrintedLinesSetTheFlags(t *testing.T) {
	tl, stdout, stderr := newTool(t)
	require.NoError(t, tl.run(context.Background(), nil))
	lines := stdout.String()
	out, err := exec.Command("sh", "-c", lines+`printf '%s\n' "$CGO_CPPFLAGS" "$CGO_LDFLAGS"`).Output()
	require.NoError(t, err)
	dir := cached(t)
	assert.Equal(t, fmt.Sprintf("'-I%s/include'\n-O2 -g '-L%s/lib' '-Wl,-rpath,%s/lib'\n", dir, dir, dir), string(out))
	assert.Equal(t, 2, strings.Count(lines, "\n"))
	assert.Contains(t, stderr.String(), "OpenBLAS is not installed")
	assert.Contains(t, stderr.String(), "libopenblas0-pthread")

	// Offline, and with what an earlier eval and the user have set.
	tl.fetch = fileFetcher{}
	t.Setenv(cppVar, "-DMINE -I"+dir+"x -g")
	t.Setenv(ldVar, "-O1 '-L"+dir+"/lib' '-Wl,-rpath,"+dir+"/lib'")
	stdout.Reset()
	stderr.Reset()
	require.NoError(t, tl.run(context.Background(), []string{"-no-openblas"}))
	assert.Contains(t, stdout.String(), "-O1 '\\''-L"+dir+"/lib'\\'' '\\''-Wl,")
	assert.Equal(t, 1, strings.Count(stdout.String(), "-L"), stdout.String())
	assert.Contains(t, stdout.String(), "-DMINE")
	assert.Empty(t, stderr.String(), "nothing to say")
}

func TestPrintOneValue(t *testing.T) {
	tl, stdout, stderr := newTool(t)
	dir := cached(t)
	for name, want := range map[string]string{
		"dir": dir, "include": dir + "/include", "lib": dir + "/lib", "version": mlxdist.Version,
		"cppflags": "'-I" + dir + "/include'", "ldflags": "-O2 -g '-L" + dir + "/lib' '-Wl,-rpath," + dir + "/lib'",
	} {
		stdout.Reset()
		require.NoError(t, tl.run(context.Background(), []string{"-print", name}))
		assert.Equal(t, want+"\n", stdout.String(), name)
	}
	assert.NotContains(t, stderr.String(), "OpenBLAS")
}

func TestCUDAFlags(t *testing.T) {
	tl, stdout, stderr := newTool(t)
	require.NoError(t, tl.run(context.Background(), []string{"-cuda"}))
	assert.Contains(t, stdout.String(), "-linux-amd64-cuda13/mlx/lib")
	assert.Contains(t, stdout.String(), "--unresolved-symbols=ignore-in-shared-libs")
	assert.Contains(t, stderr.String(), "CUDA 13 libraries are not part of this")
}

func TestWriteAndUndo(t *testing.T) {
	tl, stdout, stderr := newTool(t)
	require.NoError(t, exec.Command("go", "env", "-w", ldVar+"=-L/mine").Run())
	settings := func() string {
		data, err := os.ReadFile(os.Getenv("GOENV"))
		require.NoError(t, err)
		return string(data)
	}
	dir := cached(t)
	for range 2 { // repeating it changes nothing
		require.NoError(t, tl.run(context.Background(), []string{"-w"}))
		assert.Contains(t, settings(), "CGO_CPPFLAGS='-I"+dir+"/include'\n")
		assert.Contains(t, settings(), "CGO_LDFLAGS=-L/mine '-L"+dir+"/lib' '-Wl,-rpath,"+dir+"/lib'\n")
	}
	assert.Empty(t, stdout.String())

	t.Setenv(ldVar, "-L/hides")
	require.NoError(t, tl.run(context.Background(), []string{"-w"}))
	assert.Contains(t, stderr.String(), "CGO_LDFLAGS is set and hides what was written")
	assert.NotContains(t, settings(), "/hides")

	require.NoError(t, os.RemoveAll(os.Getenv(mlxdist.CacheEnv))) // undoing needs no cache
	require.NoError(t, tl.run(context.Background(), []string{"-u"}))
	assert.Equal(t, "CGO_LDFLAGS=-L/mine\n", settings())
}

func TestWriteWithoutSettingsFile(t *testing.T) {
	tl, _, _ := newTool(t)
	home := t.TempDir() // so that a failing test does not write to the real one
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("GOENV", "off")
	for _, flag := range []string{"-w", "-u"} {
		assert.ErrorContains(t, tl.run(context.Background(), []string{flag}), "turned off (GOENV=off)")
		assert.NoFileExists(t, filepath.Join(home, "config", "go", "env"))
	}
	t.Setenv("GOENV", "/dev/null/goenv")
	assert.ErrorContains(t, tl.run(context.Background(), []string{"-w"}), "go env -w failed: ")
}

func TestWithoutGoCommand(t *testing.T) {
	tl, stdout, _ := newTool(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv(cppVar, "-DMINE")
	require.NoError(t, tl.run(context.Background(), []string{"-print", "cppflags"}))
	require.NoError(t, tl.run(context.Background(), []string{"-print", "ldflags"}))
	assert.Contains(t, stdout.String(), "-DMINE '-I")
	assert.Contains(t, stdout.String(), "-O2 -g '-L")
	assert.ErrorContains(t, tl.run(context.Background(), []string{"-u"}), "go command")
}

func TestFromInstalledMLX(t *testing.T) {
	tl, stdout, _ := newTool(t)
	tl.fetch = fileFetcher{}
	dir := t.TempDir()
	for name, text := range map[string]string{"include/mlx/version.h": versionHeader(mlxdist.Version), "lib/libmlx.so": "library"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.NoError(t, tl.run(context.Background(), []string{"-from", dir, "-print", "lib"}))
	assert.Equal(t, filepath.Join(dir, "lib")+"\n", stdout.String())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "include/mlx/version.h"), []byte(versionHeader("0.32.3")), 0o644))
	err := tl.run(context.Background(), []string{"-from", dir})
	assert.ErrorContains(t, err, "is version 0.32.3, but this module needs "+mlxdist.Version)
}

func TestHelp(t *testing.T) {
	tl, stdout, stderr := newTool(t)
	require.NoError(t, tl.run(context.Background(), []string{"-h"}))
	for _, want := range []string{"-bundle", "-from", "-cuda", "-w", "-u", "linux-arm64-cpu", "eval"} {
		assert.Contains(t, stdout.String(), want)
	}
	assert.Empty(t, stderr.String())
}

func TestBadInput(t *testing.T) {
	noFetch := func(tl *tool) { tl.fetch = fileFetcher{} }
	for _, c := range []struct {
		name  string
		args  []string
		alter func(*tool)
		want  string
	}{
		{"unknown flag", []string{"-x"}, nil, "not defined: -x (mlxsetup -h"},
		{"flag without value", []string{"-from"}, nil, "needs an argument"},
		{"empty value", []string{"-from", ""}, nil, "-from is empty"},
		{"argument", []string{"now"}, nil, `unexpected argument "now"`},
		{"write and undo", []string{"-w", "-u"}, nil, "-w and -u cannot be used together"},
		{"from and cuda", []string{"-from", "x", "-cuda"}, nil, "-from and -cuda cannot be used together"},
		{"unknown value", []string{"-print", "color"}, nil, "-print color: expected one of dir, include"},
		{"unknown variant", []string{"-variant", "beos"}, nil, `no variant "beos"`},
		{"missing folder", []string{"-from", "/no/such"}, nil, "no MLX in /no/such: the folder does not exist"},
		{"32 bits", nil, func(tl *tool) { tl.host.GOARCH = "386" }, "no build for linux/386"},
		{"Intel Mac", nil, func(tl *tool) { tl.host = mlxdist.Host{GOOS: "darwin", GOARCH: "amd64", OSVersion: "15.1"} }, "only on Apple silicon"},
		{"no network", nil, noFetch, "could not be reached"},
		{"wrong hash", []string{"-variant", "linux-arm64-cpu"}, nil, "expected " + strings.Repeat("0", 64)},
		{"bundle into a file", []string{"-bundle", "/dev/null/x"}, nil, "cannot make the bundle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, stdout, _ := newTool(t)
			if c.alter != nil {
				c.alter(tl)
			}
			err := tl.run(context.Background(), c.args)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
			assert.Empty(t, stdout.String(), "nothing that a shell would eval")
		})
	}
}

func TestBrokenFlagsOfTheUser(t *testing.T) {
	tl, stdout, _ := newTool(t)
	t.Setenv(ldVar, "'-Lopen")
	err := tl.run(context.Background(), nil)
	assert.ErrorContains(t, err, "could not parse environment variable CGO_LDFLAGS")
	assert.Empty(t, stdout.String())
}

// The whole program: without cgo, exit code 1, one sentence on stderr.
func TestProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "mlxsetup")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	noPip := t.TempDir() // a PATH on which there is no Python
	for _, args := range [][]string{{"-x"}, {"-print", "dir"}} {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"PATH=" + noPip, mlxdist.CacheEnv + "=" + filepath.Join(t.TempDir(), "cache")}
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit)
		assert.Equal(t, 1, exit.ExitCode())
		assert.Empty(t, stdout.String())
		last := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		assert.True(t, strings.HasPrefix(last[len(last)-1], "mlxsetup: "), stderr.String())
		if args[0] != "-x" {
			assert.Contains(t, stderr.String(), "pip, which downloads MLX, was not found: run ")
		} else {
			assert.Len(t, last, 1)
		}
	}
}
