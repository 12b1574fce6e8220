package rnn

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kinds: uninit, leak, loop and thread.

// Results do not depend on what memory held before.
func TestB14NoOldMemoryInResults(t *testing.T) {
	g, m := newF1(t, GRUConfig{Direction: Bidirectional}), newF2(t, LSTMConfig{Direction: Bidirectional})
	for range 200 {
		scope := mlx.NewScope()
		poison := scope.Own(mlx.Full([]int{1 << 14}, math.NaN(), mlx.Float64))
		small := make([]*mlx.Array, 20)
		for i := range small {
			small[i] = poison.SliceAxis(0, 0, 1<<(i%14)).Add(0)
		}
		require.NoError(t, mlx.Eval(append(small, poison)...))
		scope.Close()
		y, _ := g.Forward(x0(), State{})
		near(t, f1Zero, y.SliceAxis(2, 0, 2), digits)
		near(t, f1Reverse, y.SliceAxis(2, 2, 4), digits)
		y, _ = m.Forward(x0(), State{})
		near(t, f2Zero, y.SliceAxis(2, 0, 2), digits)
		d := layerGradients(t, g, x0(), State{}, sumOfOutputs)
		require.False(t, slices.ContainsFunc(floats(t, d["Wh"]), math.IsNaN))
	}
}

func TestB52NoBiasAndManyRows(t *testing.T) {
	g := newF1(t, GRUConfig{NoBias: true})
	for range 2 {
		y, _ := g.Forward(x0().BroadcastTo(4, 3, 2), State{})
		for row := range 4 {
			near(t, f1NoBias, y.Select(0, row), digits)
		}
	}
}

// Memory does not grow with the number of different lengths.
func TestB16ManySequenceLengths(t *testing.T) {
	const N, D, H, longest = 4, 16, 16, 600
	l := newLayer(t, config{cell: recurrent.GRU, input: D, hidden: H}, 1)
	x := mlx.RandomNormal([]int{N, longest, D}, mlx.Float32, 0, 1, mlx.Key(1))
	y, _ := l.Forward(x, State{})
	whole := floats(t, y)
	y.Free()
	var after [2]int
	for sweep := range after {
		for T := 1; T <= longest; T++ {
			scope := mlx.NewScope()
			y, _ := l.Forward(scope.Own(x).SliceAxis(1, 0, T), State{})
			require.NoError(t, y.Eval())
			if sweep == 0 && T%7 == 0 {
				v := floats(t, y)
				for row := range N {
					want := whole[row*longest*H : row*longest*H+T*H]
					require.InDeltaSlice(t, want, v[row*T*H:(row+1)*T*H], 1e-6)
				}
			}
			scope.Close()
		}
		_, active := collect()
		after[sweep] = active + mlx.CacheMemory()
	}
	assert.InDelta(t, after[0], after[1], .05*float64(after[0]))
}

// collect gives the live arrays and the memory in use once the collector has found all that it can. It runs cleanups on
// a goroutine of its own, so one pass is not enough.
func collect() (arrays, memory int) {
	for quiet := 0; quiet < 5; {
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
		mlx.Scalar(0).Free() // gives back what cleanups have queued
		now := mlx.LiveArrays()
		if quiet++; now != arrays {
			quiet = 0
		}
		arrays = now
	}
	return arrays, mlx.ActiveMemory()
}

// A state that is carried on and a total that is added up are evaluated at each step; then nothing grows.
func TestB85CarriedStateAndTotal(t *testing.T) {
	for _, scoped := range []bool{true, false} {
		l := newLayer(t, config{cell: recurrent.LSTM, input: 4, hidden: 8}, 1)
		x := mlx.RandomNormal([]int{2, 5, 4}, mlx.Float32, 0, 1, mlx.Key(1))
		require.NoError(t, x.Eval())
		total := mlx.Scalar(float32(0))
		var s State
		step := func() {
			in := x
			var scope *mlx.Scope
			if scoped {
				scope = mlx.NewScope()
				in = scope.Own(x)
			}
			y, next := l.Forward(in, s)
			sum := mlx.Keep(total.Add(y.Sum()))
			next = next.Keep()
			require.NoError(t, mlx.Eval(append(next.Arrays(), sum)...))
			total.Free()
			s.Free()
			scope.Close()
			total, s = sum, next
		}
		for range 100 {
			step()
		}
		arrays, before := collect()
		mlx.ResetPeakMemory()
		for range 2000 {
			step()
		}
		arraysAfter, after := collect()
		assert.Less(t, arraysAfter-arrays, 100, "scoped %v", scoped)
		assert.Less(t, after-before, 256<<10, "scoped %v", scoped)
		if scoped {
			assert.Less(t, mlx.PeakMemory()-before, 1<<20)
		}
	}
}

// Gradients leave nothing behind: no arrays, no memory.
func TestGradientsLeaveNothingBehind(t *testing.T) {
	l := newLayer(t, config{cell: recurrent.GRU, input: 4, hidden: 8, layers: 2, direction: Bidirectional}, 1)
	x := mlx.RandomNormal([]int{2, 5, 4}, mlx.Float32, 0, 1, mlx.Key(1))
	step := func() {
		d := layerGradients(t, l, x, State{}, sumOfOutputs, Lengths([]int{5, 2}))
		for _, a := range d {
			a.Free()
		}
		// A loss that does not ask for the layer's gradient; and one whose function is traced and then dropped.
		_, grads, err := mlx.ValueAndGrad(func(args []*mlx.Array) []*mlx.Array {
			y, _ := l.Forward(args[0], State{})
			return []*mlx.Array{args[0].Sum(), y}
		})(x)
		require.NoError(t, err)
		grads[0].Free()
	}
	for range 20 {
		step()
	}
	arrays, memory := collect()
	for range 300 {
		step()
	}
	arraysAfter, memoryAfter := collect()
	assert.Less(t, arraysAfter-arrays, 100)
	assert.Less(t, memoryAfter-memory, 256<<10)
}

// Many goroutines share one layer: forward, one step, and gradients.
func TestManyGoroutinesShareALayer(t *testing.T) {
	g, m := newF1(t, GRUConfig{Direction: Bidirectional}), newF2(t, LSTMConfig{})
	var wait sync.WaitGroup
	faults := make(chan error, 64)
	check := func(want []float64, a *mlx.Array) error {
		v, err := mlx.Values[float64](a)
		if err != nil {
			return err
		}
		for i := range want {
			if math.Abs(v[i]-want[i]) > digits {
				return fmt.Errorf("got %v, expected %v", v, want)
			}
		}
		return nil
	}
	work := func() error {
		scope := mlx.NewScope()
		defer scope.Close()
		for range 5 {
			y, _ := g.Forward(scope.Own(x0()), State{}, Lengths([]int{3}))
			if err := check(f1Zero, y.SliceAxis(2, 0, 2)); err != nil {
				return err
			}
			runtime.Gosched()
			y, s := m.Step(scope.Own(f64(row0[:2], 1, 2)), State{})
			if err := check(f2Zero[:2], y); err != nil {
				return err
			}
			_, grads, err := mlx.ValueAndGrad(func(args []*mlx.Array) []*mlx.Array {
				_, s := m.Forward(args[0], State{H: args[1], C: args[2]})
				return []*mlx.Array{s.C.Sum()}
			}, 1, 2)(x0(), hc03().H, hc03().C)
			if err != nil {
				return err
			}
			if err := check(numbers(".148043 .091934"), grads[1]); err != nil {
				return err
			}
			if err := s.Eval(); err != nil {
				return err
			}
		}
		return nil
	}
	for range 32 {
		wait.Go(func() { faults <- work() })
	}
	wait.Wait()
	close(faults)
	for err := range faults {
		require.NoError(t, err)
	}
}
