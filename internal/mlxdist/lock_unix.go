//go:build unix

package mlxdist

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile takes an exclusive lock on path, calling wait once when another process
// holds it. Where the file system has no locks it returns locked == false and no
// error: the cache stays right without a lock, only the work may be done twice.
func lockFile(ctx context.Context, path string, wait func()) (unlock func(), locked bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	unlock = func() { _ = f.Close() } // closing releases the lock
	for waiting := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return unlock, true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return unlock, false, nil
		}
		if !waiting {
			wait()
			waiting = true
		}
		select {
		case <-ctx.Done():
			unlock()
			return nil, false, errors.New("interrupted while another mlxsetup was at work")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
