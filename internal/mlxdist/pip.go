package mlxdist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

// A Fetcher brings a wheel into an empty folder and returns the path of the file.
// The file is not trusted: its hash is checked afterwards.
type Fetcher interface {
	Fetch(ctx context.Context, w Wheel, dir string) (string, error)
}

// Pip fetches wheels with `pip download`. That needs no virtual environment and
// installs nothing, so it also works where Python is "externally managed". The
// user's pip settings (index, proxy, certificates, PIP_NO_INDEX with
// PIP_FIND_LINKS) count as usual.
type Pip struct {
	Progress io.Writer // gets pip's normal output when not nil
}

// Fetch implements [Fetcher].
func (p Pip) Fetch(ctx context.Context, w Wheel, dir string) (string, error) {
	pip, err := findPip(ctx)
	if err != nil {
		return "", err
	}
	// The wheels serve every Python (py3-none), so the request must not depend on
	// the version of the Python that runs pip: macOS ships 3.9, the wheels ask for 3.10.
	args := append(pip[1:],
		"download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--retries", "3",
		"--python-version", "3.12", "--implementation", "py", "--abi", "none",
		"--platform", w.Platform, "--dest", dir, w.Project+"=="+Version)
	cmd := exec.CommandContext(ctx, pip[0], args...)
	cmd.Env = append(os.Environ(), "PIP_REQUIRE_VIRTUALENV=0")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = p.Progress, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("the download of %s was interrupted", w)
		}
		return "", explainPip(w, stderr.String(), err)
	}
	files := matches(dir, "*.whl")
	if len(files) != 1 {
		return "", fmt.Errorf("pip said that it downloaded %s, but left %d wheels, expected 1", w, len(files))
	}
	return files[0], nil
}

// findPip returns the command that runs pip, as a list of arguments.
func findPip(ctx context.Context) ([]string, error) {
	for _, c := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}} {
		if exec.CommandContext(ctx, c[0], append(c[1:len(c):len(c)], "--version")...).Run() == nil {
			return c, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.New("the search for pip was interrupted")
	}
	how := "sudo apt-get install -y python3-pip"
	if os.Geteuid() == 0 {
		how = "apt-get install -y python3-pip"
	}
	if runtime.GOOS == "darwin" {
		how = "xcode-select --install"
	} else if _, err := exec.LookPath("apt-get"); err != nil {
		how = "python3 -m ensurepip --user (or install your system's pip package)"
	}
	return nil, fmt.Errorf("pip, which downloads MLX, was not found: run %s", how)
}

var noConnection = regexp.MustCompile(`NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|RemoteDisconnected|ConnectionResetError|connection broken by`)

// explainPip puts what pip wrote on stderr into one sentence.
func explainPip(w Wheel, stderr string, err error) error {
	switch {
	case strings.Contains(stderr, "No space left on device"):
		return fmt.Errorf("pip could not download %s: %w", w, syscall.ENOSPC)
	case strings.Contains(stderr, "SSLError"):
		return fmt.Errorf("pip could not download %s: it does not trust the certificate of the package index (PIP_CERT names a file with further certificates)", w)
	case noConnection.MatchString(stderr):
		return fmt.Errorf("pip could not download %s: the package index could not be reached (no network, or a proxy that pip does not know)", w)
	case strings.Contains(stderr, "No matching distribution"):
		return fmt.Errorf("pip could not download %s: the package index that pip uses has no file of it for %s", w, w.Platform)
	}
	reason := err.Error()
	for line := range strings.Lines(stderr) { // the last error counts, or else the last line
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "ERROR: "); ok {
			reason = text
		} else if line != "" && !strings.Contains(stderr, "ERROR: ") {
			reason = line
		}
	}
	return fmt.Errorf("pip could not download %s: %s", w, reason)
}
