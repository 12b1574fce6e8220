package mlx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Files are checked here before libmlx sees them: it trusts headers and reads what they tell.

func checkFile(path string, check func(f *os.File, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("load %s: %w", path, withoutPath(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a folder")
	}
	if err == nil {
		err = check(f, info.Size())
	}
	if err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	return nil
}

func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// readAt reads n bytes at an offset, or tells that the file is too short.
func readAt(f io.ReaderAt, at, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("the file ends inside of its header")
	}
	return b, nil
}

func elements(shape []int64) (int64, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > math.MaxInt32 {
			return 0, fmt.Errorf("size %d is not possible", d)
		}
		if d != 0 && n > (1<<46)/d {
			return 0, errors.New("too many elements")
		}
		n *= d
	}
	return n, nil
}

var npyHeader = regexp.MustCompile(`^\{'descr': '([<>|=]?)([?a-zA-Z])(\d*)', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\),? *\}\s*$`)

var npyTypes = map[string]bool{"?": true, "b1": true, "u1": true, "u2": true, "u4": true, "u8": true, "i1": true, "i2": true, "i4": true,
	"i8": true, "f2": true, "f4": true, "f8": true, "c8": true, "V2": true}

// checkNPY: magic, version, header length, a Python dictionary, then the data; see numpy.lib.format.
func checkNPY(f *os.File, size int64) error {
	start, err := readAt(f, 0, 10)
	if err != nil || string(start[:6]) != "\x93NUMPY" {
		return errors.New("not a .npy file")
	}
	at, n := int64(10), int64(binary.LittleEndian.Uint16(start[8:]))
	switch start[6] {
	case 1:
	case 2, 3:
		long, err := readAt(f, 8, 4)
		if err != nil {
			return err
		}
		at, n = 12, int64(binary.LittleEndian.Uint32(long))
	default:
		return fmt.Errorf("version %d of the .npy format is not known", start[6])
	}
	if n > 1<<20 {
		return fmt.Errorf("the header should have %d bytes, which is too long", n)
	}
	header, err := readAt(f, at, n)
	if err != nil {
		return err
	}
	m := npyHeader.FindStringSubmatch(string(header))
	if m == nil {
		return fmt.Errorf("the header is not of the usual form: %.80q", header)
	}
	if kind := m[2] + m[3]; !npyTypes[kind] || m[1] == ">" && m[3] != "1" {
		return fmt.Errorf("arrays of type %s%s are not supported", m[1], kind)
	}
	item := int64(1)
	if m[3] != "" {
		item, _ = strconv.ParseInt(m[3], 10, 64)
	}
	var shape []int64
	for _, part := range strings.Split(m[5], ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		d, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return fmt.Errorf("size %q is not a number", part)
		}
		shape = append(shape, d)
	}
	count, err := elements(shape)
	if err != nil {
		return fmt.Errorf("shape %v: %w", shape, err)
	}
	if want, have := count*item, size-at-n; have < want {
		return fmt.Errorf("the file is cut off: %v needs %d bytes of data, and there are %d", shape, want, have)
	}
	return nil
}
