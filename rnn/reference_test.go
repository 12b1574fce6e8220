package rnn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// A second implementation: the equations of the package's documentation in plain loops, one row at a time.

type matrix struct {
	rows, cols int
	v          []float64
}

func (m matrix) times(x []float64) []float64 {
	out := make([]float64, m.rows)
	for i := range out {
		for j, w := range m.v[i*m.cols : (i+1)*m.cols] {
			out[i] += w * x[j]
		}
	}
	return out
}

func readMatrix(t testing.TB, a *mlx.Array) matrix { return matrix{a.Dim(0), a.Dim(1), floats(t, a)} }

// referenceCell are the weights of one layer in one direction.
type referenceCell struct {
	c         *config
	wx, wh    matrix
	b, bhn    []float64
	cell      recurrent.Cell
	hidden    int
	logistic  func(float64) float64
	nonlinear func(float64) float64
}

func newReferenceCell(t testing.TB, c *config, w weights) *referenceCell {
	H := c.hidden
	r := &referenceCell{
		c: c, wx: readMatrix(t, w.wx), wh: readMatrix(t, w.wh), b: make([]float64, c.cell.Gates()*H),
		bhn: make([]float64, H), cell: c.cell, hidden: H, nonlinear: math.Tanh,
		logistic: func(v float64) float64 { return 1 / (1 + math.Exp(-v)) },
	}
	if w.b != nil {
		r.b = floats(t, w.b)
	}
	if w.bhn != nil {
		r.bhn = floats(t, w.bhn)
	}
	if c.nonlinearity == ReLU {
		r.nonlinear = func(v float64) float64 { return max(v, 0) }
	}
	return r
}

func (r *referenceCell) step(x, h, c []float64) (newH, newC []float64) {
	H, in := r.hidden, r.wx.times(x)
	for i := range in {
		in[i] += r.b[i]
	}
	rec := r.wh.times(h)
	newH, newC = make([]float64, H), make([]float64, H)
	gate := func(k, i int) float64 { return in[k*H+i] + rec[k*H+i] }
	switch r.cell {
	case recurrent.RNN:
		for i := range H {
			newH[i] = r.nonlinear(gate(0, i))
		}
	case recurrent.LSTM:
		for i := range H {
			newC[i] = r.logistic(gate(1, i))*c[i] + r.logistic(gate(0, i))*math.Tanh(gate(2, i))
			newH[i] = r.logistic(gate(3, i)) * math.Tanh(newC[i])
		}
	case recurrent.GRU:
		reset, resetH := make([]float64, H), make([]float64, H)
		for i := range H {
			reset[i] = r.logistic(gate(0, i))
			resetH[i] = reset[i] * h[i]
		}
		before := matrix{H, H, r.wh.v[2*H*H:]}.times(resetH)
		for i := range H {
			n := in[2*H+i]
			if r.c.resetBefore {
				n += before[i]
			} else {
				n += reset[i] * (rec[2*H+i] + r.bhn[i])
			}
			z := r.logistic(gate(1, i))
			newH[i] = (1-z)*math.Tanh(n) + z*h[i]
		}
	}
	return newH, newC
}

// reference runs rows x[row][step] of the given lengths. It gives y[row][step] and the final states [layer*directions][row].
func reference(t testing.TB, n *network, x [][][]float64, lengths []int, h0, c0 [][][]float64) (y [][][]float64, h, c [][][]float64) {
	cfg := &n.cfg
	for layer := range cfg.layers {
		next := make([][][]float64, len(x))
		for d := range cfg.directions() {
			cell := newReferenceCell(t, cfg, n.weights(layer, d))
			at := layer*cfg.directions() + d
			lastH, lastC := make([][]float64, len(x)), make([][]float64, len(x))
			for row, steps := range x {
				state, mem := h0[at][row], c0[at][row]
				out := make([][]float64, len(steps))
				order := make([]int, lengths[row])
				for i := range order {
					order[i] = i
				}
				if d == 1 || cfg.direction == Reverse {
					slices.Reverse(order)
				}
				for i := range out {
					out[i] = make([]float64, cfg.hidden)
				}
				for _, i := range order {
					state, mem = cell.step(steps[i], state, mem)
					out[i] = state
				}
				lastH[row], lastC[row] = state, mem
				if d == 0 {
					next[row] = out
					continue
				}
				for i := range out {
					next[row][i] = referenceMerge(cfg, layer, next[row][i], out[i])
				}
			}
			h, c = append(h, lastH), append(c, lastC)
		}
		x = next
	}
	return x, h, c
}

func referenceMerge(c *config, layer int, a, b []float64) []float64 {
	if c.merge == Concat || c.merge == NoMerge {
		return slices.Concat(a, b)
	}
	out := make([]float64, len(a))
	for i := range out {
		switch c.merge {
		case Sum:
			out[i] = a[i] + b[i]
		case Mul:
			out[i] = a[i] * b[i]
		case Average:
			out[i] = (a[i] + b[i]) / 2
		}
	}
	return out
}

// nested cuts row-major values into [a][b][c].
func nested(v []float64, a, b, c int) [][][]float64 {
	out := make([][][]float64, a)
	for i := range out {
		out[i] = make([][]float64, b)
		for j := range out[i] {
			out[i][j] = v[(i*b+j)*c : (i*b+j+1)*c]
		}
	}
	return out
}

func flat(v [][][]float64) []float64 {
	var out []float64
	for _, a := range v {
		out = append(out, slices.Concat(a...)...)
	}
	return out
}

// networkOf is the network of a layer with its way to the parameters.
func networkOf(l layer) *network {
	switch l := l.(type) {
	case *GRU:
		return l.network()
	case *LSTM:
		return l.network()
	case *RNN:
		return l.network()
	}
	panic("unknown layer")
}

// randomConfig draws one of all configurations.
func randomConfig(r *rand.Rand) config {
	c := config{
		cell:  recurrent.Cell(r.IntN(3)),
		input: 1 + r.IntN(5), hidden: 1 + r.IntN(5), layers: 1 + r.IntN(3),
		direction: Direction(r.IntN(3)),
		noBias:    r.IntN(4) == 0, timeMajor: r.IntN(3) == 0,
		dtype: mlx.Float64,
	}
	if c.direction == Bidirectional {
		c.merge = Merge(r.IntN(5))
	}
	switch c.cell {
	case recurrent.GRU:
		c.resetBefore = r.IntN(3) == 0
	case recurrent.RNN:
		c.nonlinearity = Nonlinearity(r.IntN(2))
	}
	return c
}

func TestEqualsTheEquations(t *testing.T) {
	for seed := range uint64(300) {
		r := newRand(seed)
		c := randomConfig(r)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { compareWithEquations(t, r, c, seed) })
	}
}

func compareWithEquations(t *testing.T, r *rand.Rand, c config, seed uint64) {
	l := newLayer(t, c, seed)
	n := networkOf(l)
	N, T, S, H := 1+r.IntN(4), 1+r.IntN(6), n.cfg.layers*n.cfg.directions(), c.hidden
	x, h, mem := uniform(r, 2, N, T, c.input), uniform(r, 1, S, N, H), uniform(r, 1, S, N, H)
	s := State{H: h}
	zeros := make([]float64, S*N*H)
	h0, c0 := nested(floats(t, h), S, N, H), nested(zeros, S, N, H)
	if c.cell == recurrent.LSTM {
		s.C, c0 = mem, nested(floats(t, mem), S, N, H)
	}
	switch r.IntN(4) { // a missing part of the state
	case 0:
		s.H, h0 = nil, nested(zeros, S, N, H)
	case 1:
		s.C, c0 = nil, nested(zeros, S, N, H)
	}
	lengths := slices.Repeat([]int{T}, N)
	var opts []CallOption
	if r.IntN(2) == 0 {
		for i := range lengths {
			lengths[i] = r.IntN(T + 1)
		}
		opts = append(opts, Lengths(lengths))
	}
	wantY, wantH, wantC := reference(t, n, nested(floats(t, x), N, T, c.input), lengths, h0, c0)

	in := x
	if c.timeMajor {
		in = x.SwapAxes(0, 1)
	}
	y, final := l.Forward(in, s, opts...)
	shape := []int{N, T, n.cfg.outputs()}
	if c.timeMajor {
		shape = []int{T, N, n.cfg.outputs()}
	}
	if c.merge == NoMerge && c.direction == Bidirectional {
		shape = append(shape[:2], 2, H)
	}
	shaped(t, shape, y)
	if c.timeMajor {
		y = y.SwapAxes(0, 1)
	}
	near(t, flat(wantY), y, 1e-12, "y of %+v", c)
	shaped(t, []int{S, N, H}, final.H)
	near(t, flat(wantH), final.H, 1e-12, "final h of %+v", c)
	require.Equal(t, c.cell == recurrent.LSTM, final.C != nil)
	if final.C != nil {
		near(t, flat(wantC), final.C, 1e-12, "final c of %+v", c)
	}
	// One row without its batch axis.
	if N == 1 {
		drop := func(a *mlx.Array) *mlx.Array {
			if a == nil {
				return nil
			}
			return a.Reshape(S, H)
		}
		y, final := l.Forward(x.Reshape(T, c.input), State{H: drop(s.H), C: drop(s.C)}, opts...)
		near(t, flat(wantY), y, 1e-12)
		shaped(t, []int{S, H}, final.H)
		near(t, flat(wantH), final.H, 1e-12)
	}
	// Step by step.
	if c.direction == Forward && opts == nil {
		for i := range T {
			at := x.SliceAxis(1, i, i+1).Reshape(N, c.input)
			y, s = l.Step(at, s)
			shaped(t, []int{N, H}, y)
			for row := range N {
				near(t, wantY[row][i], y.SliceAxis(0, row, row+1), 1e-12, "step %d", i)
			}
		}
		near(t, flat(wantH), s.H, 1e-12)
	}
}
