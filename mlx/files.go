package mlx

// #include "shim.h"
import "C"

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"unsafe"
)

// Files are read and written here and not by libmlx: that trusts what a header tells (and crashes on some good GGUF
// files), evaluates by itself when it saves, knows neither empty arrays nor all dtypes of the formats, and would
// keep the lock meanwhile.

// source is a file, or bytes, that arrays are loaded from.
type source struct {
	io.ReaderAt
	size int64
}

var errCutOff = errors.New("the file is cut off inside of its header")

// bytes are n bytes of a header at an offset.
func (s source) bytes(at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || n > s.size-at {
		return nil, errCutOff
	}
	b := make([]byte, n)
	if _, err := s.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("reading %d bytes at %d: %w", n, at, err)
	}
	return b, nil
}

// array reads an array whose elements stand at an offset in row-major order.
func (s source) array(op string, at int64, shape []int, d Dtype, swapped bool) (*Array, error) {
	var c call
	c.begin(op, Stream{})
	dims := c.shape("shape", shape)
	if c.err != nil {
		return nil, c.broken().err
	}
	n, _ := countElements(shape)
	bytes := n * d.Size()
	pressed := pressure.grew(bytes)
	var memory unsafe.Pointer
	a := c.end(C.mlxg_allocate(dims, C.int(d), &memory))
	if pressed {
		pressure.relieve()
	}
	if a.err != nil {
		return nil, a.err
	}
	data := unsafe.Slice((*byte)(memory), bytes)
	if _, err := s.ReadAt(data, at); err != nil && bytes > 0 {
		a.Free()
		return nil, fmt.Errorf("reading %d bytes at %d: %w", bytes, at, err)
	}
	if swapped {
		reverseEach(data, d)
	}
	return a, nil
}

// reverseEach turns the bytes of each number around, of a complex one those of each part.
func reverseEach(data []byte, d Dtype) {
	size := d.Size()
	if d == Complex64 {
		size /= 2
	}
	for number := range slices.Chunk(data, max(size, 1)) {
		slices.Reverse(number)
	}
}

// loadFile opens a file for read, and names the file in its errors.
func loadFile(path string, read func(s source) error) error {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var info fs.FileInfo
		switch info, err = f.Stat(); {
		case err != nil:
		case !info.Mode().IsRegular():
			err = errors.New("it is not a regular file")
		default:
			err = read(source{f, info.Size()})
		}
	}
	if err != nil {
		return fmt.Errorf("load %s: %w", path, withoutPath(err))
	}
	return nil
}

// loaded gives a map of arrays back when loading it failed half-way.
func loaded(arrays map[string]*Array, err error) (map[string]*Array, error) {
	if err == nil {
		return arrays, nil
	}
	for _, a := range arrays {
		a.Free()
	}
	return nil, err
}

// sizesOf checks sizes that stand in a file.
func sizesOf[T int64 | uint64](sizes []T) (shape []int, elements int64, err error) {
	shape = make([]int, len(sizes))
	for i, n := range sizes {
		if n < 0 || uint64(n) > math.MaxInt32 {
			return nil, 0, fmt.Errorf("shape %v: size %d is not possible", sizes, n)
		}
		shape[i] = int(n)
	}
	n, err := countElements(shape)
	if err != nil {
		return nil, 0, fmt.Errorf("shape %v: %w", sizes, err)
	}
	return shape, int64(n), nil
}

// span is the part of a file's data that an array takes.
type span struct {
	name       string
	start, end int64
}

// overlap finds arrays that share bytes. It sorts the spans.
func overlap(spans []span) error {
	slices.SortFunc(spans, func(a, b span) int {
		return slices.Compare([]int64{a.start, a.end}, []int64{b.start, b.end})
	})
	for i := 1; i < len(spans); i++ {
		if spans[i].start < spans[i-1].end {
			return fmt.Errorf("arrays %q and %q share bytes", spans[i-1].name, spans[i].name)
		}
	}
	return nil
}

// saved evaluates arrays and gives them in the order of their names.
func saved(path string, arrays map[string]*Array) (names []string, list []*Array, err error) {
	names = slices.Sorted(maps.Keys(arrays))
	for _, name := range names {
		if err := arrays[name].Err(); err != nil {
			return nil, nil, fmt.Errorf("save %s: array %q: %w", path, name, err)
		}
		list = append(list, arrays[name])
	}
	if err := Eval(list...); err != nil {
		return nil, nil, fmt.Errorf("save %s: %w", path, err)
	}
	return names, list, nil
}

// elementWriter writes the elements of arrays in row-major order, through memory that it uses again.
type elementWriter struct {
	io.Writer
	memory []byte
}

func (w *elementWriter) write(op string, a *Array) error {
	n := a.Nbytes()
	w.memory = slices.Grow(w.memory[:0], n)[:n]
	if n == 0 {
		return a.Err()
	}
	if err := read(op, a, unsafe.Pointer(unsafe.SliceData(w.memory)), n); err != nil {
		return err
	}
	_, err := w.Write(w.memory)
	return err
}

// writeAtomically writes a temporary file beside path, makes it durable and gives it its name: the file
// appears whole or not at all. It keeps the permissions of the file that it replaces.
func writeAtomically(path string, write func(w io.Writer) error) error {
	if err := replaceFile(path, write); err != nil {
		return fmt.Errorf("save %s: %w", path, withoutPath(err))
	}
	return nil
}

func replaceFile(path string, write func(w io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays a link
	}
	old, err := os.Stat(path)
	if err == nil && !old.Mode().IsRegular() {
		return errors.New("there is something that is not a regular file")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := filepath.Dir(path)
	name := filepath.Join(folder, fmt.Sprintf(".mlx-%016x.tmp", rand.Uint64()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	finished := false
	defer func() {
		if !finished {
			_ = f.Close()
			_ = os.Remove(name)
		}
	}()
	w := bufio.NewWriterSize(f, 1<<18)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name, path); err != nil {
		return err
	}
	finished = true
	syncFolder(folder)
	return nil
}

// syncFolder makes a new name durable, on systems that can.
func syncFolder(folder string) {
	if f, err := os.Open(folder); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// withoutPath drops the path that errors of package os bring: ours name it already.
func withoutPath(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
