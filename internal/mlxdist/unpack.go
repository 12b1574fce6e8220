package mlxdist

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A createFunc makes a new file for writing and fails when it exists.
type createFunc func(path string) (io.WriteCloser, error)

func createFile(path string) (io.WriteCloser, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// An entry is a file of an unpacked wheel: its path with slashes, relative to the
// tree, and its size in bytes.
type entry struct {
	path string
	size int64
}

// unpack extracts a wheel (a zip file) into dir, which must exist, and lists the
// files. Names that lead out of dir, links and anything else that is neither file
// nor folder are refused before the first byte is written.
func unpack(wheel, dir string, create createFunc) (entries []entry, err error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, fmt.Errorf("%s is not a readable wheel: %w", filepath.Base(wheel), err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	for _, f := range z.File {
		if !filepath.IsLocal(f.Name) || strings.Contains(f.Name, `\`) {
			return nil, fmt.Errorf("%s holds a file named %q, which leads out of the folder: refused", filepath.Base(wheel), f.Name)
		}
		if mode := f.Mode(); !mode.IsRegular() && !mode.IsDir() {
			return nil, fmt.Errorf("%s holds %q, which is neither a file nor a folder (%s): refused", filepath.Base(wheel), f.Name, mode)
		}
	}
	for _, f := range z.File {
		target := filepath.Join(dir, filepath.FromSlash(f.Name))
		if f.Mode().IsDir() {
			if err := os.MkdirAll(target, 0o755); err != nil {
				return nil, err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return nil, err
		}
		n, err := extract(f, target, create)
		if err != nil {
			var pathError *fs.PathError
			if errors.As(err, &pathError) {
				return nil, err // names the file already
			}
			return nil, fmt.Errorf("unpacking %s from %s: %w", f.Name, filepath.Base(wheel), err)
		}
		entries = append(entries, entry{f.Name, n})
	}
	return entries, nil
}

// extract writes one member of the archive; the zip reader checks its CRC.
func extract(f *zip.File, target string, create createFunc) (n int64, err error) {
	r, err := f.Open()
	if err != nil {
		return 0, err
	}
	w, err := create(target)
	if err != nil {
		return 0, errors.Join(err, r.Close())
	}
	n, err = io.Copy(w, r)
	// A full disk may show only when the file is closed.
	return n, errors.Join(err, w.Close(), r.Close())
}
