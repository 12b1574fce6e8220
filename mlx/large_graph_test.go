package mlx

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ladder is x+n by n additions.
func ladder(x *Array, n int) *Array {
	for range n {
		next := x.Add(1)
		x.Free()
		x = next
	}
	return x
}

func TestLargeGraphFailureAnywhere(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	for name, at := range where {
		for _, streams := range [][]Stream{{{}}, {{}, second}} {
			for _, position := range []int{0, 1, 23, 24, 25, 100, 199} {
				x := New([]float32{1})
				steps := []*Array{x}
				for i := range 200 {
					s := streams[i/10%len(streams)]
					y := On(s).Add(steps[i], 1)
					if i == position {
						y = faulty(s, y, at)
					}
					steps = append(steps, y)
				}
				side := x.Mul(5)
				last := steps[200].Add(side)
				requireFailed(t, last.Eval(), name, position)
				requireFailed(t, last.Eval(), name, position)
				requireFailed(t, steps[position+1].Eval())
				requireFailed(t, steps[200].Eval())
				assert.Equal(t, []float32{float32(position + 1)}, floats(t, steps[position]), "just before the failure")
				assert.Equal(t, []float32{5}, floats(t, side))
			}
		}
	}
}

// Many goroutines evaluate overlapping parts of one large graph.
func TestLargeGraphOverlappingGraphs(t *testing.T) {
	second, err := NewStream(CPU)
	require.NoError(t, err)
	inTime(t, func() {
		for round := range 6 {
			r := rand.New(rand.NewPCG(uint64(round), 3))
			// Node i is the sum of two earlier ones, kept small by a remainder; want is the same in Go.
			nodes, want := []*Array{New([]float32{1}), New([]float32{2})}, []float32{1, 2}
			for i := range 600 {
				s := []Stream{{}, second}[i/50%2*(round%2)]
				j, k := len(nodes)-1-r.IntN(min(len(nodes), 9)), len(nodes)-1-r.IntN(min(len(nodes), 40))
				sum := On(s).Add(nodes[j], nodes[k])
				value := want[j] + want[k]
				if value > 1000 {
					sum, value = On(s).Sub(sum, 900), value-900
				}
				nodes, want = append(nodes, sum), append(want, value)
			}
			var wg sync.WaitGroup
			for g := range 16 {
				pick := rand.New(rand.NewPCG(uint64(g), uint64(round)))
				wg.Go(func() {
					for range 12 {
						i := pick.IntN(len(nodes))
						if pick.IntN(3) == 0 {
							assert.NoError(t, AsyncEval(nodes[i]))
						}
						v, err := Item[float32](nodes[i])
						assert.NoError(t, err)
						assert.Equal(t, want[i], v)
					}
				})
			}
			wg.Wait()
		}
	})
}

// Following an evaluation keeps MLX's reuse of memory in place.
func TestLargeGraphMemory(t *testing.T) {
	const bytes = 4 << 20
	collect()
	require.NoError(t, ClearCache())
	x := Ones([]int{bytes / 4}, Float32)
	require.NoError(t, x.Eval())
	ResetPeakMemory()
	start := ActiveMemory()
	x = ladder(x, 300)
	require.NoError(t, x.Eval())
	assert.LessOrEqual(t, PeakMemory()-start, 2*bytes)
	x.Free()
}
