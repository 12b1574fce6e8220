package mlx

import "math"

// F16 is one IEEE 754 half precision number: 1 sign bit, 5 exponent bits, 10 fraction bits.
type F16 uint16

// BF16 is one bfloat16 number: the upper half of a float32.
type BF16 uint16

// F16From rounds to the nearest half, ties to even. Values beyond 65504 become infinite; a NaN stays a NaN.
func F16From(v float32) F16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	exp := int(bits>>23&0xff) - 127
	frac := bits & 0x7fffff
	switch {
	case exp == 128 && frac != 0:
		return F16(sign | 0x7e00 | uint16(frac>>13))
	case exp > 15:
		return F16(sign | 0x7c00)
	case exp >= -14:
		return F16(sign | roundShift(uint32(exp+15)<<23|frac, 13))
	case exp >= -25:
		// Subnormal: the implicit one becomes explicit and moves right.
		return F16(sign | roundShift(frac|0x800000, uint(-exp-1)))
	}
	return F16(sign)
}

// roundShift shifts right and rounds to nearest even; a carry runs into the exponent, as it must.
func roundShift(v uint32, n uint) uint16 {
	kept := v >> n
	rest := v & (1<<n - 1)
	half := uint32(1) << (n - 1)
	if rest > half || rest == half && kept&1 == 1 {
		kept++
	}
	return uint16(kept)
}

// Float32 is the exact value.
func (h F16) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h >> 10 & 0x1f)
	frac := uint32(h & 0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	v := float32(frac) * 0x1p-24
	if sign != 0 {
		return -v
	}
	return v
}

// BF16From rounds to the nearest bfloat16, ties to even. A NaN stays a NaN.
func BF16From(v float32) BF16 {
	if v != v {
		return BF16(math.Float32bits(v)>>16 | 0x40)
	}
	bits := math.Float32bits(v)
	return BF16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 is the exact value.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }
