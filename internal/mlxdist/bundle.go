package mlxdist

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// systemLibraries are never bundled: glibc has to be the machine's own, and the
// wheel itself relies on the machine's C++ library.
var systemLibraries = map[string]bool{
	"libc.so.6": true, "libm.so.6": true, "libpthread.so.0": true, "libdl.so.2": true, "librt.so.1": true,
	"libgcc_s.so.1": true, "libstdc++.so.6": true, "ld-linux-x86-64.so.2": true, "ld-linux-aarch64.so.1": true,
}

// Bundle copies what a binary linked with the flags of [Link].Bundle needs at run
// time into dir, where the binary shall lie: dir/mlx, and on Linux the folder of
// libraries that libmlx.so expects two levels above itself. openBLAS is the path
// of OpenBLAS, which then goes along with the Fortran libraries that it needs, or
// "". searched are the folders for those. A bundle that is there already is
// replaced. Bundle returns the names of what it put into dir.
func (t Tree) Bundle(dir, openBLAS, goarch string, searched []string) (names []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(dir, tempPrefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()

	copies := map[string]string{} // target relative to dir, with slashes: source
	add := func(target, source string) { copies[target] = source }
	add("mlx/lib/"+filepath.Base(t.Library), t.Library)
	for _, optional := range []string{"mlx.metallib", "libjaccl.dylib"} {
		if p := filepath.Join(t.Lib, optional); exists(p) {
			add("mlx/lib/"+optional, p)
		}
	}
	base := filepath.Dir(t.Lib)
	for _, info := range matches(filepath.Dir(base), "mlx*.dist-info") {
		if p := filepath.Join(info, "licenses", "LICENSE"); exists(p) {
			add("mlx/LICENSE", p)
		}
	}
	for _, headers := range []string{"cccl", "cute", "cutlass"} { // CUDA compiles kernels at run time
		if err := addFolder(add, "mlx/include/"+headers, filepath.Join(t.Include, headers)); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(t.Library, ".so") {
		beside, err := foldersBeside(t.Library)
		if err != nil {
			return nil, err
		}
		for _, name := range beside {
			if err := addFolder(add, name, filepath.Join(filepath.Dir(base), name)); err != nil {
				return nil, err
			}
		}
	}
	if openBLAS != "" {
		if err := addWithNeeded(add, openBLAS, goarch, searched); err != nil {
			return nil, err
		}
	}

	for target, source := range copies {
		if err := copyFile(source, filepath.Join(temp, "new", filepath.FromSlash(target))); err != nil {
			return nil, err
		}
	}
	made, err := os.ReadDir(filepath.Join(temp, "new"))
	if err != nil {
		return nil, err
	}
	if old := filepath.Join(dir, "mlx"); exists(old) && !exists(filepath.Join(old, "lib", filepath.Base(t.Library))) {
		return nil, fmt.Errorf("%s exists and holds no MLX libraries: choose another folder for the bundle", old)
	}
	for _, e := range made {
		err := replaceDir(filepath.Join(temp, "new", e.Name()), filepath.Join(dir, e.Name()), filepath.Join(temp, "old-"+e.Name()))
		if err != nil {
			return nil, err
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// foldersBeside lists the folders next to the one called mlx, of the wheel's own,
// in which a libmlx.so looks for its libraries: RPATH $ORIGIN/../../mlx_cpu.libs.
func foldersBeside(library string) ([]string, error) {
	f, err := elf.Open(library)
	if err != nil {
		return nil, fmt.Errorf("%s is not a Linux library: %w", library, err)
	}
	defer func() { _ = f.Close() }() // only read
	var names []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := f.DynString(tag)
		if err != nil {
			continue // no such entry
		}
		for _, v := range values {
			for dir := range strings.SplitSeq(v, ":") {
				name, ok := strings.CutPrefix(dir, "$ORIGIN/../../")
				if ok && path.Ext(name) == ".libs" && !strings.Contains(name, "/") {
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}

// addFolder adds all files below source; a folder that does not exist has none.
func addFolder(add func(target, source string), target, source string) error {
	return filepath.WalkDir(source, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == source {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(source, p)
		add(path.Join(target, filepath.ToSlash(rel)), p)
		return err
	})
}

// addWithNeeded adds a library and, transitively, the libraries that it needs.
func addWithNeeded(add func(target, source string), library, goarch string, searched []string) error {
	todo := []string{library}
	done := map[string]bool{}
	for len(todo) > 0 {
		file := todo[0]
		todo = todo[1:]
		add("mlx/lib/"+filepath.Base(file), file)
		f, err := elf.Open(file)
		if err != nil {
			return err
		}
		needed, err := f.ImportedLibraries()
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("reading what %s needs: %w", file, err)
		}
		for _, name := range needed {
			if systemLibraries[name] || done[name] {
				continue
			}
			done[name] = true
			found := FindLibrary(name, goarch, searched)
			if found == "" {
				return fmt.Errorf("%s needs %s, which is in none of %s: leave OpenBLAS out with -no-openblas", file, name, strings.Join(searched, ", "))
			}
			todo = append(todo, found)
		}
	}
	return nil
}

func copyFile(source, target string) (err error) {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	r, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	w, err := createFile(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
