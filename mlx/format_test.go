package mlx

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reprs are made by testdata/make_reprs.py.
type reprs struct {
	Cases []struct {
		Name, Dtype, Data, Repr string
		Shape                   []int
	}
	Digests map[string]string
}

func readReprs(t *testing.T) reprs {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "reprs.json"))
	require.NoError(t, err)
	var r reprs
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

func TestStringIsNumpys(t *testing.T) {
	cases := readReprs(t).Cases
	require.Greater(t, len(cases), 100)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			raw, err := base64.StdEncoding.DecodeString(c.Data)
			require.NoError(t, err)
			d, err := dtypeNamed(c.Dtype)
			require.NoError(t, err)
			a := New(raw, len(raw)).View(d).Reshape(c.Shape...)
			require.Equal(t, c.Repr, a.String())
			// The order in memory does not matter.
			if a.NDim() > 1 {
				require.Equal(t, c.Repr, a.T().Contiguous().T().String())
			}
		})
	}
}

// The digits of each number alone, compared by a digest over many of them.
func TestStringDigitsAreNumpys(t *testing.T) {
	digest := func(n int, word func(i int) string) string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = word(i)
		}
		sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
		return hex.EncodeToString(sum[:])
	}
	one := func(v float64, p floatPrinting) string { return floatWords([]float64{v}, p)[0] }
	word := func(i int) uint64 { return uint64(i+1) * 0x9E3779B97F4A7C15 }
	want := readReprs(t).Digests
	require.Len(t, want, 3)
	assert.Equal(t, want["float16"], digest(1<<16, func(i int) string { return one(F16(i).float64(), float16Printing) }))
	assert.Equal(t, want["float32"], digest(20000, func(i int) string {
		return one(float64(math.Float32frombits(uint32(word(i)>>32))), float32Printing)
	}))
	assert.Equal(t, want["float64"], digest(20000, func(i int) string { return one(math.Float64frombits(word(i)), float64Printing) }))
}

// numpy has no bfloat16: its digits must be the fewest that give the number back.
func TestStringBFloat16(t *testing.T) {
	bf := func(v ...float32) *Array { return New(mapped(v, BF16From)) }
	assert.Equal(t, "array([ 1. , -2.5, 99.5], dtype=bfloat16)", bf(1, -2.5, 99.5).String())
	assert.Equal(t, "array([0.334, 3.14 ], dtype=bfloat16)", bf(1./3, 3.14).String())
	assert.Equal(t, "array([1.28e+02, 1.00e+00], dtype=bfloat16)", bf(128, 1).String())
	for i := range 1 << 16 {
		x := BF16(i).float64()
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		s := bfloat16Printing.shortest(x)
		require.Equal(t, BF16(i), BF16From(float32(s)), "%g", x)
		digits := len(strings.Trim(strings.ReplaceAll(fmt.Sprintf("%e", math.Abs(s))[:8], ".", ""), "0"))
		require.LessOrEqual(t, digits, 4, "%g", x)
	}
}

func TestStringViews(t *testing.T) {
	a := New([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
	assert.Equal(t, "array([[1, 4],\n       [2, 5],\n       [3, 6]], dtype=int32)", a.T().String())
	assert.Equal(t, "array([3, 2, 1], dtype=int32)", a.SliceStep([]int{0, 2}, []int{1, -4}, []int{1, -1}).Flatten(0, -1).String())
	assert.Equal(t, "array([[7, 7, 7],\n       [7, 7, 7]], dtype=int32)", New([]int32{7}).BroadcastTo(2, 3).String())
	assert.Equal(t, "array(5, dtype=int32)", fmt.Sprint(a.Select(0, 1).Select(0, 1)), "it is a fmt.Stringer")
	huge := Zeros([]int{1}, Float32).BroadcastTo(1<<15, 1<<15)
	assert.Contains(t, huge.String(), "array([[0., 0., 0., ..., 0., 0., 0.],", "only the edges of a large array are computed")
}

func TestStringErrors(t *testing.T) {
	bad := New([]float32{1, 2}).Add(New([]float32{1, 2, 3}))
	assert.Equal(t, "array(error: "+bad.Err().Error()+")", bad.String())
	assert.Regexp(t, `^array\(error: .*the array is nil`, (*Array)(nil).String())
	assert.Contains(t, (&Array{}).String(), "not made by this package")
	assert.Contains(t, ErrorArray("gru", errors.New("no gates")).String(), "gru: no gates")
	freed := New([]float32{1})
	freed.Free()
	assert.Regexp(t, `^array\(error: .*the array was freed`, freed.String())
}

// Printing inside of a transform shows what it can and does no harm.
func TestStringInsideTransforms(t *testing.T) {
	x := New([]float32{1, 2})
	var inside string
	grads, err := Grad(func(a []*Array) []*Array {
		y := a[0].Square()
		inside = y.String()
		return []*Array{y.Sum()}
	})(x)
	require.NoError(t, err)
	assert.Equal(t, "array([1., 4.], dtype=float32)", inside)
	assert.Equal(t, "array([2., 4.], dtype=float32)", grads[0].String())

	compiled, err := Compile(func(a []*Array) []*Array {
		y := a[0].Square()
		inside = y.String()
		return []*Array{y.Add(1)}
	}).Call(x)
	require.NoError(t, err)
	assert.Contains(t, inside, "array(error: ")
	assert.Equal(t, "array([2., 5.], dtype=float32)", compiled[0].String())
}
