// Package mlxdist knows where libmlx comes from: the one pinned version, the
// official wheels that carry it with their hashes, how they get into the user's
// cache directory, and which compiler and linker flags a build against them needs.
//
// It has no cgo and does not import package mlx, so it works before there is
// anything to link with.
package mlxdist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Version is the version of libmlx that this module is built and tested with.
// Class layouts of the C++ library change between patch releases, so no other
// version will do.
const Version = "0.32.4"

// A Wheel is one official binary distribution of libmlx on PyPI.
type Wheel struct {
	Variant  string // our name for it, e.g. "linux-amd64-cpu"; part of the cache folder's name
	Project  string // PyPI project, e.g. "mlx-cpu"
	Platform string // pip's platform tag, e.g. "manylinux_2_35_x86_64"
	GOOS     string
	GOARCH   string
	MinOS    string // lowest macOS version on which it runs; empty on Linux
	CUDA     bool
	Size     int64  // of the download, bytes
	Unpacked int64  // bytes on disk
	SHA256   string // of the wheel file, hex
}

// String names the wheel as a user knows it: "mlx-cpu 0.32.4".
func (w Wheel) String() string { return w.Project + " " + Version }

// A Catalog is a list of wheels to choose from.
type Catalog []Wheel

// Official is every wheel of the pinned [Version]. To change the version, change
// it above and replace sizes and hashes here: download each wheel with
//
//	python3 -m pip download --no-deps --only-binary=:all: --platform PLATFORM PROJECT==VERSION
//
// The file named macosx_26_0 holds a library built for macOS 26.2 (LC_BUILD_VERSION).
var Official = Catalog{
	{
		Variant: "linux-amd64-cpu", Project: "mlx-cpu", Platform: "manylinux_2_35_x86_64", GOOS: "linux", GOARCH: "amd64",
		Size: 10486971, Unpacked: 34665732, SHA256: "0e0a24fa2ce8b6b94d2e6a90604e8813aa8e29fcb918bb2aa01cfb6d133d8cee",
	},
	{
		Variant: "linux-arm64-cpu", Project: "mlx-cpu", Platform: "manylinux_2_35_aarch64", GOOS: "linux", GOARCH: "arm64",
		Size: 8957465, Unpacked: 29108957, SHA256: "1289e85e64af1fd16380bf331438bfe4afe875d27afc3e0bcf35f427c488fadd",
	},
	{
		Variant: "linux-amd64-cuda13", Project: "mlx-cuda-13", Platform: "manylinux_2_35_x86_64", GOOS: "linux", GOARCH: "amd64", CUDA: true,
		Size: 89793098, Unpacked: 193492196, SHA256: "94cb48fba73e5ee39467e51c35c51c691123359ca17bafd1a24cf92ad6732bee",
	},
	{
		Variant: "linux-arm64-cuda13", Project: "mlx-cuda-13", Platform: "manylinux_2_35_aarch64", GOOS: "linux", GOARCH: "arm64", CUDA: true,
		Size: 86840998, Unpacked: 177850145, SHA256: "cf8a67b49cebff85cd98b1d118c09f6c8ee966b899a914c50cc74d614b25616e",
	},
	{
		Variant: "darwin-arm64-macos14", Project: "mlx-metal", Platform: "macosx_14_0_arm64", GOOS: "darwin", GOARCH: "arm64", MinOS: "14.0",
		Size: 44958619, Unpacked: 174247124, SHA256: "8019b2db622599267d66cc168b2f0dbf5af929790a6c3b3913e00eabc42a7947",
	},
	{
		Variant: "darwin-arm64-macos15", Project: "mlx-metal", Platform: "macosx_15_0_arm64", GOOS: "darwin", GOARCH: "arm64", MinOS: "15.0",
		Size: 44942974, Unpacked: 174223300, SHA256: "9f0a3cc26d89724434d9684932fc6f3e4e83669d2a895d858ed2c8a55eb84e8b",
	},
	{
		Variant: "darwin-arm64-macos26", Project: "mlx-metal", Platform: "macosx_26_0_arm64", GOOS: "darwin", GOARCH: "arm64", MinOS: "26.2",
		Size: 78106861, Unpacked: 241595103, SHA256: "514df92d41a286895d2564b4b18f4da45096bd7a4a0c47e1042f345ad5a7f936",
	},
}

// Variants lists the names of the wheels, in the catalog's order.
func (c Catalog) Variants() []string {
	names := make([]string, len(c))
	for i, w := range c {
		names[i] = w.Variant
	}
	return names
}

// Named returns the wheel with the given variant name.
func (c Catalog) Named(variant string) (Wheel, error) {
	for _, w := range c {
		if w.Variant == variant {
			return w, nil
		}
	}
	return Wheel{}, fmt.Errorf("there is no variant %q of MLX: the variants are %s", variant, strings.Join(c.Variants(), ", "))
}

// For returns the wheel for a machine: on a Mac the newest one that its macOS can
// load, elsewhere the CPU build, or the CUDA build when cuda is set.
func (c Catalog) For(h Host, cuda bool) (Wheel, error) {
	var best Wheel
	oldest := ""
	for _, w := range c {
		if w.GOOS != h.GOOS || w.GOARCH != h.GOARCH || w.CUDA != cuda {
			continue
		}
		if oldest == "" || compareVersions(w.MinOS, oldest) < 0 {
			oldest = w.MinOS
		}
		if compareVersions(w.MinOS, h.OSVersion) <= 0 && compareVersions(w.MinOS, best.MinOS) >= 0 {
			best = w
		}
	}
	switch {
	case best.Variant != "":
		return best, nil
	case oldest != "":
		return Wheel{}, fmt.Errorf("macOS %s is too old for MLX %s, which needs macOS %s or later", cmp.Or(h.OSVersion, "(unknown version)"), Version, oldest)
	case cuda:
		return Wheel{}, fmt.Errorf("MLX %s has no CUDA build for %s/%s: CUDA builds exist for linux/amd64 and linux/arm64", Version, h.GOOS, h.GOARCH)
	case h.GOOS == "darwin":
		return Wheel{}, fmt.Errorf("MLX %s runs only on Apple silicon, and this Go is built for darwin/%s: on an Apple silicon Mac install Go for darwin/arm64", Version, h.GOARCH)
	}
	return Wheel{}, fmt.Errorf("MLX %s has no build for %s/%s: builds exist for linux/amd64, linux/arm64 and darwin/arm64", Version, h.GOOS, h.GOARCH)
}

// compareVersions compares dotted version numbers part by part; a missing part
// counts as 0 and so does a part that is no number.
func compareVersions(a, b string) int {
	return slices.Compare(versionParts(a), versionParts(b))
}

func versionParts(v string) []int {
	parts := make([]int, 3)
	for i, s := range strings.SplitN(v, ".", 3) {
		_, _ = fmt.Sscanf(s, "%d", &parts[i]) // leaves 0, as documented
	}
	return parts
}
