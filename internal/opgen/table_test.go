package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const table = `# a comment

## Heading
method Abs() = abs(a, s)
	is the absolute value.
binary Add = add
	is a+b;
	of Booleans the logical or.
reduce Sum = sum
	adds.
method QR() (q, r) = linalg::qr(a, s)
	is the QR decomposition.
method Split(n int, axis int) arrays[n] = split(a, n, axis, s)
	cuts.
func Einsum(subscripts string, operands ...arrays) = einsum(subscripts, operands, s)
	sums.
method sliceAxis(axis int, start int, stop int) = slice_axis(a, axis, start, stop, s)
	takes a range.
func All(w array?, l arrays, o1 operand, i int?, f float?, x float, b bool, v ints, h shape, d dtype, e dtype?, u uint64) = all(w)
	takes everything.
`

func TestParse(t *testing.T) {
	ops, err := parse(table)
	require.NoError(t, err)
	require.Len(t, ops, 8)
	assert.Equal(t, op{kind: "method", name: "Abs", expr: "abs(a, s)", doc: []string{"is the absolute value."}, line: 4}, ops[0])
	assert.Equal(t, op{kind: "binary", name: "Add", expr: "add", doc: []string{"is a+b;", "of Booleans the logical or."}, line: 6}, ops[1])
	assert.Equal(t, []string{"q", "r"}, ops[3].results)
	assert.Equal(t, "n", ops[4].count)
	assert.Equal(t, []arg{{name: "n", kind: "int"}, {name: "axis", kind: "int"}}, ops[4].args)
	assert.Equal(t, []arg{{name: "subscripts", kind: "string"}, {name: "operands", kind: "arrays", variadic: true}}, ops[5].args)
}

// A bad row is refused with its line and what is wrong.
func TestBadRows(t *testing.T) {
	for row, want := range map[string]string{
		"metod Abs() = abs(a, s)":                        "line 2: not a row of the table: \"metod Abs() = abs(a, s)\"",
		"method Abs = abs(a, s)":                         "line 2: not a row",
		"method Abs() =":                                 "line 2: not a row",
		"method Abs( = abs(a, s)":                        "line 2: not a row",
		"method Ab-s() = abs(a, s)":                      "line 2: not a row",
		"binary Add = add(a, b)":                         "line 2: not a row",
		"reduce Sum":                                     "line 2: not a row",
		"method Split(n int) arrays = split(a, n, s)":    "line 2: not a row",
		"func F(x) = f(x)":                               `line 2: F: not an argument: "x"`,
		"func F(x complex) = f(x)":                       `line 2: F: not an argument: "x complex"`,
		"func F(x array, ) = f(x)":                       `line 2: F: not an argument: ""`,
		"func F(x array, x int) = f(x)":                  "line 2: F has two arguments called x",
		"func F(s array) = f(s)":                         "line 2: F: the name s is taken",
		"method F(a array) = f(a)":                       "line 2: F: the name a is taken",
		"func F(x ...ints, y int) = f(x)":                "line 2: F: only a list at the end can be variadic: x",
		"func F(x ...int) = f(x)":                        "line 2: F: only a list at the end can be variadic: x",
		"method Abs() = abs(a, s)":                       "line 2: Abs has no documentation",
		"\tis documentation":                             "line 2: documentation without an operation",
		"method A() = x(a)\n\tis a.\nmethod A() = y(a)":  "line 4: A stands twice",
		"reduce A = x\n\tis.\nmethod AKeepDims() = y(a)": "line 4: AKeepDims stands twice",
	} {
		_, err := parse("# operations\n" + row + "\n")
		assert.ErrorContains(t, err, want, row)
	}
}

func TestVariants(t *testing.T) {
	ops, err := parse(table)
	require.NoError(t, err)
	var names, natives []string
	for _, o := range ops {
		for _, v := range o.variants() {
			names, natives = append(names, v.name), append(natives, v.native())
		}
	}
	assert.Equal(t, []string{"Abs", "Add", "Sum", "SumKeepDims", "QR", "Split", "Einsum", "sliceAxis", "All"}, names)
	assert.Equal(t, "mlxg_op_sum_keep_dims", natives[3])
	keep := ops[2].variants()[1]
	assert.Equal(t, "axes.empty() ? sum(a, true, s) : sum(a, axes, true, s)", keep.expr)
	assert.Equal(t, []string{"is [Array.Sum] with the reduced axes kept as axes of size 1."}, keep.doc)
	assert.Equal(t, "pairwise(x, y, [&](auto& a, auto& b) { return add(a, b, s); })", ops[1].variants()[0].expr)
}

func TestNativeNames(t *testing.T) {
	for name, want := range map[string]string{"Abs": "abs", "AddMM": "add_mm", "MatMul": "mat_mul", "AtLeast1D": "at_least1_d", "QR": "qr",
		"IsNaN": "is_nan", "NaNToNum": "nan_to_num", "RoPE": "rope", "sliceAxis": "slice_axis", "FFTShift": "fft_shift"} {
		assert.Equal(t, want, snake(name), name)
	}
}
