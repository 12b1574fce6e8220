package rnn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: lengths. Rows of different length: values, final states, both directions, gradients, whatever the padding holds.

func TestB04LengthsOfSeveralRows(t *testing.T) {
	g := newF1(t, GRUConfig{})
	y, s := g.Forward(xBoth(), State{}, Lengths([]int{3, 3}))
	near(t, append(append([]float64{}, f1Zero...), f1Row1...), y, digits)
	near(t, append(append([]float64{}, f1Zero[4:]...), f1Row1[4:]...), s.H, digits)

	y, s = g.Forward(xBoth(), State{}, Lengths([]int{3, 1}))
	near(t, f1Zero, y.Select(0, 0), digits)
	near(t, numbers("(.271021,.230506) (0,0) (0,0)"), y.Select(0, 1), digits)
	near(t, append(append([]float64{}, f1Zero[4:]...), .271021, .230506), s.H, digits)

	// The same as an array, of any integer type.
	for _, d := range []mlx.Dtype{mlx.Int32, mlx.Int64, mlx.Uint8} {
		y, s := g.Forward(xBoth(), State{}, Lengths(mlx.New([]int{3, 1}).AsType(d)))
		near(t, numbers("(.271021,.230506) (0,0) (0,0)"), y.Select(0, 1), digits)
		near(t, numbers("(.271021,.230506)"), s.H.Select(1, 1), digits)
	}
}

func TestB05ManyRowsAtOnce(t *testing.T) {
	for _, lengths := range [][]int{
		append(slices.Repeat([]int{130}, 64), 1),                                   // 8321 steps
		append(slices.Repeat([]int{130}, 63), 2),                                   // 8192 steps
		append(append([]int{1}, slices.Repeat([]int{130}, 32)...), 0, 130, 64, 65), // out of order
	} {
		l := newLayer(t, config{cell: recurrent.GRU, input: 1, hidden: 1}, 3)
		N := len(lengths)
		x := uniform(newRand(2), 1, N, 130, 1).AsType(mlx.Float32)
		y, s := l.Forward(x, State{}, Lengths(lengths))
		require.NoError(t, mlx.Eval(y, s.H))
		for row, n := range lengths {
			want, wantS := l.Forward(x.SliceAxis(0, row, row+1).SliceAxis(1, 0, n), State{})
			near(t, floats(t, want), y.Select(0, row).SliceAxis(0, 0, n), 1e-5)
			near(t, make([]float64, 130-n), y.Select(0, row).SliceAxis(0, n, 130), 0)
			near(t, floats(t, wantS.H), s.H.Select(1, row), 1e-5)
		}
	}
}

func TestB46ReverseStartsAtTheRowsEnd(t *testing.T) {
	g := newF1(t, GRUConfig{Direction: Reverse})
	both := newF1(t, GRUConfig{Direction: Bidirectional})
	for _, T := range []int{3, 4, 5, 9} {
		padded := mlx.Concatenate([]*mlx.Array{x0(), mlx.Zeros([]int{1, T - 3, 2}, mlx.Float64)}, 1)
		y, s := g.Forward(padded, State{}, Lengths([]int{3}))
		shaped(t, []int{1, T, 2}, y)
		near(t, append(slices.Clone(f1Reverse), make([]float64, 2*(T-3))...), y, digits)
		near(t, f1Reverse[:2], s.H, digits)
		y, s = both.Forward(padded, State{}, Lengths([]int{3}))
		near(t, f1Reverse, y.SliceAxis(2, 2, 4).SliceAxis(1, 0, 3), digits)
		near(t, slices.Concat(f1Zero[4:], f1Reverse[:2]), s.H, digits)
		// Beside a row that is as long as the padding.
		if T > 3 {
			two := mlx.Concatenate([]*mlx.Array{padded, uniform(newRand(1), 1, 1, T, 2)}, 0)
			y, s = g.Forward(two, State{}, Lengths([]int{3, T}))
			near(t, f1Reverse, y.Select(0, 0).SliceAxis(0, 0, 3), digits)
			near(t, f1Reverse[:2], s.H.Select(1, 0), digits)
		}
	}
}

func TestB47GradientsWithLengths(t *testing.T) {
	g := newF1(t, GRUConfig{})
	for name, padding := range map[string]float64{"zeros": 0, "NaN": math.NaN(), "infinity": math.Inf(1)} {
		v := slices.Clone(rows)
		for i := range 4 {
			v[8+i] = padding
		}
		d := layerGradients(t, g, f64(v, 2, 3, 2), State{}, sumOfOutputs, Lengths([]int{3, 1}))
		near(t, numbers("-.213790 .222918 -.294545 -.296573 2.150978 1.955178"), d["b"], digits, name)
		near(t, numbers(".999028 1.000161"), d["bhn"], digits, name)
		near(t, numbers("(.208122,.127662) (0,0) (0,0)"), d["x"].Select(0, 1), digits, name)
		assert.Equal(t, make([]float64, 4), floats(t, d["x"].Select(0, 1).SliceAxis(0, 1, 3)), name)
	}
}

// Nothing that the padding holds reaches results or gradients, in all cells, directions and stacks.
func TestPaddingHasNoEffect(t *testing.T) {
	const N, T, D, H = 4, 5, 3, 2
	lengths := []int{2, 5, 0, 3}
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		for _, direction := range []Direction{Forward, Reverse, Bidirectional} {
			l := newLayer(t, config{cell: cell, input: D, hidden: H, layers: 2, direction: direction, dtype: mlx.Float64}, 1)
			r := newRand(1)
			h := uniform(r, 1, 2*direction.count(), N, H)
			s := State{H: h}
			if cell == recurrent.LSTM {
				s.C = h
			}
			clean := floats(t, uniform(r, 1, N, T, D))
			dirty := slices.Clone(clean)
			for row, n := range lengths {
				for i := (row*T + n) * D; i < (row+1)*T*D; i++ {
					dirty[i] = math.NaN()
				}
			}
			want, wantS := l.Forward(f64(clean, N, T, D), s, Lengths(lengths))
			got, gotS := l.Forward(f64(dirty, N, T, D), s, Lengths(lengths))
			about := fmt.Sprintf("%v %v", cell, direction)
			near(t, floats(t, want), got, 0, about)
			near(t, floats(t, wantS.H), gotS.H, 0, about)
			for i := range h.Dim(0) {
				near(t, floats(t, h.Select(0, i).Select(0, 2)), gotS.H.Select(0, i).Select(0, 2), 0, "the row of length 0 keeps its state")
			}
			wantD := layerGradients(t, l, f64(clean, N, T, D), s, sumOfOutputs, Lengths(lengths))
			for name, d := range layerGradients(t, l, f64(dirty, N, T, D), s, sumOfOutputs, Lengths(lengths)) {
				near(t, floats(t, wantD[name]), d, 0, about+", gradient of "+name)
			}
			// The incoming gradient of the padding has no effect either.
			weights := f64(dirty[:N*T*D], N, T, D).SliceAxis(2, 0, 1)
			d := layerGradients(t, l, f64(clean, N, T, D), s, func(y *mlx.Array, _ State) *mlx.Array {
				return y.Mul(weights).Sum()
			}, Lengths(lengths))
			near(t, make([]float64, (T-2)*D), d["x"].Select(0, 0).SliceAxis(0, 2, T), 0)
		}
	}
}

func TestLengthsThatAreAllShort(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		for _, direction := range []Direction{Forward, Bidirectional} {
			l := newLayer(t, config{cell: cell, input: 2, hidden: 3, direction: direction, dtype: mlx.Float64}, 1)
			x := uniform(newRand(1), 1, 2, 6, 2)
			want, wantS := l.Forward(x.SliceAxis(1, 0, 2), State{})
			y, s := l.Forward(x, State{}, Lengths([]int{2, 2}))
			near(t, floats(t, want), y.SliceAxis(1, 0, 2), 0)
			near(t, make([]float64, 2*4*3*direction.count()), y.SliceAxis(1, 2, 6), 0)
			near(t, floats(t, wantS.H), s.H, 0)

			h := uniform(newRand(2), 1, direction.count(), 2, 3)
			y, s = l.Forward(x, State{H: h}, Lengths([]int{0, 0}))
			near(t, make([]float64, 2*6*3*direction.count()), y, 0)
			near(t, floats(t, h), s.H, 0)
		}
	}
}

// Lengths that a traced function is given have no values yet.
func TestLengthsInsideOfACompiledFunction(t *testing.T) {
	for _, direction := range []Direction{Forward, Reverse, Bidirectional} {
		l := newLayer(t, config{cell: recurrent.LSTM, input: 2, hidden: 3, direction: direction, dtype: mlx.Float64}, 1)
		x := uniform(newRand(1), 1, 3, 4, 2)
		f := func(args []*mlx.Array) []*mlx.Array {
			y, s := l.Forward(args[0], State{}, Lengths(args[1]))
			return []*mlx.Array{y, s.H, s.C}
		}
		compiled := mlx.Compile(f)
		for _, lengths := range [][]int{{1, 4, 0}, {2, 2, 3}, {4, 4, 4}} {
			want := f([]*mlx.Array{x, mlx.New(lengths)})
			got, err := compiled.Call(x, mlx.New(lengths))
			require.NoError(t, err)
			for i := range want {
				near(t, floats(t, want[i]), got[i], 1e-14)
			}
		}
		// Out of range counts as the nearest end.
		got, err := compiled.Call(x, mlx.New([]int{-3, 9, 2}))
		require.NoError(t, err)
		near(t, floats(t, f([]*mlx.Array{x, mlx.New([]int{0, 4, 2})})[0]), got[0], 1e-14)
		compiled.Close()

		// A function that is differentiated has values to look at.
		grad := mlx.Grad(func(args []*mlx.Array) []*mlx.Array { return []*mlx.Array{f(args)[0].Sum()} })
		d, err := grad(x, mlx.New([]int{1, 4, 2}))
		require.NoError(t, err)
		near(t, make([]float64, 6), d[0].Select(0, 0).SliceAxis(0, 1, 4), 0)
		_, err = grad(x, mlx.New([]int{1, 5, 2}))
		require.ErrorContains(t, err, "length 1 is 5; expected 0 to L = 4")
	}
}
