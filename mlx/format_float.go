package mlx

import (
	"math"
	"strconv"
	"strings"
)

// maxFraction is the largest number of digits behind the point.
const maxFraction = 8

// floatPrinting says how floats of one type are printed.
type floatPrinting struct {
	bits     int     // 64, 32, or 16 for both half types
	large    float64 // numbers from here on are printed with an exponent: 10^(decimal digits of the type), at most 1e8
	fraction int     // explicit fraction bits, for half types
	least    int     // exponent of the smallest normal number, for half types
	round    func(float64) float64
	plus     bool // positive numbers get a sign
}

var (
	float64Printing  = floatPrinting{bits: 64, large: 1e8, round: func(v float64) float64 { return v }}
	float32Printing  = floatPrinting{bits: 32, large: 1e6, round: func(v float64) float64 { return float64(float32(v)) }}
	float16Printing  = floatPrinting{bits: 16, large: 1e3, fraction: 10, least: -14, round: func(v float64) float64 { return F16From(float32(v)).float64() }}
	bfloat16Printing = floatPrinting{bits: 16, large: 1e2, fraction: 7, least: -126, round: func(v float64) float64 { return BF16From(float32(v)).float64() }}
)

// floatWords prints floats with a common width, with exponents where the numbers are far apart.
func floatWords(v []float64, p floatPrinting) []string {
	words := make([]string, len(v))
	format := p.form(v)
	var before, behind, exponent int
	finite, infinite, negative := false, false, p.plus
	for i, x := range v {
		switch {
		case math.IsNaN(x):
			infinite = true
			continue
		case math.IsInf(x, 0):
			infinite = true
			negative = negative || x < 0
			continue
		}
		finite = true
		words[i] = p.digits(x, format)
		mantissa, e, _ := strings.Cut(words[i], "e")
		whole, fraction, _ := strings.Cut(mantissa, ".")
		before, behind, exponent = max(before, len(whole)), max(behind, len(fraction)), max(exponent, len(e)-1)
	}
	right := behind
	if format == 'e' && finite {
		right += len("e+") + exponent
	}
	if infinite {
		longest := len("nan")
		if negative {
			longest = len("-inf")
		}
		before = max(before, longest-right-1)
	}
	for i, x := range v {
		if words[i] == "" {
			words[i] = padLeft(p.nonFinite(x), before+1+right)
			continue
		}
		mantissa, e, _ := strings.Cut(words[i], "e")
		whole, fraction, _ := strings.Cut(mantissa, ".")
		if format == 'f' {
			words[i] = padLeft(whole, before) + "." + fraction + blanks(behind-len(fraction))
			continue
		}
		if len(fraction) < behind {
			// The number's own digits, not zeros, fill it up.
			mantissa, e, _ = strings.Cut(p.signed(x, strconv.FormatFloat(x, 'e', behind, 64)), "e")
			whole, fraction, _ = strings.Cut(mantissa, ".")
		}
		words[i] = padLeft(whole, before) + "." + fraction + "e" + e[:1] + strings.Repeat("0", exponent-len(e)+1) + e[1:]
	}
	return words
}

// form is 'e' when the numbers are large, small or far apart, else 'f'. The comparisons round as the type does.
func (p floatPrinting) form(v []float64) byte {
	smallest, largest := math.Inf(1), 0.0
	for _, x := range v {
		if x = math.Abs(x); x != 0 && !math.IsInf(x, 0) && !math.IsNaN(x) {
			smallest, largest = min(smallest, x), max(largest, x)
		}
	}
	if largest > 0 && (largest >= p.large || smallest < p.round(0.0001) || p.round(largest/smallest) > 1000) {
		return 'e'
	}
	return 'f'
}

func (p floatPrinting) nonFinite(x float64) string {
	switch {
	case x < 0:
		return "-inf"
	case p.plus && x != x:
		return "+nan"
	case p.plus:
		return "+inf"
	case x != x:
		return "nan"
	}
	return "inf"
}

// digits are the fewest that tell x from its neighbours, but at most 8 behind the point, without zeros at the end.
func (p floatPrinting) digits(x float64, format byte) string {
	bits, shown := p.bits, x
	if bits == 16 {
		bits, shown = 64, p.shortest(x)
	}
	s := strconv.FormatFloat(shown, format, -1, bits)
	mantissa, exponent, hasExponent := strings.Cut(s, "e")
	if _, fraction, _ := strings.Cut(mantissa, "."); len(fraction) > maxFraction {
		// The number itself is rounded, not its shortest digits.
		s = strconv.FormatFloat(x, format, maxFraction, 64)
		mantissa, exponent, hasExponent = strings.Cut(s, "e")
		mantissa = strings.TrimRight(mantissa, "0")
	} else if fraction == "" {
		mantissa += "."
	}
	if hasExponent {
		mantissa += "e" + exponent
	}
	return p.signed(x, mantissa)
}

func (p floatPrinting) signed(x float64, digits string) string {
	if p.plus && !math.Signbit(x) {
		return "+" + digits
	}
	return digits
}

// shortest is, for half types, the float64 whose shortest digits are the shortest that round to x.
func (p floatPrinting) shortest(x float64) float64 {
	if x == 0 {
		return x
	}
	fraction, exponent := math.Frexp(math.Abs(x)) // 0.5 <= fraction < 1
	step := math.Ldexp(1, max(exponent-1, p.least)-p.fraction)
	units := math.Abs(x) / step
	even := math.Mod(units, 2) == 0
	below := step / 2
	if fraction == 0.5 && exponent-1 > p.least {
		below /= 2 // the numbers below a power of two are closer
	}
	low, high := math.Abs(x)-below, math.Abs(x)+step/2
	inside := func(v float64) bool { return v > low && v < high || even && (v == low || v == high) }
	for digits := 0; ; digits++ {
		s := strconv.FormatFloat(math.Abs(x), 'e', digits, 64)
		near, _ := strconv.ParseFloat(s, 64)
		if inside(near) {
			return math.Copysign(near, x)
		}
		// The neighbour on the other side may be inside where the closest number is not.
		other := neighbour(s, near < math.Abs(x))
		if inside(other) {
			return math.Copysign(other, x)
		}
	}
}

// neighbour is the next number with as many digits, upwards or downwards.
func neighbour(s string, up bool) float64 {
	mantissa, exponent, _ := strings.Cut(s, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	n, _ := strconv.Atoi(digits)
	if up {
		n++
	} else {
		n--
	}
	e, _ := strconv.Atoi(exponent)
	v, _ := strconv.ParseFloat(strconv.Itoa(n)+"e"+strconv.Itoa(e-len(digits)+1), 64)
	return v
}
