package mlxdist

import (
	"debug/elf"
	"os"
	"path/filepath"
)

const openBLASName = "libopenblas.so.0"

// LibraryDirs are the folders in which both linker and loader of a usual Linux
// system look.
func LibraryDirs(goarch string) []string {
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[goarch]
	return []string{
		"/usr/local/lib/" + triplet, "/usr/local/lib", "/usr/lib/" + triplet, "/lib/" + triplet,
		"/usr/lib64", "/lib64", "/usr/lib", "/lib",
	}
}

// FindLibrary returns the path of the first file called name in dirs that is a
// shared library for goarch, or "".
func FindLibrary(name, goarch string, dirs []string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if isLibraryFor(path, goarch) {
			return path
		}
	}
	return ""
}

// FindOpenBLAS returns the path of OpenBLAS in dirs, or "". The package
// libopenblas0-pthread of Debian and Ubuntu is enough, no -dev package is needed.
func FindOpenBLAS(goarch string, dirs []string) string {
	return FindLibrary(openBLASName, goarch, dirs)
}

func isLibraryFor(path, goarch string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[goarch]
	return f.Machine == want && f.Class == elf.ELFCLASS64
}
