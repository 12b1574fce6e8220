package mlx

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Save writes an array to a file in numpy's .npy format, under exactly this name. The file
// appears whole or not at all.
func Save(path string, a *Array) error {
	return save("save", path, ".npy", []*Array{a}, func(tmp C.mlxg_string, handles []*C.mlxg_array) C.mlxg_error {
		return C.mlxg_save_npy(tmp, handles[0])
	})
}

// Load reads a .npy file.
func Load(path string) (*Array, error) {
	if err := checkFile(path, checkNPY); err != nil {
		return nil, err
	}
	err := enter()
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	r := C.mlxg_load_npy(cString(path))
	if err := takeError(r.err); err != nil {
		lock.Unlock()
		return nil, fileError(path, err)
	}
	a := newArray(r.out, nil)
	lock.Unlock()
	if err := a.Eval(); err != nil {
		return nil, fileError(path, err)
	}
	return a, nil
}

// SaveGGUF writes named arrays and text to a file in the GGUF format. GGUF has no Booleans, 64-bit
// unsigned integers, bfloat16 or complex numbers in libmlx.
func SaveGGUF(path string, arrays map[string]*Array, meta map[string]string) error {
	names, list := sorted(arrays)
	return save("save_gguf", path, ".gguf", list, func(tmp C.mlxg_string, handles []*C.mlxg_array) C.mlxg_error {
		return withNames(names, meta, func(n, m *C.mlxg_string) C.mlxg_error {
			return C.mlxg_save_gguf(tmp, n, C.mlxg_arrays{data: unsafe.SliceData(handles), len: C.int(len(handles))}, m, C.int(len(meta)))
		})
	})
}

// LoadGGUF reads a GGUF file. Of the metadata the texts are given; lists of texts have one a line.
func LoadGGUF(path string) (map[string]*Array, map[string]string, error) {
	if err := checkFile(path, checkGGUF); err != nil {
		return nil, nil, err
	}
	if err := enter(); err != nil {
		lock.Unlock()
		return nil, nil, err
	}
	r := C.mlxg_load_gguf(cString(path))
	err := takeError(r.err)
	var list []*Array
	var names, pairs []string
	if err == nil {
		list = takeArrays(C.mlxg_results{out: r.arrays, n: r.n}, nil)
		names, pairs = splitNul(r.names, int(r.n)), splitNul(r.meta, 2*int(r.n_meta))
	}
	C.free(unsafe.Pointer(r.names))
	C.free(unsafe.Pointer(r.meta))
	lock.Unlock()
	if err == nil {
		// Read now: the file may be changed or removed later.
		err = Eval(list...)
	}
	if err != nil {
		return nil, nil, fileError(path, err)
	}
	arrays := make(map[string]*Array, len(list))
	for i, name := range names {
		arrays[name] = list[i]
	}
	meta := make(map[string]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		meta[pairs[i]] = pairs[i+1]
	}
	return arrays, meta, nil
}

func sorted(arrays map[string]*Array) (names []string, list []*Array) {
	for name := range arrays {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = append(list, arrays[name])
	}
	return names, list
}

// save evaluates and writes. MLX appends the suffix to names that lack it.
func save(op, path, suffix string, arrays []*Array, write func(tmp C.mlxg_string, handles []*C.mlxg_array) C.mlxg_error) error {
	if err := Eval(arrays...); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return writeAtomically(path, func(file *os.File) error {
		return saveNatively(op, file, arrays, write)
	}, suffix)
}

// saveNatively lets libmlx write the file, and checks that all was written: it does not tell of a full disk.
func saveNatively(op string, file *os.File, arrays []*Array, write func(tmp C.mlxg_string, handles []*C.mlxg_array) C.mlxg_error) error {
	var c call
	c.begin(op, Stream{})
	handles := make([]*C.mlxg_array, len(arrays))
	size := 0
	for i, a := range arrays {
		handles[i] = c.array(a)
		if c.err == nil {
			d, shape := a.describe()
			n, _ := countElements(shape)
			size += n * d.Size()
		}
	}
	if c.err == nil {
		if e := write(cString(file.Name()), handles); e.message != nil {
			c.native(e)
		}
	}
	c.unlock()
	if c.err != nil {
		return c.err
	}
	info, err := os.Stat(file.Name())
	if err == nil && info.Size() < int64(size) {
		err = fmt.Errorf("only %d of at least %d bytes could be written (is the disk full?)", info.Size(), size)
	}
	return err
}

// writeAtomically writes a temporary file beside path, makes it durable and gives it its name.
// The file's own name ends in suffix.
func writeAtomically(path string, write func(f *os.File) error, suffix ...string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save %s: %w", path, withoutPath(err))
		}
	}()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("it is a folder")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+strings.Join(suffix, ""))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	mode := os.FileMode(0o644)
	if old, statErr := os.Stat(path); statErr == nil {
		mode = old.Mode().Perm()
	}
	err = write(f)
	if err == nil {
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// withNames hands names and metadata to native code for the time of f.
func withNames(names []string, meta map[string]string, f func(names, meta *C.mlxg_string) C.mlxg_error) C.mlxg_error {
	var p runtime.Pinner
	defer p.Unpin()
	native := make([]C.mlxg_string, 0, len(names)+1)
	for _, n := range names {
		native = append(native, pinString(&p, n))
	}
	keys := make([]string, 0, len(meta))
	for k := range meta {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	pairs := make([]C.mlxg_string, 0, 2*len(meta)+1)
	for _, k := range keys {
		pairs = append(pairs, pinString(&p, k), pinString(&p, meta[k]))
	}
	return f(unsafe.SliceData(native), unsafe.SliceData(pairs))
}

// splitNul reads n texts that stand one behind the other, each ended by a zero byte.
func splitNul(p *C.char, n int) []string {
	out := make([]string, n)
	at := unsafe.Pointer(p)
	for i := range out {
		out[i] = C.GoString((*C.char)(at))
		at = unsafe.Add(at, len(out[i])+1)
	}
	return out
}

func fileError(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return fmt.Errorf("load %s: %s", path, e.Message)
	}
	return fmt.Errorf("load %s: %s", path, tidyMessage(err.Error()))
}
