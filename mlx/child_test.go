package mlx

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// children are programs of their own that tests start: what they do touches the whole process.
// A child prints what its test wants to see.
var children = map[string]func(){}

const childVariable = "MLX_TEST_CHILD"

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVariable)]; child != nil {
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild runs a child to its end, which must be a good one, and gives the lines that it printed.
func runChild(t *testing.T, name string, env ...string) []string {
	t.Helper()
	require.Contains(t, children, name)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childVariable+"="+name), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
