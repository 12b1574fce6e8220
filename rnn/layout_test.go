package rnn

import (
	"fmt"
	"testing"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kinds: layout and view. Axes keep their places, with all sizes different and with all sizes equal; views equal copies.

func TestB02BatchAndTimeKeepTheirPlaces(t *testing.T) {
	y, _ := newF1(t, GRUConfig{}).Forward(xBoth(), State{})
	shaped(t, []int{2, 3, 2}, y)
	near(t, f1Zero, y.Select(0, 0), digits)
	near(t, f1Row1, y.Select(0, 1), digits)

	y, _ = newF1(t, GRUConfig{TimeMajor: true}).Forward(xBoth().SwapAxes(0, 1), State{})
	shaped(t, []int{3, 2, 2}, y)
	near(t, f1Zero, y.Select(1, 0), digits)
	near(t, f1Row1, y.Select(1, 1), digits)

	// Three rows of three steps, where the shape cannot tell.
	three := f64(append(append([]float64{}, rows...), row0...), 3, 3, 2)
	y, s := newF1(t, GRUConfig{}).Forward(three, State{})
	near(t, f1Row1, y.Select(0, 1), digits)
	near(t, f1Row1[4:], s.H.Select(1, 1), digits)
	y, s = newF1(t, GRUConfig{TimeMajor: true}).Forward(three.SwapAxes(0, 1), State{})
	near(t, f1Row1, y.Select(1, 1), digits)
	near(t, f1Row1[4:], s.H.Select(1, 1), digits)
}

func TestB41OutputsKeepTimeAndFeatures(t *testing.T) {
	y, _ := newF1(t, GRUConfig{}).Forward(xBoth(), State{})
	shaped(t, []int{2, 3, 2}, y)
	near(t, append(append([]float64{}, f1Zero...), f1Row1...), y, digits)
}

// Strided, broadcast and offset operands give what their copies give, forward and backward.
func TestViewsEqualCopies(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		for _, size := range []struct{ N, T, D, H int }{{2, 3, 4, 5}, {3, 3, 3, 3}} {
			l := newLayer(t, config{cell: cell, input: size.D, hidden: size.H, dtype: mlx.Float64, direction: Bidirectional}, 1)
			r := newRand(6)
			state := func(a *mlx.Array) State {
				if cell == recurrent.LSTM {
					return State{H: a, C: a}
				}
				return State{H: a}
			}
			big := uniform(r, 1, 2*size.N, size.T+1, 2*size.D)
			views := map[string]*mlx.Array{
				"strided":   big.SliceStep([]int{1, 1, 1}, []int{2 * size.N, size.T + 1, 2 * size.D}, []int{2, 1, 2}),
				"turned":    uniform(r, 1, size.D, size.T, size.N).Transpose(2, 1, 0),
				"backwards": uniform(r, 1, size.N, size.T, size.D).Flip(1),
				"broadcast": uniform(r, 1, 1, size.T, 1).BroadcastTo(size.N, size.T, size.D),
			}
			h := uniform(r, 1, size.H, size.N, 2).Transpose(2, 1, 0)
			for name, x := range views {
				shaped(t, []int{size.N, size.T, size.D}, x)
				dense, denseH := f64(floats(t, x), x.Shape()...), f64(floats(t, h), h.Shape()...)
				want, wantS := l.Forward(dense, state(denseH))
				got, gotS := l.Forward(x, state(h))
				about := fmt.Sprintf("%v %v %s", cell, size, name)
				near(t, floats(t, want), got, 1e-14, about)
				near(t, floats(t, wantS.H), gotS.H, 1e-14, about)
				wantD := layerGradients(t, l, dense, state(denseH), sumOfOutputs)
				for name, d := range layerGradients(t, l, x, state(h), sumOfOutputs) {
					near(t, floats(t, wantD[name]), d, 1e-13, about+", gradient of "+name)
				}
			}
		}
	}
}
