package mlx

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever an operation is given, it gives results or arrays with an error that names it: it never crashes, panics or
// hangs. A crash in native code ends the process, so the calls run in another one, which says what it does.
func TestBadInputNeverCrashes(t *testing.T) {
	names := slices.Sorted(maps.Keys(opTable))
	for len(names) > 0 {
		done, last, fault := runBadInput(t, names)
		if fault == nil {
			return
		}
		t.Errorf("%s\n%v", last, fault)
		require.NotEmpty(t, last, "the process failed before its first operation")
		names = names[done:]
	}
}

// longestCall is when a call counts as hanging.
const longestCall = time.Minute

// mayBeEmpty are operations that give as many arrays as they are given, or as an axis is long.
var mayBeEmpty = []string{"BroadcastArrays", "MeshGrid", "Depends", "Unstack"}

const (
	badInputNames    = "MLX_BAD_INPUT_OPERATIONS"
	badInputFinished = "finished all operations"
)

// runBadInput gives the number of operations begun and the last call of a process that failed.
func runBadInput(t *testing.T, names []string) (begun int, last string, fault error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestBadInputProcess$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), badInputNames+"="+strings.Join(names, " "))
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	finished := false
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		switch {
		case strings.HasPrefix(line, "operation "):
			begun++
		case strings.HasPrefix(line, "call "):
			last = line
		case strings.HasPrefix(line, "wrong "):
			t.Error(line)
		case line == badInputFinished:
			finished = true
		}
	}
	err = cmd.Wait()
	if err == nil && !finished {
		err = errors.New("the process ended before its time") // some libraries end a process when they dislike an argument
	}
	if err != nil {
		text := log.String()
		err = fmt.Errorf("%w\n%s", err, text[:min(len(text), 3000)])
	}
	return begun, last, err
}

// TestBadInputProcess is the other process of TestBadInputNeverCrashes.
func TestBadInputProcess(t *testing.T) {
	names := strings.Fields(os.Getenv(badInputNames))
	regular := map[string]vectorCase{}
	if len(names) > 0 {
		regular = regularCases(t)
	}
	for _, name := range names {
		fmt.Println("operation", name)
		op := opTable[name]
		good, err := regular[name].arguments()
		require.NoError(t, err)
		bad := map[string][]any{}
		for _, arg := range op.args {
			bad[arg.name] = nonsense(arg.kind, good[arg.name])
			for _, v := range bad[arg.name] {
				args := maps.Clone(good)
				args[arg.name] = v
				tryCall(name, op, args)
			}
		}
		rnd := rand.New(rand.NewPCG(5, 6))
		for range 100 {
			args := maps.Clone(good)
			for _, arg := range op.args {
				if list := bad[arg.name]; rnd.IntN(2) == 0 {
					args[arg.name] = list[rnd.IntN(len(list))]
				}
			}
			tryCall(name, op, args)
		}
	}
	fmt.Println(badInputFinished)
}

// tryCall runs one call and evaluates what it gives, unless that would need too much memory.
func tryCall(name string, op testedOp, args vectorArgs) {
	fmt.Println("call", name, describeArgs(op, args))
	watch := time.AfterFunc(longestCall, func() {
		fmt.Fprintln(os.Stderr, "a call takes longer than", longestCall)
		os.Exit(3)
	})
	defer watch.Stop()
	results := op.run(Ops{}, args)
	for i, r := range results[:min(len(results), 8)] {
		if r == nil {
			fmt.Println("wrong", name, "result", i, "is nil for", describeArgs(op, args))
			continue
		}
		err := r.Err()
		if err == nil {
			if r.Size() < 1<<22 {
				_ = r.Eval() // may fail, but must return
			}
			continue
		}
		var known *Error
		named := errors.As(err, &known) && (strings.EqualFold(known.Op, name) || known.Op == "earlier" || known.Op == "eval") && known.Message != ""
		if !named {
			fmt.Printf("wrong %s: error %q does not name the operation, for %s\n", name, err, describeArgs(op, args))
		}
	}
	if len(results) == 0 && !slices.Contains(mayBeEmpty, name) {
		fmt.Println("wrong", name, "gives nothing for", describeArgs(op, args))
	}
}

func describeArgs(op testedOp, args vectorArgs) string {
	var b strings.Builder
	for _, arg := range op.args {
		fmt.Fprintf(&b, " %s=%s", arg.name, describeArg(args[arg.name]))
	}
	return b.String()
}

func describeArg(v any) string {
	switch x := v.(type) {
	case *Array:
		switch {
		case x == nil:
			return "nil array"
		case x.Err() != nil:
			return "failed array"
		}
		return fmt.Sprintf("%v%v", x.Dtype(), x.Shape())
	case []*Array:
		parts := make([]string, len(x))
		for i, a := range x {
			parts[i] = describeArg(a)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%#v", v)
}
