package mlx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func roundTrip[T Element](t *testing.T, d Dtype, data ...T) {
	t.Helper()
	a := New(data, len(data)/2, 2)
	require.NoError(t, a.Err())
	require.Equal(t, d, a.Dtype())
	require.Equal(t, []int{len(data) / 2, 2}, a.Shape())
	require.Equal(t, len(data)*d.Size(), a.Nbytes())
	got, err := Values[T](a)
	require.NoError(t, err)
	require.Equal(t, data, got)
	one, err := Item[T](Scalar(data[1]))
	require.NoError(t, err)
	require.Equal(t, data[1], one)
	require.Equal(t, 0, Scalar(data[0]).NDim())
	swapped, err := Values[T](a.T())
	require.NoError(t, err)
	require.Equal(t, data[2], swapped[1])
}

func TestDataOfEveryType(t *testing.T) {
	roundTrip(t, Bool, true, false, false, true)
	roundTrip[uint8](t, Uint8, 0, 255, 3, 4)
	roundTrip[uint16](t, Uint16, 0, 65535, 3, 4)
	roundTrip[uint32](t, Uint32, 0, math.MaxUint32, 3, 4)
	roundTrip[uint64](t, Uint64, 0, math.MaxUint64, 3, 4)
	roundTrip[int8](t, Int8, -128, 127, 3, 4)
	roundTrip[int16](t, Int16, -32768, 32767, 3, 4)
	roundTrip[int32](t, Int32, math.MinInt32, math.MaxInt32, 3, 4)
	roundTrip[int64](t, Int64, math.MinInt64, math.MaxInt64, 3, 4)
	roundTrip(t, Int32, -1, 1, 3, 4)
	roundTrip(t, Float16, F16From(1.5), F16From(-2), F16From(3), F16From(4))
	roundTrip(t, BFloat16, BF16From(1.5), BF16From(-2), BF16From(3), BF16From(4))
	roundTrip[float32](t, Float32, math.MaxFloat32, -0.1, 3, 4)
	roundTrip(t, Float64, math.Pi, math.SmallestNonzeroFloat64, 3, 4)
	roundTrip[complex64](t, Complex64, 1+2i, -3i, 3, 4)
}

func TestDataFaults(t *testing.T) {
	for want, a := range map[string]*Array{
		"5 values do not fill shape [2 3], which has 6": New([]float32{1, 2, 3, 4, 5}, 2, 3),
		"negative":                New([]float32{1}, -1, -1),
		"too many elements":       Zeros([]int{1 << 30, 1 << 30}, Float32),
		"does not fit in int32":   New([]int{1 << 40}),
		"over the limit":          Ones([]int{1 << 40}, Bool),
		"unknown dtype 77":        Zeros([]int{1}, Dtype(77)),
		"expected *mlx.Array or ": New([]float32{1}).Add("one"),
	} {
		assert.ErrorContains(t, a.Err(), want)
		assert.ErrorContains(t, a.Err(), "data_test.go:")
		assert.Nil(t, a.Shape())
		_, err := Values[float32](a)
		assert.ErrorContains(t, err, want)
	}
	_, err := Values[int32](New([]float32{1}))
	assert.ErrorContains(t, err, "dtype float32 and cannot be read as int32; use AsType")
	_, err = Item[float32](New([]float32{1, 2}))
	assert.ErrorContains(t, err, "given float32[2]")
	wide, err := Values[int](New([]int64{1 << 40}))
	require.NoError(t, err)
	assert.Equal(t, []int{1 << 40}, wide)
	empty, err := Values[float32](Zeros([]int{0, 3}, Float32))
	require.NoError(t, err)
	assert.Empty(t, empty)
}

func TestDataIsCopied(t *testing.T) {
	data := []float32{1, 2}
	a := New(data)
	data[0] = 9
	require.Equal(t, []float32{1, 2}, floats(t, a))
}

// TestDataOfViews reads views of all kinds, small and beyond the size that is copied under the lock.
func TestDataOfViews(t *testing.T) {
	for _, n := range []int{6, 300} {
		data := make([]float32, n*n)
		for i := range data {
			data[i] = float32(i)
		}
		a := New(data, n, n)
		at := func(i, j int) float32 { return float32(i*n + j) }
		for name, view := range map[string]struct {
			a  *Array
			at func(i, j int) float32
		}{
			"transposed":   {a.T(), func(i, j int) float32 { return at(j, i) }},
			"reversed":     {a.SliceStep([]int{n - 1, n - 1}, []int{-n - 1, -n - 1}, []int{-1, -1}), func(i, j int) float32 { return at(n-1-i, n-1-j) }},
			"every second": {a.SliceStep([]int{1, 0}, []int{n, n}, []int{2, 3}), func(i, j int) float32 { return at(1+2*i, 3*j) }},
			"offset":       {a.Slice([]int{2, 3}, []int{n, n}), func(i, j int) float32 { return at(2+i, 3+j) }},
			"broadcast":    {a.Slice([]int{1, 0}, []int{2, n}).BroadcastTo(n, n), func(_, j int) float32 { return at(1, j) }},
		} {
			got, err := Values[float32](view.a)
			require.NoError(t, err, name)
			rows, columns := view.a.Dim(0), view.a.Dim(1)
			require.Len(t, got, rows*columns, name)
			for i := range rows {
				for j := range columns {
					require.Equal(t, view.at(i, j), got[i*columns+j], "%s [%d,%d] of %d", name, i, j, n)
				}
			}
		}
	}
}
