package rnn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// The benchmarks report the time of a step beside that of a call. They say nothing of right and wrong; the tests do.

func BenchmarkForward(b *testing.B)  { benchmark(b, false) }
func BenchmarkGradient(b *testing.B) { benchmark(b, true) }

func benchmark(b *testing.B, gradient bool) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		for _, size := range []struct{ N, T, D, H int }{{1, 100, 128, 128}, {32, 64, 64, 128}, {32, 64, 64, 256}, {64, 64, 64, 256}} {
			b.Run(fmt.Sprintf("%v/N=%d/T=%d/D=%d/H=%d", cell, size.N, size.T, size.D, size.H), func(b *testing.B) {
				l := newLayer(b, config{cell: cell, input: size.D, hidden: size.H}, 0)
				x := mlx.RandomNormal([]int{size.N, size.T, size.D}, mlx.Float32, 0, 1, mlx.Key(1))
				require.NoError(b, x.Eval())
				for b.Loop() {
					if gradient {
						d := layerGradients(b, l, x, State{}, func(y *mlx.Array, _ State) *mlx.Array { return y.Square().Sum() })
						for _, a := range d {
							a.Free()
						}
						continue
					}
					scope := mlx.NewScope()
					y, s := l.Forward(scope.Own(x), State{})
					require.NoError(b, mlx.Eval(append(s.Arrays(), y)...))
					scope.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size.T), "us/step")
			})
		}
	}
}

// Report B28: two directions, one row, cost by length.
func BenchmarkB28(b *testing.B) {
	l := newLayer(b, config{cell: recurrent.GRU, input: 384, hidden: 256, direction: Bidirectional}, 0)
	for _, T := range []int{16, 64, 128, 256} {
		x := mlx.RandomNormal([]int{1, T, 384}, mlx.Float32, 0, 1, mlx.Key(1))
		for _, gradient := range []bool{false, true} {
			b.Run(fmt.Sprintf("T=%d/gradient=%v", T, gradient), func(b *testing.B) {
				for b.Loop() {
					if gradient {
						layerGradients(b, l, x, State{}, sumOfOutputs)
					} else {
						y, _ := l.Forward(x, State{})
						require.NoError(b, y.Eval())
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*T), "us/step")
			})
		}
	}
}

// One step, as in streaming: a cell, and a stack of two layers.
func BenchmarkStep(b *testing.B) {
	const D, H = 128, 128
	x := mlx.RandomNormal([]int{1, D}, mlx.Float32, 0, 1, mlx.Key(1))
	require.NoError(b, x.Eval())
	b.Run("GRUCell", func(b *testing.B) {
		cell, err := NewGRUCell(GRUCellConfig{Input: D, Hidden: H}, mlx.Key(0))
		require.NoError(b, err)
		h := cell.ZeroState(1)
		for b.Loop() {
			next := cell.Step(x, h)
			require.NoError(b, next.Eval())
			h.Free()
			h = next
		}
	})
	b.Run("LSTM of two layers", func(b *testing.B) {
		l := newLayer(b, config{cell: recurrent.LSTM, input: D, hidden: H, layers: 2}, 0)
		s := l.ZeroState(1)
		for b.Loop() {
			y, next := l.Step(x, s)
			require.NoError(b, mlx.Eval(y, next.H, next.C))
			y.Free()
			s.Free()
			s = next
		}
	})
}
