package mlxdist

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnsureInstallsOnceAndReuses(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	fetch := &copyFetcher{file: file}
	c := Cache{Root: filepath.Join(t.TempDir(), "a b", "[c]*"), Fetch: fetch}
	assert.False(t, c.Has(w))
	first, err := c.Ensure(context.Background(), w)
	require.NoError(t, err)
	assert.True(t, c.Has(w))
	assert.Equal(t, filepath.Join(c.Root, Version+"-linux-amd64-cpu", "mlx", "lib"), first.Lib)
	assert.FileExists(t, first.Library)
	assert.FileExists(t, filepath.Join(first.Include, "mlx", "mlx.h"))
	assert.Equal(t, []string{filepath.Base(c.Dir(w))}, entriesOf(t, c.Root))

	fetch.err = errors.New("no network") // a filled cache must not ask
	again, err := c.Ensure(context.Background(), w)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.EqualValues(t, 1, fetch.calls.Load())
}

// entriesOf lists the names in dir but for the lock file.
func entriesOf(t *testing.T, dir string) []string {
	t.Helper()
	names := []string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestDamagedTreeIsFetchedAgain(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	lib := filepath.Join("mlx", "lib", "libmlx.so")
	for name, damage := range map[string]func(dir string) error{
		"file missing":   func(dir string) error { return os.Remove(filepath.Join(dir, lib)) },
		"file cut":       func(dir string) error { return os.Truncate(filepath.Join(dir, lib), 10) },
		"marker missing": func(dir string) error { return os.Remove(filepath.Join(dir, markerName)) },
		"marker empty":   func(dir string) error { return os.Truncate(filepath.Join(dir, markerName), 0) },
		"marker strange": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, markerName), []byte(w.SHA256+"\nx y\n"), 0o644)
		},
		"other wheel": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, markerName), []byte("0000\n"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fetch := &copyFetcher{file: file}
			var logged []string
			c := Cache{Root: t.TempDir(), Fetch: fetch, Log: func(f string, _ ...any) { logged = append(logged, f) }}
			_, err := c.Ensure(context.Background(), w)
			require.NoError(t, err)
			require.NoError(t, damage(c.Dir(w)))
			assert.False(t, c.Has(w))
			tree, err := c.Ensure(context.Background(), w)
			require.NoError(t, err)
			assert.True(t, c.Has(w))
			assert.EqualValues(t, 2, fetch.calls.Load())
			info, err := os.Stat(tree.Library)
			require.NoError(t, err)
			assert.EqualValues(t, 16000, info.Size())
			assert.Len(t, entriesOf(t, c.Root), 1)
			assert.Contains(t, logged, "fetching %s again, the copy in the cache is damaged: %v")
		})
	}
}

// A set-up that fails must leave nothing, and must not touch a tree that was there.
func TestFailedInstallLeavesNothing(t *testing.T) {
	good, w := makeWheel(t, goodMembers())
	cut := filepath.Join(t.TempDir(), "cut.whl")
	data, err := os.ReadFile(good)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, data[:len(data)/2], 0o644))
	wrongVersion := goodMembers()
	wrongVersion[1].text = versionHeader("0.31.0")
	old, oldWheel := makeWheel(t, wrongVersion)
	headersOnly, headersWheel := makeWheel(t, goodMembers()[:3])
	slip, slipWheel := makeWheel(t, append(goodMembers(), member{name: "../../evil", text: "x"}))

	for _, c := range []struct {
		name  string
		fetch *copyFetcher
		wheel Wheel
		want  string
	}{
		{"half a download", &copyFetcher{file: cut}, w, "expected " + w.SHA256},
		{"another file", &copyFetcher{file: old}, w, "expected " + w.SHA256},
		{"no network", &copyFetcher{err: errors.New("the package index could not be reached")}, w, "could not be reached"},
		{"other version", &copyFetcher{file: old}, oldWheel, "is version 0.31.0, but this module needs " + Version},
		{"no library", &copyFetcher{file: headersOnly}, headersWheel, "lib/libmlx.so is not"},
		{"zip slip", &copyFetcher{file: slip}, slipWheel, "leads out of the folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			outer := t.TempDir()
			cache := Cache{Root: filepath.Join(outer, "root"), Fetch: c.fetch}
			_, err := cache.Ensure(context.Background(), c.wheel)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, []string{"root", "root/.lock"}, filesIn(t, outer))
		})
	}
}

// fullDisk fails like a disk without space once limit bytes are written.
type fullDisk struct {
	limit   int
	onClose bool // tells only when the file is closed, as network file systems do
}

func (d *fullDisk) create(path string) (io.WriteCloser, error) {
	f, err := createFile(path)
	return &fullFile{WriteCloser: f, disk: d}, err
}

type fullFile struct {
	io.WriteCloser
	disk *fullDisk
	hit  bool // this file is the one that the disk has no room for
}

func (f *fullFile) Write(p []byte) (int, error) {
	before := f.disk.limit
	f.disk.limit -= len(p)
	f.hit = f.hit || (before >= 0 && f.disk.limit < 0)
	if f.hit && !f.disk.onClose {
		return 0, syscall.ENOSPC
	}
	return f.WriteCloser.Write(p)
}

func (f *fullFile) Close() error {
	err := f.WriteCloser.Close()
	if f.hit {
		return errors.Join(err, syscall.ENOSPC)
	}
	return err
}

func TestFullDisk(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	for _, disk := range []fullDisk{
		{limit: 0}, {limit: 100}, {limit: 10000}, {limit: 10000, onClose: true},
		{limit: 16000 + 4 + len(versionHeader(Version)) + 25}, // all but the marker fits
	} {
		root := t.TempDir()
		c := Cache{Root: root, Fetch: &copyFetcher{file: file}, create: disk.create}
		_, err := c.Ensure(context.Background(), w)
		require.ErrorContains(t, err, "the disk is full: mlx-cpu "+Version+" needs ")
		assert.ErrorContains(t, err, CacheEnv)
		assert.NotContains(t, err.Error(), "\n")
		assert.Empty(t, entriesOf(t, root), "%+v", disk)
	}
	full := &copyFetcher{err: explainPip(w, "ERROR: [Errno 28] No space left on device", errors.New("exit status 1"))}
	c := Cache{Root: t.TempDir(), Fetch: full}
	_, err := c.Ensure(context.Background(), w)
	assert.ErrorContains(t, err, "the disk is full")
}

func TestUnusableCacheFolder(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	plain := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(plain, nil, 0o644))
	c := Cache{Root: filepath.Join(plain, "mlx"), Fetch: &copyFetcher{file: file}}
	_, err := c.Ensure(context.Background(), w)
	assert.ErrorContains(t, err, "cannot make the cache directory (set "+CacheEnv)
}

func TestManySetupsAtOnce(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	fetch := &copyFetcher{file: file}
	root := t.TempDir()
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			c := Cache{Root: root, Fetch: fetch}
			tree, err := c.Ensure(context.Background(), w)
			if err == nil {
				_, err = os.ReadFile(tree.Library)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		assert.NoError(t, err)
	}
	assert.EqualValues(t, 1, fetch.calls.Load(), "the lock lets only one of them download")
	assert.Len(t, entriesOf(t, root), 1)
}

func TestLeftoversOfKilledSetupAreRemoved(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, tempPrefix+"123", "tree", "mlx"), 0o755))
	c := Cache{Root: root, Fetch: &copyFetcher{file: file}}
	_, err := c.Ensure(context.Background(), w)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Base(c.Dir(w))}, entriesOf(t, root))
}

func TestInterruptedWhileWaiting(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	root := t.TempDir()
	unlock, locked, err := lockFile(context.Background(), filepath.Join(root, ".lock"), func() {})
	require.NoError(t, err)
	require.True(t, locked)
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	fetch := &copyFetcher{file: file}
	waited := ""
	c := Cache{Root: root, Fetch: fetch, Log: func(f string, _ ...any) { waited = f }}
	_, err = c.Ensure(ctx, w)
	assert.ErrorContains(t, err, "interrupted while another mlxsetup was at work")
	assert.Contains(t, waited, "waiting for another mlxsetup")
	assert.Zero(t, fetch.calls.Load())
}

func TestInterruptedAtTheEnd(t *testing.T) {
	file, w := makeWheel(t, goodMembers())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := Cache{Root: t.TempDir(), Fetch: &copyFetcher{file: file}}
	_, err := c.Ensure(ctx, w)
	assert.ErrorContains(t, err, "interrupted")
	assert.Empty(t, entriesOf(t, c.Root))
}

func TestDefaultRoot(t *testing.T) {
	t.Setenv(CacheEnv, "/some where/cache")
	root, err := DefaultRoot()
	require.NoError(t, err)
	assert.Equal(t, filepath.FromSlash("/some where/cache/mlx"), root)

	t.Setenv(CacheEnv, "relative")
	root, err = DefaultRoot()
	require.NoError(t, err)
	assert.True(t, filepath.IsAbs(root), root)

	t.Setenv(CacheEnv, "")
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	_, err = DefaultRoot()
	assert.ErrorContains(t, err, "set "+CacheEnv)
}
