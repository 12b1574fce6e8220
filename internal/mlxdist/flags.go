package mlxdist

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultLDFlags is what Go uses for CGO_LDFLAGS when it is not set. Setting it
// replaces that, so it has to be kept. CGO_CPPFLAGS is empty by default.
const DefaultLDFlags = "-O2 -g"

// Flags are the compiler and linker flags for a build against MLX. The former are
// for CGO_CPPFLAGS and not CGO_CXXFLAGS, since C code too has to find out whether
// MLX is set up. -lmlx is not among the latter: the #cgo line of package mlx has it.
type Flags struct {
	CPP []string
	LD  []string
}

// openBLASFlags make the executable itself need OpenBLAS, so that its symbols are
// found before those of the slow BLAS that libmlx brings, one level deeper.
var openBLASFlags = []string{"-Wl,--no-as-needed", "-l:libopenblas.so.0", "-Wl,--as-needed"}

// cudaFlags let a CUDA build be linked where the CUDA libraries are not installed.
var cudaFlags = []string{"-Wl,--unresolved-symbols=ignore-in-shared-libs"}

const (
	oldTagsFlag = "-Wl,--disable-new-dtags"
	rpathPrefix = "-Wl,-rpath,"
)

// A Link says how a binary shall find the libraries of a [Tree].
type Link struct {
	GOOS     string
	OpenBLAS bool // link OpenBLAS ahead of libmlx (Linux)
	CUDA     bool
	Bundle   bool // look beside the executable (see [Tree.Bundle]), not in the tree
}

// Flags returns the flags for a build against t.
func (t Tree) Flags(l Link) (Flags, error) {
	for _, p := range []string{t.Include, t.Lib} {
		if i := strings.IndexFunc(p, func(r rune) bool { return r == ',' || r == ':' || r < ' ' }); i >= 0 {
			return Flags{}, fmt.Errorf("the path %q cannot be given to the linker because of the %q in it: set %s to another folder", p, p[i], CacheEnv)
		}
	}
	f := Flags{CPP: []string{"-I" + t.Include}}
	if l.OpenBLAS {
		f.LD = append(f.LD, openBLASFlags...)
	}
	if l.CUDA {
		f.LD = append(f.LD, cudaFlags...)
	}
	f.LD = append(f.LD, "-L"+t.Lib)
	if !l.Bundle {
		f.LD = append(f.LD, rpathPrefix+t.Lib)
		return f, nil
	}
	if l.GOOS != "darwin" {
		// DT_RPATH and not DT_RUNPATH: only the former also serves the libraries that
		// OpenBLAS in turn needs.
		f.LD = append(f.LD, oldTagsFlag)
	}
	f.LD = append(f.LD, rpathPrefix+bundleRpath(l.GOOS))
	return f, nil
}

// bundleRpath is where a binary finds the libraries that lie beside it.
func bundleRpath(goos string) string {
	if goos == "darwin" {
		return "@executable_path/mlx/lib"
	}
	return "$ORIGIN/mlx/lib"
}

// MergeFlags adds our flags to a value of CGO_CPPFLAGS or CGO_LDFLAGS, after taking
// out what an earlier setup put there (see [StripFlags]). It may be repeated: the
// result stays the same.
func MergeFlags(existing string, ours []string, cacheRoot string) (string, error) {
	fields, err := stripFields(existing, cacheRoot)
	if err != nil {
		return "", err
	}
	return joinFlags(append(fields, ours...))
}

// StripFlags takes our flags out of a value of CGO_CPPFLAGS or CGO_LDFLAGS and
// leaves everything else. Ours are paths into the cache or to any other MLX, the
// rpath of a bundle, and the group of flags that links OpenBLAS.
func StripFlags(existing, cacheRoot string) (string, error) {
	fields, err := stripFields(existing, cacheRoot)
	if err != nil {
		return "", err
	}
	return joinFlags(fields)
}

func stripFields(existing, cacheRoot string) ([]string, error) {
	fields, err := splitFlags(existing)
	if err != nil {
		return nil, err
	}
	for i := 0; i+len(openBLASFlags) <= len(fields); {
		if slices.Equal(fields[i:i+len(openBLASFlags)], openBLASFlags) {
			fields = slices.Delete(fields, i, i+len(openBLASFlags))
		} else {
			i++
		}
	}
	return slices.DeleteFunc(fields, func(f string) bool {
		if path, ok := strings.CutPrefix(f, "-I"); ok {
			return isUnder(path, cacheRoot) || exists(filepath.Join(path, "mlx", "version.h"))
		}
		path, isL := strings.CutPrefix(f, "-L")
		if !isL {
			var isRpath bool
			if path, isRpath = strings.CutPrefix(f, rpathPrefix); !isRpath {
				return f == oldTagsFlag || slices.Contains(cudaFlags, f)
			}
		}
		return isUnder(path, cacheRoot) || path == bundleRpath("linux") || path == bundleRpath("darwin") ||
			exists(filepath.Join(path, libraryName("linux"))) || exists(filepath.Join(path, libraryName("darwin")))
	}), nil
}

func isUnder(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

const flagSpace = " \t\r\n"

// splitFlags splits a flag variable as the go command does: at white space, and a
// field that begins with a quote ends at the next one; there are no escapes.
func splitFlags(s string) ([]string, error) {
	var fields []string
	for {
		s = strings.TrimLeft(s, flagSpace)
		if s == "" {
			return fields, nil
		}
		if q := s[0]; q == '\'' || q == '"' {
			end := strings.IndexByte(s[1:], q)
			if end < 0 {
				return nil, fmt.Errorf("unterminated %c quote in the flags %s", q, s)
			}
			fields = append(fields, s[1:end+1])
			s = s[end+2:]
			continue
		}
		end := strings.IndexAny(s, flagSpace)
		if end < 0 {
			end = len(s)
		}
		fields = append(fields, s[:end])
		s = s[end:]
	}
}

// joinFlags is the inverse of splitFlags.
func joinFlags(fields []string) (string, error) {
	quoted := make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f != "" && !strings.ContainsAny(f, flagSpace+`'"`):
			quoted[i] = f
		case !strings.Contains(f, "'"):
			quoted[i] = "'" + f + "'"
		case !strings.Contains(f, `"`):
			quoted[i] = `"` + f + `"`
		default:
			return "", fmt.Errorf("the flag %s holds both kinds of quotes, which the go command cannot read", f)
		}
	}
	return strings.Join(quoted, " "), nil
}

// ShellQuote makes s one word for a POSIX shell.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
