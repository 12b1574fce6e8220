package mlx

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// collect gives back all that nobody refers to.
func collect() {
	for last, same := -1, 0; same < 4; same++ {
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run on goroutines of the runtime
		n := LiveArrays()
		if n != last {
			same = 0
		}
		last = n
	}
}

func TestScopeOwnsWhatIsComputed(t *testing.T) {
	collect()
	live := LiveArrays()
	outside := New([]float32{1, 2})
	s := NewScope()
	a := s.Own(outside)
	b := a.Add(1)
	c := outside.Mul(b)
	parts := c.Split(2, 0)
	kept, same := s.Keep(c), Keep(b)
	s.Close()
	s.Close()
	for _, x := range []*Array{a, b, c, parts[0], parts[1]} {
		assert.ErrorContains(t, x.Err(), "closed scope")
		assert.ErrorContains(t, x.Add(1).Eval(), "closed scope")
		x.Free()
	}
	assert.ErrorContains(t, s.Own(outside).Err(), "scope is closed")
	assert.Equal(t, []float32{2, 6}, floats(t, kept))
	assert.Equal(t, []float32{2, 3}, floats(t, same))
	assert.Equal(t, []float32{1, 2}, floats(t, outside), "an array outside stays")
	Eval(kept, same)
	for _, x := range []*Array{outside, kept, same} {
		x.Free()
	}
	assert.Equal(t, live, LiveArrays())
	(*Scope)(nil).Close()
}

func TestScopeNewestWins(t *testing.T) {
	x := New([]float32{1})
	outer, inner := NewScope(), NewScope()
	a, b := outer.Own(x), inner.Own(x)
	ab, ba := a.Add(b), b.Add(a)
	moved := outer.Own(ab)
	inner.Close()
	assert.Error(t, ab.Err())
	assert.Error(t, ba.Err())
	assert.Equal(t, []float32{2}, floats(t, moved))
	assert.Equal(t, []float32{2}, floats(t, a.Add(1)), "the outer scope stays")
	outer.Close()
	assert.Error(t, moved.Err())
	assert.Error(t, a.Err())

	// Not closed in order.
	outer, inner = NewScope(), NewScope()
	a, b = outer.Own(x), inner.Own(x)
	outer.Close()
	assert.ErrorContains(t, a.Add(b).Err(), "closed scope")
	assert.Equal(t, []float32{2}, floats(t, b.Add(1)))
	inner.Close()
}

func TestScopeFreeInside(t *testing.T) {
	collect()
	live := LiveArrays()
	s := NewScope()
	x := New([]float32{1})
	a := s.Own(x)
	b := a.Add(1)
	a.Free()
	a.Free()
	assert.ErrorContains(t, a.Err(), "freed")
	assert.Equal(t, []float32{2}, floats(t, b))
	assert.Equal(t, live+2, LiveArrays())
	s.Close()
	x.Free()
	assert.Equal(t, live, LiveArrays())
}

func TestScopeThatIsNeverClosed(t *testing.T) {
	collect()
	live := LiveArrays()
	func() {
		for range 100 {
			s := NewScope()
			a := s.Own(New([]float32{1})).Add(1)
			require.NoError(t, a.Eval())
		}
	}()
	collect()
	assert.Equal(t, live, LiveArrays())

	// An array of the scope keeps it alive.
	a := NewScope().Own(New([]float32{1})).Add(1)
	collect()
	assert.Equal(t, []float32{2}, floats(t, a))
}

// Everything that is made and given back, by whatever way, is gone.
func TestMemoryNothingLeaks(t *testing.T) {
	round := func(i int) {
		s := NewScope()
		defer s.Close()
		x := New([]float32{1, 2, 3, 4}, 2, 2)
		in := s.Own(x)
		q, r := in.QR()
		_ = Eval(q, r, in.Sum())
		_ = in.MatMul(New([]float32{1})).Err()
		_, _, _ = ValueAndGrad(func(a []*Array) []*Array { return []*Array{a[0].Tanh().Sum(), a[0]} })(in)
		_, _, _ = ValueAndGrad(func(a []*Array) []*Array { return []*Array{a[0].Reshape(9)} })(in)
		_, _, _ = ValueAndGrad(func(a []*Array) []*Array { panic(i) })(x)
		_, _ = VMap(func(a []*Array) []*Array { return []*Array{a[0].Sum()} }, nil, nil)(in)
		_, _ = Checkpoint(func(a []*Array) []*Array { return []*Array{a[0].Exp()} })(in)
		c := Compile(func(a []*Array) []*Array { return []*Array{a[0].Exp().Add(i)} })
		defer c.Close()
		_, _ = c.Call(in)
		_ = AsyncEval(in.Exp())
		for _, part := range x.Split(2, 0) {
			part.Free()
		}
		for _, key := range SplitKey(Key(1), 3) {
			key.Free()
		}
		_, _ = Values[float32](x)
		x.Free()
	}
	for i := range 20 {
		round(i)
	}
	collect()
	live, functions := LiveArrays(), liveFunctions()
	for i := range 100 {
		round(i)
	}
	collect()
	assert.Equal(t, live, LiveArrays())
	assert.Equal(t, functions, liveFunctions())
}

// A thread that has done its job keeps nothing of it.
func TestMemoryIdleWorkersHoldNothing(t *testing.T) {
	collect()
	live := LiveArrays()
	square := func(a []*Array) []*Array { return []*Array{a[0].Square().Sum()} }
	_, _, err := ValueAndGrad(square)(New([]float32{1, 2}))
	require.NoError(t, err)
	c := Compile(square)
	_, err = c.Call(New([]float32{1, 2}))
	require.NoError(t, err)
	c.Close()
	collect()
	assert.Equal(t, live, LiveArrays())
}

// B94: handles are shared by pointer and live as long as one is used; the collector frees the rest.
func TestMemoryB94Collector(t *testing.T) {
	collect()
	live := LiveArrays()
	type holder struct{ a *Array }
	original := &holder{New([]float32{1, 2}).Add(1)}
	copied := *original
	original = nil
	collect()
	assert.Equal(t, []float32{2, 3}, floats(t, copied.a))
	for range 5000 {
		_ = New([]float32{1, 2}).Add(1).Mul(2)
	}
	copied = holder{}
	collect()
	assert.Equal(t, live, LiveArrays())
}

// B95: without one Free the memory in use stays below the bound that doc.go states. The case asks for 5,000
// rounds; each takes as much as the next, and these are as telling.
func TestMemoryB95TemporariesWithoutFree(t *testing.T) {
	const temporary, bound = 16 << 20, 256 << 20
	data := make([]float32, temporary/4)
	for name, temp := range map[string]func() *Array{
		"computed":  func() *Array { return Ones([]int{temporary / 4}, Float32).Add(1) },
		"from Go":   func() *Array { return New(data) },
		"in chains": func() *Array { return Zeros([]int{temporary / 4}, Float32).Add(1).Exp() },
	} {
		t.Run(name, func(t *testing.T) {
			collect()
			require.NoError(t, ClearCache())
			n := 500
			if name == "in chains" {
				n = 100
			}
			ResetPeakMemory()
			for range n {
				require.NoError(t, temp().Eval())
			}
			assert.Less(t, PeakMemory(), bound+4*temporary)
			t.Logf("peak %d MiB", PeakMemory()>>20)
		})
	}
}

// A freed intermediate's memory is used again in place.
func TestMemoryDonation(t *testing.T) {
	const bytes = 32 << 20
	peak := func(free bool) int {
		collect()
		require.NoError(t, ClearCache())
		x := Ones([]int{bytes / 4}, Float32)
		require.NoError(t, x.Eval())
		start := ActiveMemory()
		ResetPeakMemory()
		var held []*Array
		for range 6 {
			y := x.Add(1)
			if free {
				x.Free()
			} else {
				held = append(held, x)
			}
			x = y
		}
		require.NoError(t, x.Eval())
		runtime.KeepAlive(held)
		p := PeakMemory() - start
		x.Free()
		return p
	}
	assert.LessOrEqual(t, peak(true), bytes/8, "six additions in one buffer")
	assert.GreaterOrEqual(t, peak(false), 6*bytes)
}

// B16: each new length leaves nothing behind. The case's lengths go to 600; these are as telling.
func TestMemoryB16LengthsOfSequences(t *testing.T) {
	collect()
	x := gruInput().Tile(50, 1)
	outputs := func(n int) []float32 {
		s := NewScope()
		defer s.Close()
		in, h := s.Own(x), s.Own(Zeros([]int{1, 2}, Float32))
		var out []*Array
		for i := range n {
			h = gruStep(in.SliceAxis(0, i, i+1), h)
			out = append(out, h)
		}
		return floats(t, Concatenate(out, 0))
	}
	longest := outputs(150)
	var active, live []int
	for range 2 {
		for n := 1; n <= 150; n++ {
			require.Equal(t, longest[:2*n], outputs(n))
		}
		collect()
		active, live = append(active, ActiveMemory()), append(live, LiveArrays())
	}
	assert.LessOrEqual(t, active[1], active[0])
	assert.Equal(t, live[0], live[1])
}

// B85: a total and a state that are carried through 2,000 batches, evaluated in each.
func TestMemoryB85Totals(t *testing.T) {
	const size = 64 << 10
	collect()
	x := Ones([]int{size / 4}, Float32)
	total, h := Scalar[float32](0), Zeros([]int{size / 4}, Float32)
	require.NoError(t, Eval(x, total, h))
	start := ActiveMemory()
	ResetPeakMemory()
	for range 2000 {
		s := NewScope()
		state := s.Own(h).Mul(0.5).Add(x)
		loss := state.Mean()
		nextTotal, nextState := s.Keep(total.Add(loss)), s.Keep(state)
		require.NoError(t, Eval(nextTotal, nextState))
		s.Close()
		total.Free()
		h.Free()
		total, h = nextTotal, nextState
	}
	assert.LessOrEqual(t, PeakMemory()-start, 6*size)
	v, err := Item[float32](total)
	require.NoError(t, err)
	assert.InDelta(t, 3998, v, 1)
}

// B59: intermediate values freed, and collected, before the evaluation.
func TestMemoryB59IntermediatesFreedEarly(t *testing.T) {
	start := make([]float32, 4096)
	want := make([]float32, len(start))
	for i := range start {
		start[i], want[i] = float32(i), float32(i+64)
	}
	for i := range 500 {
		x := New(start)
		for range 64 {
			y := x.Add(1)
			x.Free()
			x = y
		}
		if i%20 == 0 {
			runtime.GC()
		}
		require.Equal(t, want, floats(t, x))
		x.Free()
	}
}

func TestMemoryTidy(t *testing.T) {
	collect()
	live := LiveArrays()
	x := New([]float32{1, 2})
	var inner *Array
	out := Tidy(func(a []*Array) []*Array {
		inner = a[0].Add(1)
		return []*Array{inner.Mul(2)}
	}, x)
	assert.ErrorContains(t, inner.Err(), "closed scope")
	assert.Equal(t, []float32{4, 6}, floats(t, out[0]))
	assert.Panics(t, func() { Tidy(func(a []*Array) []*Array { a[0].Add(1); panic("ouch") }, x) })
	x.Free()
	out[0].Free()
	assert.Equal(t, live, LiveArrays())
}

func TestMemoryLimits(t *testing.T) {
	before, err := SetCacheLimit(1 << 20)
	require.NoError(t, err)
	again, err := SetCacheLimit(before)
	require.NoError(t, err)
	assert.Equal(t, 1<<20, again)
	limit := SetMemoryLimit(1 << 30)
	assert.Equal(t, 1<<30, MemoryLimit())
	assert.Equal(t, 1<<30, SetMemoryLimit(limit))
	assert.Equal(t, limit, MemoryLimit())
	a := Ones([]int{1 << 20}, Float32)
	require.NoError(t, a.Eval())
	assert.GreaterOrEqual(t, ActiveMemory(), 4<<20)
	a.Free()
	require.NoError(t, ClearCache())
	assert.Zero(t, CacheMemory())
}
