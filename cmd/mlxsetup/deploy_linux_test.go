package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/mlxdist"
)

// A stand-in for libmlx and its neighbours, built the way the wheel is: libmlx.so
// finds its BLAS in ../../mlx_cpu.libs, and OpenBLAS defines the same symbol and in
// turn needs a Fortran library that nothing else finds.
const (
	slowBLAS    = `extern "C" int blas() { return 1; }`
	openBLAS    = `extern "C" int fortran(); extern "C" int blas() { return fortran(); }`
	fortran     = `extern "C" int fortran() { return 2; }`
	mlxSource   = `extern "C" int blas(); extern "C" __attribute__((visibility("default"))) int mlx_answer() { return 40 + blas(); }`
	mlxHeader   = "#pragma once\n#include <mlx/version.h>\nextern \"C\" int mlx_answer();\n"
	userGo      = "package main\n\n// #cgo LDFLAGS: -lmlx\n// int answer(void);\nimport \"C\"\nimport \"fmt\"\n\nfunc main() { fmt.Println(C.answer()) }\n"
	userCpp     = "#include <mlx/mlx.h>\nextern \"C\" int answer() { return mlx_answer(); }\n"
	userModFile = "module example.com/app\n\ngo 1.26\n"
)

// standIn builds the stand-in and returns the folder with mlx in it, and the folder
// with OpenBLAS.
func standIn(t *testing.T) (site, system string) {
	t.Helper()
	site, system = filepath.Join(t.TempDir(), "site packages"), filepath.Join(t.TempDir(), "system lib")
	lib, libs := filepath.Join(site, "mlx", "lib"), filepath.Join(site, "mlx_cpu.libs")
	include := filepath.Join(site, "mlx", "include", "mlx")
	for _, dir := range []string{lib, libs, include, system} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(include, "version.h"), []byte(versionHeader(mlxdist.Version)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(include, "mlx.h"), []byte(mlxHeader), 0o644))
	shared := func(dir, name, source string, flags ...string) {
		cmd := exec.Command("g++", append([]string{"-shared", "-fPIC", "-x", "c++", "-", "-o", filepath.Join(dir, name), "-Wl,-soname," + name, "-x", "none"}, flags...)...)
		cmd.Stdin = strings.NewReader(source)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	shared(libs, "libblas.so.3", slowBLAS)
	shared(lib, "libmlx.so", mlxSource, filepath.Join(libs, "libblas.so.3"), "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../mlx_cpu.libs")
	shared(system, "libtestfortran.so.5", fortran)
	shared(system, "libopenblas.so.0", openBLAS, filepath.Join(system, "libtestfortran.so.5"))
	return site, system
}

// buildUser writes and builds a small cgo program with the printed lines.
func buildUser(t *testing.T, lines, output string, extra ...string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": userModFile, "main.go": userGo, "main.cpp": userCpp} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cmd := exec.Command("sh", "-c", lines+`exec go build -buildvcs=false -o "$0" .`, output)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), extra...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func runProgram(program string, environ ...string) (string, error) {
	cmd := exec.Command(program)
	cmd.Dir = os.TempDir()
	cmd.Env = environ
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Case B100: a program that is moved alone runs as long as MLX is where it was; one
// that was built for a bundle runs anywhere beside it, with MLX and OpenBLAS gone.
func TestB100MovedProgramFindsItsLibraries(t *testing.T) {
	site, system := standIn(t)
	tl, stdout, stderr := newTool(t)
	tl.host.GOARCH = runtime.GOARCH
	tl.libraryDirs = []string{system}

	require.NoError(t, tl.run(context.Background(), []string{"-from", site, "-no-openblas"}))
	alone := filepath.Join(t.TempDir(), "app")
	buildUser(t, stdout.String(), alone)
	out, err := runProgram(alone)
	require.NoError(t, err, out)
	assert.Equal(t, "41", out)

	// Linker and loader do not know the stand-in's folder of system libraries.
	stdout.Reset()
	require.NoError(t, tl.run(context.Background(), []string{"-from", site}))
	assert.Contains(t, stderr.String(), "linking OpenBLAS ("+filepath.Join(system, "libopenblas.so.0")+") ahead of libmlx")
	fast := filepath.Join(t.TempDir(), "app")
	buildUser(t, stdout.String(), fast, "LIBRARY_PATH="+system, "LD_LIBRARY_PATH="+system)
	out, err = runProgram(fast, "LD_LIBRARY_PATH="+system)
	require.NoError(t, err, out)
	assert.Equal(t, "42", out, "OpenBLAS must win over the BLAS of the wheel")

	dist := filepath.Join(t.TempDir(), "dist")
	stdout.Reset()
	require.NoError(t, tl.run(context.Background(), []string{"-from", site, "-bundle", dist}))
	buildUser(t, stdout.String(), filepath.Join(dist, "app"), "LIBRARY_PATH="+system, "LD_LIBRARY_PATH="+system)
	moved := filepath.Join(t.TempDir(), "moved to here")
	require.NoError(t, os.Rename(dist, moved))
	require.NoError(t, os.RemoveAll(site))
	require.NoError(t, os.RemoveAll(system))
	out, err = runProgram(filepath.Join(moved, "app"))
	require.NoError(t, err, out)
	assert.Equal(t, "42", out)

	out, err = runProgram(alone)
	require.Error(t, err, "its MLX is gone")
	assert.Contains(t, out, "libmlx.so")
}

func TestBundleNeedsWhatOpenBLASNeeds(t *testing.T) {
	site, system := standIn(t)
	require.NoError(t, os.Remove(filepath.Join(system, "libtestfortran.so.5")))
	tl, stdout, _ := newTool(t)
	tl.host.GOARCH = runtime.GOARCH
	tl.libraryDirs = []string{system}
	dist := filepath.Join(t.TempDir(), "dist")
	err := tl.run(context.Background(), []string{"-from", site, "-bundle", dist})
	require.ErrorContains(t, err, "needs libtestfortran.so.5")
	assert.ErrorContains(t, err, "-no-openblas")
	assert.Empty(t, stdout.String())
	left, err := os.ReadDir(dist)
	require.NoError(t, err)
	assert.Empty(t, left)

	require.NoError(t, tl.run(context.Background(), []string{"-from", site, "-bundle", dist, "-no-openblas"}))
	same, err := os.ReadFile(filepath.Join(dist, "mlx_cpu.libs", "libblas.so.3"))
	require.NoError(t, err)
	original, err := os.ReadFile(filepath.Join(site, "mlx_cpu.libs", "libblas.so.3"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(original, same))
}
