package mlx

import (
	"fmt"
	"slices"
	"strings"
)

// Arrays are printed as numpy prints them with its default options; see numpy._core.arrayprint.
const (
	lineWidth   = 75
	summarised  = 1000 // an array of more elements is printed with "..."
	edgeItems   = 3    // of each axis of such an array
	arrayPrefix = "array("
)

// String evaluates the array and prints it like numpy's repr, always with the dtype:
//
//	array([[1, 2],
//	       [3, 4]], dtype=int32)
//
// Arrays of more than 1000 elements are shortened. An array that carries an error, or whose
// computation fails, gives "array(error: ...)".
func (a *Array) String() string {
	shape, d, words, err := a.words()
	if err != nil {
		return arrayPrefix + "error: " + err.Error() + ")"
	}
	elements, _ := countElements(shape)
	body := "[]"
	if elements > 0 {
		body = (&layout{shape: shape, words: words, short: elements > summarised}).axis(0, " "+blanks(len(arrayPrefix)), lineWidth-len(")"))
	}
	extras := "dtype=" + d.String() + ")"
	if elements > summarised || elements == 0 && !slices.Equal(shape, []int{0}) {
		extras = "shape=" + tuple(shape) + ", " + extras
	}
	out := arrayPrefix + body + ","
	last := out[strings.LastIndexByte(out, '\n')+1:]
	if len(last)+len(extras)+1 > lineWidth {
		return out + "\n" + blanks(len(arrayPrefix)) + extras
	}
	return out + " " + extras
}

// words gives the printed elements, of a large array only those at the edges.
func (a *Array) words() (shape []int, d Dtype, words []string, err error) {
	// A handle of its own: what goes wrong in printing leaves the array as it is.
	own := retain("string", a, nil)
	defer own.Free()
	if err := own.Eval(); err != nil {
		return nil, 0, nil, err
	}
	shape, d = own.Shape(), own.Dtype()
	edges := own
	if own.Size() > summarised {
		for axis, n := range shape {
			if n > 2*edgeItems {
				first, last := edges.SliceAxis(axis, 0, edgeItems), edges.SliceAxis(axis, n-edgeItems, n)
				edges = Concatenate([]*Array{first, last}, axis)
			}
		}
	}
	words, err = elementWords(edges, d)
	return shape, d, words, err
}

func elementWords(a *Array, d Dtype) ([]string, error) {
	switch d {
	case Bool:
		return wordsOf(a, func(v []bool) []string {
			yes := "True"
			if a.NDim() > 0 {
				yes = " True"
			}
			return mapped(v, func(b bool) string {
				if b {
					return yes
				}
				return "False"
			})
		})
	case Uint8:
		return wordsOf(a, intWords[uint8])
	case Uint16:
		return wordsOf(a, intWords[uint16])
	case Uint32:
		return wordsOf(a, intWords[uint32])
	case Uint64:
		return wordsOf(a, intWords[uint64])
	case Int8:
		return wordsOf(a, intWords[int8])
	case Int16:
		return wordsOf(a, intWords[int16])
	case Int32:
		return wordsOf(a, intWords[int32])
	case Int64:
		return wordsOf(a, intWords[int64])
	case Float16:
		return wordsOf(a, func(v []F16) []string { return floatWords(mapped(v, F16.float64), float16Printing) })
	case BFloat16:
		return wordsOf(a, func(v []BF16) []string { return floatWords(mapped(v, BF16.float64), bfloat16Printing) })
	case Float32:
		return wordsOf(a, func(v []float32) []string { return floatWords(mapped(v, widenFloat), float32Printing) })
	case Float64:
		return wordsOf(a, func(v []float64) []string { return floatWords(v, float64Printing) })
	}
	return wordsOf(a, complexWords)
}

func wordsOf[T Element](a *Array, print func([]T) []string) ([]string, error) {
	v, err := Values[T](a)
	if err != nil {
		return nil, err
	}
	return print(v), nil
}

func mapped[T, U any](v []T, f func(T) U) []U {
	out := make([]U, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return out
}

func widenFloat(v float32) float64   { return float64(v) }
func (h F16) float64() float64       { return float64(h.Float32()) }
func (b BF16) float64() float64      { return float64(b.Float32()) }
func blanks(n int) string            { return strings.Repeat(" ", max(n, 0)) }
func padLeft(s string, n int) string { return blanks(n-len(s)) + s }

func intWords[T Element](v []T) []string {
	words := mapped(v, func(x T) string { return fmt.Sprint(x) })
	width := 0
	for _, w := range words {
		width = max(width, len(w))
	}
	return mapped(words, func(w string) string { return padLeft(w, width) })
}

func complexWords(v []complex64) []string {
	re := floatWords(mapped(v, func(c complex64) float64 { return float64(real(c)) }), float32Printing)
	signed := float32Printing
	signed.plus = true
	im := floatWords(mapped(v, func(c complex64) float64 { return float64(imag(c)) }), signed)
	for i, w := range im {
		digits := strings.TrimRight(w, " ")
		re[i] += digits + "j" + w[len(digits):]
	}
	return re
}

func tuple(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	return "(" + strings.Join(mapped(shape, func(n int) string { return fmt.Sprint(n) }), ", ") + ")"
}

// layout puts brackets, commas and line ends around the words, which it uses up in order.
type layout struct {
	shape []int
	words []string
	short bool
}

func (l *layout) next() string {
	w := l.words[0]
	l.words = l.words[1:]
	return w
}

// axis prints what lies below an axis: indent stands in front of a new line, width is what a line may hold.
func (l *layout) axis(axis int, indent string, width int) string {
	left := len(l.shape) - axis
	if left == 0 {
		return l.next()
	}
	lead, trail := 0, l.shape[axis]
	cut := l.short && trail > 2*edgeItems
	if cut {
		lead, trail = edgeItems, edgeItems
	}
	if left == 1 {
		return l.row(lead, trail, cut, indent, width-1)
	}
	var parts []string
	for range lead {
		parts = append(parts, l.axis(axis+1, indent+" ", width-1))
	}
	if cut {
		parts = append(parts, "...")
	}
	for range trail {
		parts = append(parts, l.axis(axis+1, indent+" ", width-1))
	}
	return "[" + strings.Join(parts, ","+strings.Repeat("\n", left-1)+indent) + "]"
}

func (l *layout) row(lead, trail int, cut bool, indent string, width int) string {
	var done strings.Builder
	line := indent
	add := func(word string, last bool) {
		// A line that holds nothing yet is not broken: that would not help.
		if len(line)+len(word) > width && len(line) > len(indent) {
			done.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		if line += word; !last {
			line += ", "
		}
	}
	for range lead {
		add(l.next(), false)
	}
	if cut {
		add("...", false)
	}
	for i := range trail {
		add(l.next(), i == trail-1)
	}
	done.WriteString(line)
	return "[" + done.String()[len(indent):] + "]"
}
