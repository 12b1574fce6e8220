// Mlxsetup brings libmlx, the C++ library of Apple's MLX, and tells what a build
// against it needs.
//
//	eval "$(go run github.com/mpsrnn/mpsrnn/cmd/mlxsetup)"
//	go build ./...
//
// It downloads the official wheel with pip, checks its SHA-256, unpacks it into the
// user's cache directory and prints two lines for the shell, which set
// CGO_CPPFLAGS and CGO_LDFLAGS. What these hold already is kept; flags of an
// earlier set-up are replaced. With the cache filled no network and no Python is
// needed. Information goes to stderr.
//
//	mlxsetup              print the export lines
//	mlxsetup -w           write both variables with "go env -w" instead: they then count
//	                      for all of your builds, with or without MLX
//	mlxsetup -u           take them out again
//	mlxsetup -print NAME  print one value: dir, include, lib, cppflags, ldflags or version
//	mlxsetup -from DIR    use the MLX in DIR (a Python site-packages folder, a prefix with
//	                      include and lib, or an unpacked wheel): same version only
//	mlxsetup -bundle DIR  copy the libraries for a program that lies in DIR, and print the
//	                      lines with which to build it, so that DIR can go to another machine
//	mlxsetup -cuda        use the CUDA 13 build (Linux)
//	mlxsetup -variant V   use the named build, to compile for another system
//	mlxsetup -no-openblas do not link OpenBLAS
//
// On Linux, OpenBLAS (libopenblas.so.0, package libopenblas0-pthread) is linked
// ahead of libmlx when it is installed, since the BLAS inside the wheel is slow. A
// program built so needs OpenBLAS wherever it runs; -bundle copies it too.
//
// A program that was set up with -bundle is built and shipped like this:
//
//	eval "$(mlxsetup -bundle dist)"
//	go build -o dist/app ./cmd/app
//
// The environment variable MPSRNN_CACHE names another folder instead of
// <user cache>/mpsrnn. pip's own settings (PIP_INDEX_URL, or PIP_NO_INDEX with
// PIP_FIND_LINKS for a machine without network) count as usual.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mpsrnn/mpsrnn/internal/mlxdist"
)

const usage = `mlxsetup brings libmlx and prints the flags that a build against it needs:

  eval "$(go run github.com/mpsrnn/mpsrnn/cmd/mlxsetup)" && go build ./...

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	host := mlxdist.ThisHost()
	t := tool{
		stdout:      os.Stdout,
		stderr:      os.Stderr,
		host:        host,
		catalog:     mlxdist.Official,
		fetch:       mlxdist.Pip{Progress: terminal(os.Stderr)},
		libraryDirs: mlxdist.LibraryDirs(host.GOARCH),
	}
	if err := t.run(ctx, os.Args[1:]); err != nil {
		t.log("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

// terminal returns f when it is a terminal, for pip's progress bar, or else nil.
func terminal(f *os.File) io.Writer {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 || info.Name() == "null" {
		return nil
	}
	return f
}

// tool is the program with all that it takes from outside, so that tests can stand in.
type tool struct {
	stdout, stderr io.Writer
	host           mlxdist.Host
	catalog        mlxdist.Catalog
	fetch          mlxdist.Fetcher
	libraryDirs    []string
}

type options struct {
	write, undo, cuda, noOpenBLAS bool
	from, bundle, variant, print  string
}

func (t *tool) log(format string, args ...any) {
	_, _ = fmt.Fprintf(t.stderr, "mlxsetup: "+format+"\n", args...)
}

func (t *tool) run(ctx context.Context, args []string) error {
	o, err := t.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	root, err := mlxdist.DefaultRoot()
	if err != nil {
		return err
	}
	if o.undo {
		return t.undo(root)
	}
	if o.print == "version" {
		_, err := fmt.Fprintln(t.stdout, mlxdist.Version)
		return err
	}
	target, cuda, tree, err := t.provide(ctx, o, root)
	if err != nil {
		return err
	}
	openBLAS := ""
	if target.GOOS == "linux" && !o.noOpenBLAS {
		openBLAS = mlxdist.FindOpenBLAS(target.GOARCH, t.libraryDirs)
	}
	if o.print == "" && target.GOOS == "linux" && !o.noOpenBLAS {
		t.reportOpenBLAS(openBLAS)
	}
	ours, err := tree.Flags(mlxdist.Link{GOOS: target.GOOS, OpenBLAS: openBLAS != "", CUDA: cuda, Bundle: o.bundle != ""})
	if err != nil {
		return err
	}
	if o.bundle != "" {
		names, err := tree.Bundle(o.bundle, openBLAS, target.GOARCH, t.libraryDirs)
		if err != nil {
			return fmt.Errorf("cannot make the bundle: %w", err)
		}
		t.log("copied %s into %s: build with the printed lines and put the program into that folder", strings.Join(names, " and "), o.bundle)
	}
	if cuda && o.print == "" {
		t.log("the CUDA 13 libraries are not part of this: see that the loader finds them (LD_LIBRARY_PATH), or pip install 'mlx[cuda13]==%s' and use -from SITE-PACKAGES", mlxdist.Version)
	}
	switch o.print {
	case "dir":
		_, err = fmt.Fprintln(t.stdout, tree.Dir)
		return err
	case "include":
		_, err = fmt.Fprintln(t.stdout, tree.Include)
		return err
	case "lib":
		_, err = fmt.Fprintln(t.stdout, tree.Lib)
		return err
	}
	if o.write {
		return t.write(ours, root)
	}
	return t.printFlags(ours, root, o.print)
}

var printable = []string{"dir", "include", "lib", "cppflags", "ldflags", "version"}

func (t *tool) parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("mlxsetup", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // one sentence instead of the whole usage; see main
	flags.BoolVar(&o.write, "w", false, "write CGO_CPPFLAGS and CGO_LDFLAGS with go env -w, for all builds, instead of printing them")
	flags.BoolVar(&o.undo, "u", false, "take out of go env what -w wrote")
	flags.BoolVar(&o.cuda, "cuda", false, "use the CUDA 13 build of MLX (Linux)")
	flags.BoolVar(&o.noOpenBLAS, "no-openblas", false, "do not link OpenBLAS")
	flags.StringVar(&o.from, "from", "", "use the MLX in this `folder` instead of a downloaded one")
	flags.StringVar(&o.bundle, "bundle", "", "copy the libraries for a program into this `folder` and print the lines with which to build it")
	flags.StringVar(&o.variant, "variant", "", "use this `build` of MLX: "+strings.Join(t.catalog.Variants(), ", "))
	flags.StringVar(&o.print, "print", "", "print one `value` only: "+strings.Join(printable, ", "))
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(t.stdout, usage)
		flags.SetOutput(t.stdout)
		flags.PrintDefaults()
		return o, err
	}
	if err != nil {
		return o, fmt.Errorf("%w (mlxsetup -h lists the flags)", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q (mlxsetup -h lists the flags)", flags.Arg(0))
	}
	// Of each pair only one can be meant.
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) {
		set[f.Name] = true
		if f.Value.String() == "" {
			err = fmt.Errorf("-%s is empty: it needs a value", f.Name)
		}
	})
	if err != nil {
		return o, err
	}
	for _, pair := range [][2]string{
		{"w", "u"}, {"w", "print"}, {"w", "bundle"}, {"u", "print"}, {"u", "bundle"}, {"u", "from"},
		{"from", "cuda"}, {"from", "variant"}, {"cuda", "variant"}, {"bundle", "print"},
	} {
		if set[pair[0]] && set[pair[1]] {
			return o, fmt.Errorf("-%s and -%s cannot be used together", pair[0], pair[1])
		}
	}
	if set["print"] {
		for _, name := range printable {
			if o.print == name {
				return o, nil
			}
		}
		return o, fmt.Errorf("-print %s: expected one of %s", o.print, strings.Join(printable, ", "))
	}
	return o, nil
}

// provide finds or fetches MLX and tells for which system it is.
func (t *tool) provide(ctx context.Context, o options, root string) (target mlxdist.Host, cuda bool, tree mlxdist.Tree, err error) {
	if o.from != "" {
		tree, err = mlxdist.Open(o.from, t.host.GOOS)
		return t.host, false, tree, err
	}
	var wheel mlxdist.Wheel
	if o.variant != "" {
		wheel, err = t.catalog.Named(o.variant)
	} else {
		wheel, err = t.catalog.For(t.host, o.cuda)
	}
	if err != nil {
		return target, false, tree, err
	}
	cache := mlxdist.Cache{Root: root, Fetch: t.fetch, Log: t.log}
	if o.variant == "" && !cache.Has(wheel) {
		if err := mlxdist.CheckLibc(t.host.GOOS); err != nil {
			return target, false, tree, err
		}
	}
	tree, err = cache.Ensure(ctx, wheel)
	return mlxdist.Host{GOOS: wheel.GOOS, GOARCH: wheel.GOARCH}, wheel.CUDA, tree, err
}

func (t *tool) reportOpenBLAS(path string) {
	if path != "" {
		t.log("linking OpenBLAS (%s) ahead of libmlx", path)
		return
	}
	t.log("OpenBLAS is not installed, so matrix products run about 25 times slower than they could: apt-get install libopenblas0-pthread, then set up again")
}
