package mlx

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	children["shutdown"] = afterShutdown
	children["exit while computing"] = exitWhileComputing
	children["no compiler"] = fuseWithoutCompiler
	children["gru"] = func() {
		v, err := Values[float32](gru())
		must(err)
		fmt.Println(v)
	}
}

// must ends a child with what went wrong.
func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// afterShutdown prints what each call says once the package was shut down.
func afterShutdown() {
	evaluated, lazy := New([]float32{1, 2}), New([]float32{1, 2}).Add(1)
	must(evaluated.Eval())
	running := slow(Stream{}, evaluated, 100)
	must(AsyncEval(running))
	scope := NewScope()
	scoped := scope.Own(evaluated)
	compiled := Compile(func(a []*Array) []*Array { return a })
	_, err := compiled.Call(evaluated)
	must(err)
	keys := NewKeys(1)
	must(Shutdown())

	say := func(name string, err error) { fmt.Printf("%s: %v\n", name, err) }
	say("shutdown", Shutdown())
	say("eval", lazy.Eval())
	say("async eval", AsyncEval(lazy))
	_, err = Values[float32](lazy)
	say("values", err)
	_, err = Item[float32](lazy.Sum())
	say("item", err)
	say("new", New([]float32{1}).Err())
	say("zeros", Zeros([]int{2}, Float32).Err())
	say("operation", evaluated.Add(1).Err())
	say("operation on a scoped array", scoped.Add(1).Err())
	say("keep", Keep(evaluated).Err())
	say("random", keys.Next().Err())
	_, _, err = ValueAndGrad(func(a []*Array) []*Array { return a })(evaluated)
	say("gradient", err)
	_, err = compiled.Call(evaluated)
	say("compiled", err)
	_, err = Compile(func(a []*Array) []*Array { return a }).Call(evaluated)
	say("compile", err)
	say("mode", SetCompileMode(CompileNoFuse))
	_, err = NewStream(CPU)
	say("stream", err)
	_, err = DeviceStream(CPU)
	say("device", err)
	say("synchronize", DefaultStream().Synchronize())
	say("cache", ClearCache())
	_, err = SetCacheLimit(1)
	say("cache limit", err)
	say("save", Save(filepath.Join(os.TempDir(), "mlx-after-shutdown.npy"), evaluated))
	_, err = os.Stat(filepath.Join(os.TempDir(), "mlx-after-shutdown.npy"))
	say("saved", err)

	// These give no error and must merely not crash.
	_, _, _, _, _ = evaluated.Shape(), ActiveMemory(), LiveArrays(), CPU.Available(), CPU.Info()
	_, _ = BLAS(), Version()
	scope.Close()
	compiled.Close()
	for _, a := range []*Array{evaluated, lazy, running, scoped} {
		a.Free()
	}
	collect()
}

func TestProcessShutdown(t *testing.T) {
	lines := runChild(t, "shutdown", "TMPDIR="+t.TempDir())
	require.Len(t, lines, 22)
	for _, line := range lines {
		name, text, _ := strings.Cut(line, ": ")
		if name == "saved" {
			assert.Contains(t, text, "no such file")
			continue
		}
		assert.Contains(t, text, "shut down", name)
	}
}

// exitWhileComputing ends the process with work on the way.
func exitWhileComputing() {
	x := New([]float32{1, 2})
	must(AsyncEval(slow(Stream{}, x, 600_000)))
	go func() { _ = x.Add(1).Eval() }()
	fmt.Println("bye")
}

func TestProcessExitWhileComputing(t *testing.T) {
	inTime(t, func() { assert.Equal(t, []string{"bye"}, runChild(t, "exit while computing")) })
}

// fuseWithoutCompiler prints what a fused function gives where there is no C++ compiler.
func fuseWithoutCompiler() {
	must(SetCompileMode(CompileEnabled))
	out, err := Compile(func(a []*Array) []*Array { return []*Array{a[0].Mul(2).Add(1).Square()} }).Call(New([]float32{1, 2}))
	must(err)
	v, err := Values[float32](out[0])
	fmt.Println(v, err)
}

func TestProcessFuseWithoutCompiler(t *testing.T) {
	want := []string{"[9 25] <nil>"}
	assert.Equal(t, want, runChild(t, "no compiler", "PATH=/nonexistent", "TMPDIR="+t.TempDir()))
	assert.Equal(t, want, runChild(t, "no compiler", "TMPDIR="+t.TempDir()))
	assert.Contains(t, runChild(t, "no compiler", "TMPDIR=/nonexistent")[0], "[] eval: ", "nowhere to compile")
}

// B100: the program alone, moved to another folder.
func TestProcessB100MovedProgram(t *testing.T) {
	moved := filepath.Join(t.TempDir(), "moved")
	from, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(moved, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	cmd := exec.Command(moved)
	cmd.Dir = filepath.Dir(moved)
	cmd.Env = append(os.Environ(), childVariable+"=gru")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "0.0345")
}

func TestProcessVersions(t *testing.T) {
	assert.Empty(t, versionFault("0.32.4", "0.32.4"))
	text := versionFault("0.32.4", "0.33.0")
	assert.Contains(t, text, "headers of MLX 0.32.4")
	assert.Contains(t, text, "libmlx 0.33.0")
	assert.Contains(t, text, "mlxsetup")
	assert.Regexp(t, `^\d+\.\d+\.\d+$`, Version())
}
