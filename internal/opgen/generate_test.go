package main

import (
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// generatedFolder is the folder of the generated files.
const generatedFolder = "../../mlx"

var generatedFiles = []string{"ops_gen.go", "ops_gen.h", "ops_gen.cpp", "ops_gen_test.go"}

// What is checked in is what the table makes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, run(filepath.Join(generatedFolder, "ops.txt"), out))
	for _, name := range generatedFiles {
		want, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(generatedFolder, name))
		require.NoError(t, err)
		assert.True(t, string(want) == string(got), "%s is not current: run go generate ./mlx", name)
	}
}

// An error leaves nothing behind.
func TestRunRefusesABadTable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table.txt")
	require.NoError(t, os.WriteFile(path, []byte("# operations\nmethod Abs( = x\n"), 0o644))
	out := t.TempDir()
	err := run(path, out)
	assert.ErrorContains(t, err, "table.txt: line 2: ")
	assert.ErrorContains(t, run(filepath.Join(dir, "missing.txt"), out), "missing.txt")
	files, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Empty(t, files)
	assert.Error(t, run(filepath.Join(generatedFolder, "ops.txt"), filepath.Join(dir, "no such folder")))
}

// A file that would not change is not touched, so that nothing is compiled again.
func TestRunKeepsFilesThatAreCurrent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table.txt")
	require.NoError(t, os.WriteFile(path, []byte(table), 0o644))
	require.NoError(t, run(path, dir))
	before, err := os.Stat(filepath.Join(dir, "ops_gen.h"))
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(dir, "ops_gen.h"), 0o444))
	require.NoError(t, run(path, dir))
	after, err := os.Stat(filepath.Join(dir, "ops_gen.h"))
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
}

// sources gives what is made of the example table, with every run of white space as one blank.
func sources(t *testing.T) (goText, header, cpp, test string) {
	ops, err := parse(table)
	require.NoError(t, err)
	source, err := format.Source(goSource(ops))
	require.NoError(t, err)
	tests, err := testSource(ops)
	require.NoError(t, err)
	flat := func(b []byte) string { return regexp.MustCompile(`\s+`).ReplaceAllString(string(b), " ") }
	return flat(source), flat(cHeader(ops)), flat(cppSource(ops)), flat(tests)
}

func TestGeneratedGo(t *testing.T) {
	text, _, _, _ := sources(t)
	for _, want := range []string{
		"// Abs is the absolute value. func (a *Array) Abs() *Array { return Ops{}.Abs(a) }",
		"// Abs is [Array.Abs] on the stream. func (o Ops) Abs(a *Array) *Array {",
		`c.begin("abs", o.stream) aC := c.array(a) if c.err != nil { return c.broken() } return c.end(C.mlxg_op_abs(aC, c.stream))`,
		"// Add is a+b; // of Booleans the logical or. func (a *Array) Add(b any) *Array { return Ops{}.Add(a, b) }",
		"func Add(x any, y any) *Array { return Ops{}.Add(x, y) }",
		"func (a *Array) Sum(axes ...int) *Array { return Ops{}.Sum(a, axes...) }",
		"func (o Ops) SumKeepDims(a *Array, axes ...int) *Array {",
		"func (a *Array) QR() (q, r *Array) { return Ops{}.QR(a) }",
		"out := c.brokenMany(2) return out[0], out[1]",
		"func (a *Array) Split(n int, axis int) []*Array { return Ops{}.Split(a, n, axis) }",
		"return c.brokenMany(n)",
		"func Einsum(subscripts string, operands ...*Array) *Array { return Ops{}.Einsum(subscripts, operands...) }",
		"func All(w *Array, l []*Array, o1 any, i any, f any, x float64, b bool, v []int, h []int, d Dtype, e *Dtype, u uint64) *Array {",
		`wC := c.optional(w) lC := c.arrays(l) o1C := c.operand("o1", o1) iC := c.operand("i", i) fC := c.operand("f", f) xC := C.double(x) ` +
			`bC := C.bool(b) vC := c.ints("v", v) hC := c.shape("h", h) dC := c.dtype(d) eC := c.optionalDtype(e) uC := C.uint64_t(u)`,
		"// #cgo noescape mlxg_op_abs // #cgo nocallback mlxg_op_abs",
	} {
		assert.Contains(t, text, want)
	}
	// Names in lower case are for hand-written functions: only Ops has them.
	assert.NotContains(t, text, "func (a *Array) sliceAxis")
	assert.Contains(t, text, "func (o Ops) sliceAxis(a *Array, axis int, start int, stop int) *Array {")
}

func TestGeneratedNative(t *testing.T) {
	_, header, cpp, _ := sources(t)
	for _, want := range []string{
		"mlxg_result mlxg_op_abs(mlxg_array* a_, int stream_)",
		"mlxg_result mlxg_op_add(mlxg_operand x_, mlxg_operand y_, int stream_)",
		"mlxg_results mlxg_op_qr(mlxg_array* a_, int stream_)",
		"mlxg_results mlxg_op_split(mlxg_array* a_, int n_, int axis_, int stream_)",
		"mlxg_result mlxg_op_einsum(mlxg_string subscripts_, mlxg_arrays operands_, int stream_)",
	} {
		assert.Contains(t, header, want+";")
		assert.Contains(t, cpp, want+" {")
	}
	assert.Contains(t, cpp, "return one([&] { const auto& a = get(a_); [[maybe_unused]] auto s = shim::stream(stream_); return abs(a, s); });")
	assert.Contains(t, cpp, "return all(linalg::qr(a, s));")
	assert.Contains(t, cpp, "return many([&] { const auto& a = get(a_); int n = n_; int axis = axis_;")
	assert.Contains(t, cpp, "auto w = optional(w_); auto l = list(l_); const auto& o1 = o1_; auto i = optional_int(i_); auto f = optional_float(f_); double x = x_; "+
		"bool b = b_; auto v = ints(v_); auto h = shim::shape(h_); auto d = shim::dtype(d_); auto e = optional_dtype(e_); uint64_t u = u_;")
}

func TestGeneratedTests(t *testing.T) {
	_, _, _, text := sources(t)
	assert.Contains(t, text, `"Split": {args: []testedArg{{"a", "array"}, {"n", "int"}, {"axis", "int"}}, `+
		`run: func(o Ops, v vectorArgs) []*Array { return o.Split(v.array("a"), v.int("n"), v.int("axis")) }},`)
	assert.Contains(t, text, `return listOf(o.QR(v.array("a")))`)
	assert.Contains(t, text, `return []*Array{o.Einsum(v.string("subscripts"), v.arrays("operands")...)}`)
	assert.Contains(t, text, `o.All(v.optionalArray("w"), v.arrays("l"), v.operand("o1"), v.operand("i"), v.operand("f"), v.float("x"), `+
		`v.bool("b"), v.ints("v"), v.ints("h"), v.dtype("d"), v.optionalDtype("e"), v.uint64("u"))`)
}
