package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/mpsrnn/mpsrnn/internal/mlxdist"
)

const (
	cppVar = "CGO_CPPFLAGS"
	ldVar  = "CGO_LDFLAGS"
)

// printFlags prints the export lines, or one of the two values.
func (t *tool) printFlags(ours mlxdist.Flags, root, which string) error {
	cpp, ld, err := merged(ours, root, os.Environ())
	if err != nil {
		return err
	}
	switch which {
	case "cppflags":
		_, err = fmt.Fprintln(t.stdout, cpp)
	case "ldflags":
		_, err = fmt.Fprintln(t.stdout, ld)
	default:
		_, err = fmt.Fprintf(t.stdout, "export %s=%s\nexport %s=%s\n", cppVar, mlxdist.ShellQuote(cpp), ldVar, mlxdist.ShellQuote(ld))
	}
	return err
}

// write puts the flags into the go command's own settings.
func (t *tool) write(ours mlxdist.Flags, root string) error {
	cpp, ld, err := merged(ours, root, withoutFlags())
	if err != nil {
		return err
	}
	if err := goEnvSet(cpp, ld); err != nil {
		return err
	}
	t.log("wrote %s and %s with go env -w: they count for all of your builds (mlxsetup -u takes them out)", cppVar, ldVar)
	for _, name := range []string{cppVar, ldVar} {
		if os.Getenv(name) != "" {
			t.log("the environment variable %s is set and hides what was written: unset %s", name, name)
		}
	}
	return nil
}

// undo takes our flags out of the go command's settings and leaves the user's own.
func (t *tool) undo(root string) error {
	cpp, ld, err := goEnvGet(withoutFlags())
	if err != nil {
		return err
	}
	for _, v := range []*string{&cpp, &ld} {
		if *v, err = mlxdist.StripFlags(*v, root); err != nil {
			return err
		}
	}
	if err := goEnvSet(cpp, ld); err != nil {
		return err
	}
	t.log("took the flags for MLX out of %s and %s in go env", cppVar, ldVar)
	return nil
}

func merged(ours mlxdist.Flags, root string, environ []string) (cpp, ld string, err error) {
	if cpp, ld, err = goEnvGet(environ); err != nil {
		return "", "", err
	}
	if cpp, err = mlxdist.MergeFlags(cpp, ours.CPP, root); err != nil {
		return "", "", fmt.Errorf("%s: %w", cppVar, err)
	}
	if ld, err = mlxdist.MergeFlags(ld, ours.LD, root); err != nil {
		return "", "", fmt.Errorf("%s: %w", ldVar, err)
	}
	return cpp, ld, nil
}

// withoutFlags is the environment without the two variables, in which go env shows
// what its file says.
func withoutFlags() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, cppVar+"=") || strings.HasPrefix(e, ldVar+"=")
	})
}

// goEnvGet asks the go command for the two values: those of the environment, of
// go env -w, or Go's defaults. Without a go command only the environment counts.
func goEnvGet(environ []string) (cpp, ld string, err error) {
	cmd := exec.Command("go", "env", cppVar, ldVar)
	cmd.Env = environ
	out, err := output(cmd)
	if errors.Is(err, exec.ErrNotFound) {
		get := func(name, unset string) string {
			for _, e := range environ {
				if v, ok := strings.CutPrefix(e, name+"="); ok && v != "" {
					return v
				}
			}
			return unset
		}
		return get(cppVar, ""), get(ldVar, mlxdist.DefaultLDFlags), nil
	}
	if err != nil {
		return "", "", err
	}
	cpp, rest, _ := strings.Cut(out, "\n")
	ld, _, _ = strings.Cut(rest, "\n")
	return cpp, ld, nil
}

// goEnvSet writes both values in one call, so that never only one of them is
// written; a value that is Go's default is unset.
func goEnvSet(cpp, ld string) error {
	// With GOENV=off the go command would write to a file that it does not read.
	file, err := output(exec.Command("go", "env", "GOENV"))
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("the go command is not on the PATH: -w and -u need it")
	}
	if err != nil {
		return err
	}
	if file = strings.TrimSpace(file); file == "" || file == "off" {
		return errors.New("the settings of go env are turned off (GOENV=off): -w and -u need them")
	}
	values := []string{"env", "-w"}
	defaults := []string{"env", "-u"}
	for _, v := range [][2]string{{cppVar, cpp}, {ldVar, ld}} {
		if v[1] == "" || v == [2]string{ldVar, mlxdist.DefaultLDFlags} {
			defaults = append(defaults, v[0])
		} else {
			values = append(values, v[0]+"="+v[1])
		}
	}
	for _, args := range [][]string{values, defaults} {
		if len(args) == 2 {
			continue
		}
		cmd := exec.Command("go", args...)
		cmd.Env = withoutFlags() // go would warn about the variables; write does that itself
		if _, err := output(cmd); err != nil {
			return err
		}
	}
	return nil
}

// output runs a go command and puts its complaint into the error.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", err
		}
		reason, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n") // a stack trace may follow
		if reason == "" {
			reason = err.Error()
		}
		return "", fmt.Errorf("%s failed: %s", strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), reason)
	}
	return stdout.String(), nil
}
