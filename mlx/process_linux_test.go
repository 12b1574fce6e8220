package mlx

import (
	"os"
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
