//go:build !race && !asan

// Resident memory is measured here; the detectors of races and of bad addresses keep memory of their own.

package mlx

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	children["train with scopes"] = func() { trainAndMeasure(true) }
	children["train without scopes"] = func() { trainAndMeasure(false) }
	children["async evaluations"] = manyAsyncEvaluations
}

// residentBytes is the process's resident memory.
func residentBytes() int {
	text, err := os.ReadFile("/proc/self/statm")
	must(err)
	var total, pages int
	_, err = fmt.Sscan(string(text), &total, &pages)
	must(err)
	return pages * os.Getpagesize()
}

// trainAndMeasure trains a small network and prints the resident memory after 1,000 and after 10,000 steps.
func trainAndMeasure(scopes bool) {
	keys := NewKeys(1)
	var params []*Array
	for _, shape := range [][]int{{8, 16}, {16}, {16, 4}, {4}} {
		params = append(params, RandomNormal(shape, Float32, 0, 0.3, keys.Next()))
	}
	must(Eval(params...))
	step := ValueAndGrad(func(a []*Array) []*Array {
		h := a[4].MatMul(a[0]).Add(a[1]).Tanh()
		return []*Array{h.MatMul(a[2]).Add(a[3]).Sub(a[5]).Square().Mean()}
	}, 0, 1, 2, 3)
	var last float32
	for i := 1; i <= 10_000; i++ {
		x, y := RandomNormal([]int{4, 8}, Float32, 0, 1, keys.Next()), Ones([]int{4, 4}, Float32)
		s := NewScope()
		if scopes {
			x = s.Own(x)
		}
		values, grads, err := step(append(params[:4:4], x, y)...)
		must(err)
		for j, g := range grads {
			updated := params[j].Sub(g.Mul(0.05))
			if scopes {
				updated = s.Keep(updated)
				params[j].Free()
			}
			params[j] = updated
		}
		must(Eval(params...))
		last, err = Item[float32](values[0])
		must(err)
		s.Close()
		if i == 1000 || i == 10_000 {
			fmt.Println(residentBytes())
		}
	}
	fmt.Println(last)
}

func TestMemoryOfTraining(t *testing.T) {
	for _, name := range []string{"train with scopes", "train without scopes"} {
		lines := runChild(t, name)
		require.Len(t, lines, 3)
		early, err := strconv.Atoi(lines[0])
		require.NoError(t, err)
		late, err := strconv.Atoi(lines[1])
		require.NoError(t, err)
		t.Logf("%s: %.1f MiB after 1,000 steps, %.1f MiB after 10,000", name, float64(early)/(1<<20), float64(late)/(1<<20))
		assert.InDelta(t, early, late, 5e6, name)
		loss, err := strconv.ParseFloat(lines[2], 32)
		require.NoError(t, err)
		assert.Less(t, loss, 0.1, "it trains")
	}
}

// manyAsyncEvaluations prints the number of OS threads and the resident memory after 10,000 and 50,000 evaluations
// that nobody waits for.
func manyAsyncEvaluations() {
	x := New([]float32{1, 2})
	must(AsyncEval(slow(Stream{}, x, 200)))
	for i := 1; i <= 50_000; i++ {
		a := x.Add(i)
		must(AsyncEval(a))
		a.Free()
		if i == 10_000 || i == 50_000 {
			tasks, err := os.ReadDir("/proc/self/task")
			must(err)
			fmt.Println(len(tasks))
			fmt.Println(residentBytes())
		}
	}
}

// B98: tens of thousands of asynchronous evaluations.
func TestMemoryB98AsyncEvaluations(t *testing.T) {
	var n []int
	for _, line := range runChild(t, "async evaluations") {
		v, err := strconv.Atoi(line)
		require.NoError(t, err)
		n = append(n, v)
	}
	require.Len(t, n, 4)
	assert.Less(t, n[2], 40, "OS threads")
	assert.InDelta(t, n[1], n[3], 5e6, "resident bytes")
}

// B97 and the records of failures: they go when the arrays go.
func TestMemoryB97ErrorReturns(t *testing.T) {
	run := func(n int) {
		x := New([]float32{1, 2})
		y := New([]float32{1, 2, 3})
		for range n {
			require.Error(t, x.Add(y).Err())
			a := faulty(Stream{}, x, inTask)
			b := a.Add(1)
			require.Error(t, b.Eval())
			a.Free()
			b.Free()
		}
		x.Free()
		y.Free()
	}
	run(2000)
	live, before := LiveArrays(), settledMemory(t)
	run(50_000)
	assert.Equal(t, live, LiveArrays())
	assert.Less(t, settledMemory(t)-before, 2<<20, "bytes of resident memory")
}

// settledMemory is the process's resident memory in bytes after a collection, with MLX's kept memory given back.
func settledMemory(t *testing.T) int {
	t.Helper()
	for range 3 {
		runtime.GC()
		_ = LiveArrays() // gives back what the collector found
	}
	require.NoError(t, ClearCache())
	return residentBytes()
}
