package mlx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// halfValue is the value of a half by the definition of IEEE 754, in float64 arithmetic.
func halfValue(h F16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

func TestEveryF16(t *testing.T) {
	for i := range 1 << 16 {
		h := F16(i)
		want := halfValue(h)
		got := h.Float32()
		if math.IsNaN(want) {
			require.True(t, got != got, "%#x", i)
			back := F16From(got).Float32()
			require.True(t, back != back, "%#x", i)
			continue
		}
		require.Equal(t, math.Float32bits(float32(want)), math.Float32bits(got), "%#x", i)
		require.Equal(t, h, F16From(got), "%#x", i)
	}
}

func TestEveryBF16(t *testing.T) {
	for i := range 1 << 16 {
		b := BF16(i)
		v := b.Float32()
		require.Equal(t, uint32(i)<<16, math.Float32bits(v))
		if v != v {
			back := BF16From(v).Float32()
			require.True(t, back != back, "%#x", i)
			continue
		}
		require.Equal(t, b, BF16From(v), "%#x", i)
	}
}

// TestHalfRoundingIsToTheNearest walks between neighbours: what lies below the middle goes down, above it up, and the
// middle to the even one.
func TestHalfRoundingIsToTheNearest(t *testing.T) {
	for i := range 0x7bff {
		low, high := halfValue(F16(i)), halfValue(F16(i+1))
		middle := float32((low + high) / 2) // exact in float32
		even := F16(i + i&1)
		require.Equal(t, even, F16From(middle), "%#x", i)
		require.Equal(t, F16(i), F16From(math.Nextafter32(middle, 0)), "%#x", i)
		require.Equal(t, F16(i+1), F16From(math.Nextafter32(middle, 1e6)), "%#x", i)
		require.Equal(t, even|0x8000, F16From(-middle), "%#x", i)
	}
	for i := range 0x7f7f {
		middle := math.Float32frombits(uint32(i)<<16 | 0x8000)
		require.Equal(t, BF16(i+i&1), BF16From(middle), "%#x", i)
		require.Equal(t, BF16(i), BF16From(math.Nextafter32(middle, 0)), "%#x", i)
		require.Equal(t, BF16(i+1), BF16From(math.Nextafter32(middle, math.MaxFloat32)), "%#x", i)
	}
}

func TestHalfOverflow(t *testing.T) {
	inf := float32(math.Inf(1))
	assert.Equal(t, F16(0x7bff), F16From(65504))
	assert.Equal(t, F16(0x7bff), F16From(65519.996))
	assert.Equal(t, F16(0x7c00), F16From(65520))
	assert.Equal(t, F16(0xfc00), F16From(-inf))
	assert.Equal(t, F16(0), F16From(1e-10))
	assert.Equal(t, F16(0x8000), F16From(float32(math.Copysign(0, -1))))
	assert.Equal(t, BF16(0x7f80), BF16From(math.MaxFloat32))
	assert.Equal(t, BF16(0x7f80), BF16From(inf))
}
