package mlx

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every Go number type works as an operand, on either side, and stands for the weak int, float, bool or complex.
func TestGoNumbersAsOperands(t *testing.T) {
	half := New([]F16{F16From(1), F16From(4)})
	for _, v := range []any{2, int8(2), int16(2), int32(2), int64(2), uint(2), uint8(2), uint16(2), uint32(2), uint64(2), float32(2), 2.0,
		F16From(2), BF16From(2)} {
		words := fmt.Sprintf("%T", v)
		assert.NoError(t, near(half.Sub(v), New([]F16{F16From(-1), F16From(2)}), 0), words)
		assert.NoError(t, near(Sub(v, half), New([]F16{F16From(1), F16From(-2)}), 0), words)
		assert.Equal(t, Float16, Sub(v, half).Dtype(), words)
		whole := New([]int16{1, 4}).Add(v)
		switch v.(type) {
		case float32, float64, F16, BF16:
			assert.Equal(t, Float32, whole.Dtype(), words)
		default:
			assert.Equal(t, Int16, whole.Dtype(), words)
		}
		cond := New([]bool{true, false})
		assert.NoError(t, near(cond.Where(v, half), New([]F16{F16From(2), F16From(4)}), 0), words)
	}
	for _, v := range []any{complex64(2i), 2i} {
		sum := half.Add(v)
		assert.NoError(t, near(sum, New([]complex64{1 + 2i, 4 + 2i}), 0), "%T", v)
	}
	assert.NoError(t, near(half.Add(true), New([]F16{F16From(2), F16From(5)}), 0))
	// Two scalars make an array without axes.
	v, err := Item[float32](Add(1, 2.5))
	require.NoError(t, err)
	assert.Equal(t, float32(3.5), v)
}

// A float64 scalar keeps all its digits beside a float64 array, and a large int does not lose any.
func TestScalarsKeepTheirDigits(t *testing.T) {
	v, err := Item[float64](Scalar(0.0).Add(0.1))
	require.NoError(t, err)
	assert.Equal(t, 0.1, v)
	n, err := Item[int64](Scalar(int64(0)).Add(math.MaxInt64))
	require.NoError(t, err)
	assert.Equal(t, int64(math.MaxInt64), n)
}

func TestOperandsThatAreNoNumbers(t *testing.T) {
	a := New([]float32{1})
	for words, v := range map[string]any{"y has type string": "1", "y has type []int": []int{1}, "y is a nil array": (*Array)(nil),
		"an operand is missing": nil, "too large for a scalar": uint64(math.MaxUint64), "y has type struct {}": struct{}{}} {
		assert.ErrorContains(t, a.Add(v).Err(), words)
		assert.ErrorContains(t, a.Add(v).Err(), "add: ")
	}
	assert.ErrorContains(t, Add("x", a).Err(), "x has type string")
	assert.ErrorContains(t, a.HadamardTransform("x").Err(), "scale has type string")
	assert.Error(t, a.HadamardTransform(2i).Err())
	assert.Error(t, a.Quantize(1.5, 4, "affine")[0].Err())
}
