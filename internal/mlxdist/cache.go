package mlxdist

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CacheEnv is the environment variable that moves the cache directory.
const CacheEnv = "MPSRNN_CACHE"

const (
	markerName = ".mlxsetup-complete" // written last: lists every file with its size
	tempPrefix = ".new-"
)

// A Cache holds unpacked wheels, one folder each, named <version>-<variant>. A
// folder with that name is always a whole one: it is built under another name and
// renamed. Any number of processes may use one cache at once.
type Cache struct {
	Root  string
	Fetch Fetcher
	Log   func(format string, args ...any) // progress; may be nil

	create createFunc // nil: createFile. Tests put a failing disk here.
}

// DefaultRoot is the folder for unpacked wheels: mlx in the directory named by
// MPSRNN_CACHE, or else in mpsrnn in the user's cache directory.
func DefaultRoot() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		abs, err := filepath.Abs(dir)
		return filepath.Join(abs, "mlx"), err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("this account has no cache directory (%w): set %s to a folder for MLX", err, CacheEnv)
	}
	return filepath.Join(dir, "mpsrnn", "mlx"), nil
}

// Dir is the folder in which w is kept, whether it is there or not.
func (c *Cache) Dir(w Wheel) string {
	return filepath.Join(c.Root, Version+"-"+w.Variant)
}

// Has tells whether w is in the cache, whole.
func (c *Cache) Has(w Wheel) bool { return checkTree(c.Dir(w), w) == nil }

// Ensure returns the unpacked wheel w and fetches it first when it is not in the
// cache or has been damaged. On error nothing is left behind.
func (c *Cache) Ensure(ctx context.Context, w Wheel) (Tree, error) {
	if !c.Has(w) {
		if err := c.install(ctx, w); err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				return Tree{}, fmt.Errorf("the disk is full: %s needs %d MB in %s (set %s to use another folder) and %d MB in %s while pip runs",
					w, (w.Size+w.Unpacked)>>20+1, c.Root, CacheEnv, w.Size>>20+1, os.TempDir())
			}
			return Tree{}, err
		}
	}
	return Open(c.Dir(w), w.GOOS)
}

func (c *Cache) install(ctx context.Context, w Wheel) (err error) {
	if err := os.MkdirAll(c.Root, 0o755); err != nil {
		return fmt.Errorf("cannot make the cache directory (set %s to use another folder): %w", CacheEnv, err)
	}
	unlock, locked, err := lockFile(ctx, filepath.Join(c.Root, ".lock"), func() {
		c.log("waiting for another mlxsetup that fills %s", c.Root)
	})
	if err != nil {
		return err
	}
	defer unlock()
	damage := checkTree(c.Dir(w), w)
	if damage == nil {
		return nil // another process was faster
	}
	if !errors.Is(damage, fs.ErrNotExist) {
		c.log("fetching %s again, the copy in the cache is damaged: %v", w, damage)
	}
	if locked { // whoever left these was killed
		for _, dir := range matches(c.Root, tempPrefix+"*") {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	temp, err := os.MkdirTemp(c.Root, tempPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()

	c.log("fetching %s for %s (%d MB)", w, w.Platform, w.Size>>20+1)
	download := filepath.Join(temp, "download")
	if err := os.Mkdir(download, 0o755); err != nil {
		return err
	}
	file, err := c.Fetch.Fetch(ctx, w, download)
	if err != nil {
		return err
	}
	if err := checkHash(file, w.SHA256); err != nil {
		return err
	}
	tree := filepath.Join(temp, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	create := c.create
	if create == nil {
		create = createFile
	}
	entries, err := unpack(file, tree, create)
	if err != nil {
		return err
	}
	if _, err := Open(tree, w.GOOS); err != nil {
		return err
	}
	if err := writeMarker(tree, w, entries, create); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return errors.New("interrupted before MLX was in place")
	}
	if err := replaceDir(tree, c.Dir(w), filepath.Join(temp, "old")); err != nil {
		if c.Has(w) { // without a working file lock another process may have won
			return nil
		}
		return err
	}
	c.log("unpacked into %s", c.Dir(w))
	return nil
}

// replaceDir renames dir to target and a target that is there already to aside.
func replaceDir(dir, target, aside string) error {
	if err := os.Rename(target, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(dir, target)
}

func (c *Cache) log(format string, args ...any) {
	if c.Log != nil {
		c.Log(format, args...)
	}
}

// matches lists the paths of what lies in dir and has a name that fits the pattern.
// Other than with filepath.Glob, dir may hold any character.
func matches(dir, pattern string) []string {
	var paths []string
	entries, _ := os.ReadDir(dir) // what cannot be read does not match
	for _, e := range entries {
		if ok, err := filepath.Match(pattern, e.Name()); ok && err == nil {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

func checkHash(file, want string) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s has the SHA-256 %s, expected %s: it is not the file that this version was tested with, nothing was installed", filepath.Base(file), got, want)
	}
	return nil
}

// writeMarker writes the list by which checkTree recognises a whole tree: the
// wheel's hash, then size and path of each file.
func writeMarker(tree string, w Wheel, entries []entry, create createFunc) error {
	var b strings.Builder
	fmt.Fprintln(&b, w.SHA256)
	for _, e := range entries {
		fmt.Fprintln(&b, e.size, e.path)
	}
	f, err := create(filepath.Join(tree, markerName))
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, b.String())
	return errors.Join(err, f.Close())
}

// checkTree tells what is wrong with an unpacked wheel, in the time that it takes
// to look up the sizes of its files. The error is fs.ErrNotExist when the folder
// is not there at all.
func checkTree(dir string, w Wheel) (err error) {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(dir, markerName))
	if err != nil {
		return errors.New("the list of its files is missing")
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	if !lines.Scan() || lines.Text() != w.SHA256 {
		return errors.New("it comes from another wheel")
	}
	for lines.Scan() {
		var want int64
		size, path, ok := strings.Cut(lines.Text(), " ")
		if _, err := fmt.Sscan(size, &want); err != nil || !ok {
			return errors.New("the list of its files is not readable")
		}
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return fmt.Errorf("%s is missing", path)
		}
		if info.Size() != want {
			return fmt.Errorf("%s has %d bytes, expected %d", path, info.Size(), want)
		}
	}
	return lines.Err()
}
