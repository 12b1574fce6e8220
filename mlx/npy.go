package mlx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// The .npy format: a magic text, the version, the length of a header, the header, which is a Python
// dictionary, and the elements. See numpy.lib.format.

const (
	npyMagic         = "\x93NUMPY"
	npyAlignment     = 64
	npyLongestHeader = 1 << 20
)

// npyNames are numpy's names of our dtypes, without the byte order. It has no bfloat16; libmlx
// writes that as 2 bytes of no type.
var npyNames = map[string]Dtype{"?": Bool, "b1": Bool, "u1": Uint8, "u2": Uint16, "u4": Uint32, "u8": Uint64, "i1": Int8, "i2": Int16, "i4": Int32,
	"i8": Int64, "f2": Float16, "f4": Float32, "f8": Float64, "V2": BFloat16, "c8": Complex64}

func npyName(d Dtype) string {
	for name, known := range npyNames {
		if known == d && name != "?" {
			if d.Size() == 1 {
				return "|" + name
			}
			return "<" + name
		}
	}
	return ""
}

// Save writes an array to a file in numpy's .npy format, under exactly this name. The file
// appears whole or not at all. It can be read with numpy, where bfloat16 appears as a type of 2 bytes.
func Save(path string, a *Array) error {
	if err := Eval(a); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return writeAtomically(path, func(w io.Writer) error {
		header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", npyName(a.Dtype()), tuple(a.Shape()))
		before, after := len(npyMagic)+4, len("\n")
		header += blanks((npyAlignment-(before+len(header)+after)%npyAlignment)%npyAlignment) + "\n"
		start := append([]byte(npyMagic), 1, 0)
		start = binary.LittleEndian.AppendUint16(start, uint16(len(header)))
		if _, err := w.Write(append(start, header...)); err != nil {
			return err
		}
		return (&elementWriter{Writer: w}).write("save", a)
	})
}

// Load reads a .npy file, of any byte order and memory order.
func Load(path string) (*Array, error) {
	var a *Array
	err := loadFile(path, func(s source) (err error) {
		a, err = loadNPY(s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

func loadNPY(s source) (*Array, error) {
	h, err := readNPYHeader(s)
	if err != nil {
		return nil, err
	}
	if !h.columns {
		return s.array("load", h.data, h.shape, h.dtype, h.swapped)
	}
	a, err := s.array("load", h.data, reversed(h.shape), h.dtype, h.swapped)
	if err != nil {
		return nil, err
	}
	defer a.Free()
	t := a.T()
	return t, t.Eval()
}

func reversed(shape []int) []int {
	out := make([]int, 0, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out = append(out, shape[i])
	}
	return out
}

type npyHeader struct {
	dtype   Dtype
	swapped bool // the numbers have their highest byte first
	columns bool // the first axis runs fastest
	shape   []int
	data    int64 // where the elements start
}

// readNPYHeader reads the header and checks it against the file's size.
func readNPYHeader(s source) (*npyHeader, error) {
	start, err := s.bytes(0, min(s.size, 12))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(start, []byte(npyMagic)) {
		return nil, errors.New("it is not a .npy file")
	}
	if len(start) < 12 {
		return nil, errCutOff
	}
	at, n := int64(10), int64(binary.LittleEndian.Uint16(start[8:]))
	switch version := start[6]; version {
	case 1:
	case 2, 3:
		at, n = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	default:
		return nil, fmt.Errorf("version %d.%d of the .npy format is not known", version, start[7])
	}
	if n > npyLongestHeader {
		return nil, fmt.Errorf("a header of %d bytes is too long", n)
	}
	text, err := s.bytes(at, n)
	if err != nil {
		return nil, err
	}
	h, err := parseNPYHeader(string(text))
	if err != nil {
		return nil, err
	}
	h.data = at + n
	count, _ := countElements(h.shape)
	if want, have := int64(count*h.dtype.Size()), s.size-h.data; want != have {
		return nil, fmt.Errorf("shape %v of %v needs %d bytes of data, and there are %d", h.shape, h.dtype, want, have)
	}
	return h, nil
}

var (
	npyDict  = regexp.MustCompile(`^\{(.*)\}\s*$`)
	npyEntry = regexp.MustCompile(`^\s*(?:'(\w+)'|"(\w+)")\s*:\s*(?:'([^']*)'|"([^"]*)"|(True|False)|\(([^()]*)\))\s*(?:,|$)`)
	npyDescr = regexp.MustCompile(`^([<>|=]?)([?a-zA-Z]\d*)$`)
)

func parseNPYHeader(text string) (*npyHeader, error) {
	unusual := fmt.Errorf("the header is not of the usual form: %.100q", text)
	m := npyDict.FindStringSubmatch(text)
	if m == nil {
		return nil, unusual
	}
	h := &npyHeader{}
	seen := map[string]bool{}
	for rest := m[1]; strings.TrimSpace(rest) != ""; {
		e := npyEntry.FindStringSubmatch(rest)
		if e == nil {
			return nil, unusual
		}
		rest = rest[len(e[0]):]
		key := e[1] + e[2]
		value := strings.TrimSpace(e[0][strings.Index(e[0], ":")+1:])
		var err error
		switch {
		case seen[key]:
			return nil, unusual
		case key == "descr" && strings.IndexAny(value, `'"`) == 0:
			err = h.setType(e[3] + e[4])
		case key == "fortran_order" && e[5] != "":
			h.columns = e[5] == "True"
		case key == "shape" && strings.HasPrefix(value, "("):
			err = h.setShape(e[6])
		default:
			return nil, unusual
		}
		if err != nil {
			return nil, err
		}
		seen[key] = true
	}
	if len(seen) != 3 {
		return nil, unusual
	}
	return h, nil
}

func (h *npyHeader) setType(descr string) error {
	m := npyDescr.FindStringSubmatch(descr)
	if m == nil {
		return fmt.Errorf("type %q is not supported", descr)
	}
	d, ok := npyNames[m[2]]
	if !ok {
		return fmt.Errorf("there is no dtype for numpy's type %q", descr)
	}
	h.dtype, h.swapped = d, m[1] == ">" && d.Size() > 1
	return nil
}

func (h *npyHeader) setShape(text string) error {
	var sizes []int64
	if text = strings.TrimSpace(text); text != "" {
		for part := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
			if err != nil {
				return fmt.Errorf("shape (%s): %q is not a size", text, strings.TrimSpace(part))
			}
			sizes = append(sizes, n)
		}
	}
	var err error
	h.shape, _, err = sizesOf(sizes)
	return err
}
