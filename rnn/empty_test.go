package rnn

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Kind: empty. A size of zero anywhere.

func TestB35NoSteps(t *testing.T) {
	g := newF1(t, GRUConfig{})
	x, h := mlx.Zeros([]int{2, 0, 2}, mlx.Float64), f64(numbers("(.3,-.6)(0,0)"), 1, 2, 2)
	y, s := g.Forward(x, State{H: h})
	shaped(t, []int{2, 0, 2}, y)
	shaped(t, []int{1, 2, 2}, s.H)
	near(t, numbers("(.3,-.6)(0,0)"), s.H, 0)
	assert.Empty(t, floats(t, y))
	d := layerGradients(t, g, x, State{H: h}, sumOfH)
	near(t, []float64{1, 1, 1, 1}, d["h0"], 0)
	for _, name := range []string{"Wx", "Wh", "b", "bhn"} {
		near(t, make([]float64, d[name].Size()), d[name], 0, name)
	}
	shaped(t, []int{2, 0, 2}, d["x"])
}

func TestB37NoRows(t *testing.T) {
	g := newF1(t, GRUConfig{})
	x, h := mlx.Zeros([]int{0, 3, 2}, mlx.Float64), mlx.Zeros([]int{1, 0, 2}, mlx.Float64)
	y, s := g.Forward(x, State{H: h})
	shaped(t, []int{0, 3, 2}, y)
	shaped(t, []int{1, 0, 2}, s.H)
	for name, d := range layerGradients(t, g, x, State{H: h}, sumOfOutputs) {
		near(t, make([]float64, d.Size()), d, 0, name)
	}
	cell := g.network()
	cell.oneStep = true
	y, s = cell.step(mlx.Zeros([]int{0, 2}, mlx.Float64), State{}, nil)
	shaped(t, []int{0, 2}, y)
	shaped(t, []int{0, 2}, s.H)
}

func TestEmptyInAllForms(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		for _, timeMajor := range []bool{false, true} {
			for _, merge := range []Merge{Concat, Sum, NoMerge} {
				l := newLayer(t, config{cell: cell, input: 2, hidden: 3, layers: 2, direction: Bidirectional, merge: merge, timeMajor: timeMajor}, 1)
				features := map[Merge][]int{Concat: {6}, Sum: {3}, NoMerge: {2, 3}}[merge]
				for _, size := range [][2]int{{0, 4}, {4, 0}, {0, 0}} {
					y, s := l.Forward(mlx.Zeros([]int{size[0], size[1], 2}, mlx.Float32), State{})
					shaped(t, append([]int{size[0], size[1]}, features...), y)
					rows := size[0]
					if timeMajor {
						rows = size[1]
					}
					shaped(t, []int{4, rows, 3}, s.H)
					near(t, make([]float64, 4*rows*3), s.H, 0)
					y, _ = l.Forward(mlx.Zeros([]int{size[0], size[1], 2}, mlx.Float32), State{}, Lengths(make([]int, rows)))
					shaped(t, append([]int{size[0], size[1]}, features...), y)
				}
				y, s := l.Forward(mlx.Zeros([]int{0, 2}, mlx.Float32), State{})
				shaped(t, append([]int{0}, features...), y)
				shaped(t, []int{4, 3}, s.H)
			}
		}
	}
}
