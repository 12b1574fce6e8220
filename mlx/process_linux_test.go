package mlx

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// threads is the number of OS threads of the process.
func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(tasks)
}

// settledMemory is the process's resident memory in bytes after a collection, with MLX's kept memory given back.
func settledMemory(t *testing.T) int {
	t.Helper()
	for range 3 {
		runtime.GC()
		_ = LiveArrays() // gives back what the collector found
	}
	require.NoError(t, ClearCache())
	return residentBytes()
}
