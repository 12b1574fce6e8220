package mlxdist

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// minGlibc is what the symbol versions in the Linux libraries ask for.
const minGlibc = "2.35"

// Host describes a machine that MLX shall run on.
type Host struct {
	GOOS      string
	GOARCH    string
	OSVersion string // macOS product version, e.g. "15.3.1"; empty elsewhere
}

// ThisHost describes the machine that the program runs on.
func ThisHost() Host {
	h := Host{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}
	if h.GOOS == "darwin" {
		// SYSTEM_VERSION_COMPAT would make an old binary see "10.16"; sw_vers does not fall for it.
		if out, err := exec.Command("sw_vers", "-productVersion").Output(); err == nil {
			h.OSVersion = strings.TrimSpace(string(out))
		}
	}
	return h
}

// CheckLibc tells whether this Linux machine's C library can load libmlx. Other
// systems pass, and so does a machine on which the library cannot be asked.
func CheckLibc(goos string) error {
	if goos != "linux" {
		return nil
	}
	out, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output() // "glibc 2.36"
	if err != nil {
		if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 {
			return fmt.Errorf("this system uses the C library musl, but MLX %s is built for glibc %s or later (Debian 12, Ubuntu 22.04, Fedora 36)", Version, minGlibc)
		}
		return nil
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "glibc ")
	if ok && compareVersions(version, minGlibc) < 0 {
		return fmt.Errorf("this system has glibc %s, but MLX %s needs glibc %s or later (Debian 12, Ubuntu 22.04, Fedora 36)", version, Version, minGlibc)
	}
	return nil
}
