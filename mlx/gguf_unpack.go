package mlx

import (
	"encoding/binary"
	"iter"
)

// Quantised elements of GGUF files come in blocks; see ggml-quants.c at github.com/ggml-org/ggml.

// ggufGroup is how many elements have one scale in the types that stay quantised.
const ggufGroup = 32

// unpacked are the elements of an array: halves, or packed words with a scale and a bias for each group.
type unpacked struct {
	halves         []F16
	words          []uint32
	scales, biases []F16
}

// ggufUnpacker unpacks blocks. Products are rounded before they are added to, on all processors.
type ggufUnpacker func(blocks iter.Seq[[]byte]) unpacked

func halfAt(b []byte, at int) F16 { return F16(binary.LittleEndian.Uint16(b[at:])) }

// pack puts 4-bit numbers into words, the first in the lowest bits. A block has first the low halves of its
// bytes, then the high ones.
func (u *unpacked) pack(nibbles []byte) {
	for _, shift := range []int{0, 4} {
		for from := 0; from < len(nibbles); from += 8 {
			word := uint32(0)
			for i, b := range nibbles[from : from+8] {
				word |= uint32(b>>shift&15) << (4 * i)
			}
			u.words = append(u.words, word)
		}
	}
}

// unpackQ40 reads blocks of a scale d and 32 numbers q of 4 bits: d(q-8).
func unpackQ40(blocks iter.Seq[[]byte]) (u unpacked) {
	for b := range blocks {
		d := halfAt(b, 0)
		u.scales, u.biases = append(u.scales, d), append(u.biases, F16From(-8*d.Float32()))
		u.pack(b[2:])
	}
	return u
}

// unpackQ41 reads blocks of a scale d, a bias m and 32 numbers q of 4 bits: d*q+m.
func unpackQ41(blocks iter.Seq[[]byte]) (u unpacked) {
	for b := range blocks {
		u.scales, u.biases = append(u.scales, halfAt(b, 0)), append(u.biases, halfAt(b, 2))
		u.pack(b[4:])
	}
	return u
}

// unpackQ80 reads blocks of a scale d and 32 signed bytes q: d*q, which is d((q+128)-128) with the unsigned q+128.
func unpackQ80(blocks iter.Seq[[]byte]) (u unpacked) {
	for b := range blocks {
		d := halfAt(b, 0)
		u.scales, u.biases = append(u.scales, d), append(u.biases, F16From(-128*d.Float32()))
		for at := 2; at < len(b); at += 4 {
			u.words = append(u.words, binary.LittleEndian.Uint32(b[at:])^0x80808080)
		}
	}
	return u
}

// unpackQ2K reads blocks of 16 scales s and minima m of 4 bits, 256 numbers q of 2 bits, and factors d and e: d*s*q-e*m.
func unpackQ2K(blocks iter.Seq[[]byte]) (u unpacked) {
	for b := range blocks {
		scales, numbers := b[:16], b[16:80]
		d, e := halfAt(b, 80).Float32(), halfAt(b, 82).Float32()
		for group := range 16 {
			s := d * float32(scales[group]&15)
			m := e * float32(scales[group]>>4)
			half, shift, side := group/8, group%8/2*2, group%2
			for _, q := range numbers[32*half+16*side:][:16] {
				u.halves = append(u.halves, F16From(float32(s*float32(q>>shift&3))-m))
			}
		}
	}
	return u
}

// unpackQ4K reads blocks of factors d and e, 8 scales s and minima m of 6 bits, and 256 numbers q of 4 bits: d*s*q-e*m.
func unpackQ4K(blocks iter.Seq[[]byte]) (u unpacked) {
	for b := range blocks {
		d, e := halfAt(b, 0).Float32(), halfAt(b, 2).Float32()
		scales, numbers := b[4:16], b[16:]
		for group := range 8 {
			var s, m byte
			if group < 4 {
				s, m = scales[group]&63, scales[group+4]&63
			} else {
				s = scales[group+4]&15 | scales[group-4]>>6<<4
				m = scales[group+4]>>4 | scales[group]>>6<<4
			}
			for _, q := range numbers[32*(group/2):][:32] {
				q = q >> (group % 2 * 4) & 15
				u.halves = append(u.halves, F16From(float32(d*float32(s)*float32(q))-float32(e*float32(m))))
			}
		}
	}
	return u
}

// unpackQ6K reads blocks of the low 4 and the high 2 bits of 256 numbers q, 16 signed scales s and a factor d: d*s*(q-32).
func unpackQ6K(blocks iter.Seq[[]byte]) (u unpacked) {
	for b := range blocks {
		low, high, scales, d := b[:128], b[128:192], b[192:208], halfAt(b, 208).Float32()
		for i := range 256 {
			half, quarter, at := i/128, i/32%4, i%32
			q := low[64*half+32*(quarter%2)+at] >> (quarter / 2 * 4) & 15
			q |= high[32*half+at] >> (2 * quarter) & 3 << 4
			u.halves = append(u.halves, F16From(d*float32(int8(scales[i/16]))*float32(int(q)-32)))
		}
	}
	return u
}
