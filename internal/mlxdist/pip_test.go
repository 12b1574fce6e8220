package mlxdist

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testWheel = Wheel{Project: "mlx-cpu", Platform: "manylinux_2_35_x86_64"}

// fakePath makes a folder with the given programs the whole PATH.
func fakePath(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		fakeProgram(t, dir, name, script)
	}
	t.Setenv("PATH", dir)
	return dir
}

// goodPip answers --version and writes a file where --dest says, and its arguments
// beside its own script.
const goodPip = `
case "$*" in *--version*) echo "pip 23.0"; exit 0;; esac
echo "$@" > "$0.args"
echo "Collecting mlx-cpu"
while [ "$1" != --dest ]; do shift; done
echo wheel > "$2/mlx_cpu.whl"
`

func TestPipDownload(t *testing.T) {
	path := fakePath(t, map[string]string{"python3": goodPip})
	dir := t.TempDir()
	var progress bytes.Buffer
	file, err := Pip{Progress: &progress}.Fetch(context.Background(), testWheel, dir)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "mlx_cpu.whl"), file)
	assert.FileExists(t, file)
	assert.Equal(t, "Collecting mlx-cpu\n", progress.String())
	args, err := os.ReadFile(filepath.Join(path, "python3.args"))
	require.NoError(t, err)
	for _, want := range []string{"-m pip download", "--no-deps", "--only-binary=:all:", "--platform manylinux_2_35_x86_64", "mlx-cpu==" + Version} {
		assert.Contains(t, string(args), want)
	}
}

func TestPipUnderOtherNames(t *testing.T) {
	noModule := "echo \"$0: No module named pip\" >&2; exit 1"
	for _, name := range []string{"pip3", "pip"} {
		fakePath(t, map[string]string{"python3": noModule, name: goodPip})
		_, err := Pip{}.Fetch(context.Background(), testWheel, t.TempDir())
		assert.NoError(t, err, name)
	}
	fakePath(t, map[string]string{"python3": noModule, "apt-get": "exit 1"})
	_, err := Pip{}.Fetch(context.Background(), testWheel, t.TempDir())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "pip, which downloads MLX, was not found: run ")
	fakePath(t, nil)
	_, err = Pip{}.Fetch(context.Background(), testWheel, t.TempDir())
	assert.ErrorContains(t, err, "pip, which downloads MLX, was not found: run ")
}

func TestPipFailuresAreOneSentence(t *testing.T) {
	// What pip 23 writes in each case.
	for _, c := range []struct{ name, stderr, want string }{
		{"no network", `WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/mlx-cpu/
ERROR: Could not find a version that satisfies the requirement mlx-cpu==0.32.4 (from versions: none)
ERROR: No matching distribution found for mlx-cpu==0.32.4`, "could not be reached"},
		{"certificate", `WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:992)'))': /simple/mlx-cpu/
ERROR: No matching distribution found for mlx-cpu==0.32.4`, "does not trust the certificate"},
		{"not in the index", `ERROR: Could not find a version that satisfies the requirement mlx-cpu==0.32.4 (from versions: 0.31.0, 0.31.1)
ERROR: No matching distribution found for mlx-cpu==0.32.4`, "no file of it for manylinux_2_35_x86_64"},
		{"full disk", "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "no space left on device"},
		{"other error", "WARNING: something\nERROR: Invalid requirement: 'x'\n", "pip could not download mlx-cpu " + Version + ": Invalid requirement: 'x'"},
		{"crash", "Traceback (most recent call last):\n  File x\nRuntimeError: boom\n", ": RuntimeError: boom"},
		{"silent", "", "exit status 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fakePath(t, map[string]string{"python3": "case \"$*\" in *--version*) exit 0;; esac\nwhile read -r l; do echo \"$l\" >&2; done < \"$0.txt\"\nexit 3"})
			require.NoError(t, os.WriteFile(filepath.Join(path, "python3.txt"), []byte(c.stderr+"\n"), 0o644))
			_, err := Pip{}.Fetch(context.Background(), testWheel, t.TempDir())
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
			assert.Equal(t, c.name == "full disk", strings.Contains(err.Error(), syscall.ENOSPC.Error()))
		})
	}
}

func TestPipThatLeavesNothing(t *testing.T) {
	fakePath(t, map[string]string{"python3": "exit 0"})
	_, err := Pip{}.Fetch(context.Background(), testWheel, t.TempDir())
	assert.ErrorContains(t, err, "left 0 wheels, expected 1")
}

func TestPipInterrupted(t *testing.T) {
	fakePath(t, map[string]string{"python3": "case \"$*\" in *--version*) exit 0;; esac\nexec /bin/sleep 60"})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := Pip{}.Fetch(ctx, testWheel, t.TempDir())
	assert.ErrorContains(t, err, "interrupted")
}
