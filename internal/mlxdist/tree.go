package mlxdist

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// A Tree is an MLX on disk.
type Tree struct {
	Dir     string // folder that holds include and lib
	Include string // folder that holds mlx/mlx.h
	Lib     string // folder that holds the library
	Library string // path of libmlx.so or libmlx.dylib
}

// libraryName is the file name of libmlx.
func libraryName(goos string) string {
	if goos == "darwin" {
		return "libmlx.dylib"
	}
	return "libmlx.so"
}

// Open finds MLX in dir: an unpacked wheel or a Python site-packages folder
// (dir/mlx/include, dir/mlx/lib), or an installation prefix such as
// site-packages/mlx or /opt/homebrew (dir/include, dir/lib). It fails unless the
// headers are those of [Version].
func Open(dir, goos string) (Tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Tree{}, err
	}
	if info, err := os.Stat(abs); err != nil {
		return Tree{}, fmt.Errorf("no MLX in %s: the folder does not exist", dir)
	} else if !info.IsDir() {
		return Tree{}, fmt.Errorf("no MLX in %s: it is not a folder", dir)
	}
	name := libraryName(goos)
	headers := false
	for _, base := range []string{filepath.Join(abs, "mlx"), abs} {
		for _, lib := range []string{"lib", "lib64"} {
			t := Tree{
				Dir:     base,
				Include: filepath.Join(base, "include"),
				Lib:     filepath.Join(base, lib),
				Library: filepath.Join(base, lib, name),
			}
			text, err := os.ReadFile(filepath.Join(t.Include, "mlx", "version.h"))
			if err != nil {
				continue
			}
			headers = true
			if info, err := os.Stat(t.Library); err != nil || info.IsDir() {
				continue
			}
			if v := headerVersion(text); v != Version {
				return Tree{}, fmt.Errorf("the MLX in %s is version %s, but this module needs %s", dir, cmp.Or(v, "(unreadable)"), Version)
			}
			return t, nil
		}
	}
	if headers {
		return Tree{}, fmt.Errorf("no MLX for %s in %s: the headers are there, lib/%s is not", goos, dir, name)
	}
	return Tree{}, fmt.Errorf("no MLX in %s: expected include/mlx/version.h and lib/%s in it or in its folder mlx", dir, name)
}

var versionDefine = regexp.MustCompile(`(?m)^#define MLX_VERSION_(MAJOR|MINOR|PATCH) (\d+)`)

// headerVersion reads "major.minor.patch" out of mlx/version.h; it returns "" when
// one of the three is missing.
func headerVersion(text []byte) string {
	part := map[string]string{}
	for _, m := range versionDefine.FindAllSubmatch(text, -1) {
		part[string(m[1])] = string(m[2])
	}
	if len(part) != 3 {
		return ""
	}
	return part["MAJOR"] + "." + part["MINOR"] + "." + part["PATCH"]
}
