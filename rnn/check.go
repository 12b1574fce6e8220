package rnn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// input is what a call is about, after the checks.
type input struct {
	x         *mlx.Array
	state     State
	dtype     mlx.Dtype // of the computation
	T, N      int
	batchAxis bool // x has a batch axis
}

// checkFloat looks at an argument that must be a good array of a floating point type.
func checkFloat(name string, a *mlx.Array) error {
	if a == nil {
		return fmt.Errorf("%s is nil", name)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if d := a.Dtype(); !d.IsFloat() {
		return fmt.Errorf("%s is %v%v; expected a floating point type (convert it with AsType)", name, d, a.Shape())
	}
	return nil
}

func checkShape(name string, a *mlx.Array, meaning string, want ...int) error {
	if given := a.Shape(); !slices.Equal(given, want) {
		return fmt.Errorf("%s has shape %v; expected %s = %v", name, given, meaning, want)
	}
	return nil
}

// checkKey looks at a random key.
func checkKey(key *mlx.Array) error {
	if key == nil {
		return errors.New("key is nil; mlx.Key(seed) makes one")
	}
	if err := key.Err(); err != nil {
		return err
	}
	if key.Dtype() != mlx.Uint32 || !slices.Equal(key.Shape(), []int{2}) {
		return fmt.Errorf("key is %v%v; expected uint32[2] (mlx.Key(seed) makes one)", key.Dtype(), key.Shape())
	}
	return nil
}

// checkState looks at the initial state, whose parts have the shape want (in words: meaning).
func checkState(s State, cell recurrent.Cell, meaning string, want ...int) error {
	if s.C != nil && cell != recurrent.LSTM {
		return fmt.Errorf("state C is given; expected nil, since only an LSTM has a cell state")
	}
	for _, part := range []struct {
		name string
		a    *mlx.Array
	}{{"state H", s.H}, {"state C", s.C}} {
		if part.a == nil {
			continue
		}
		if err := checkFloat(part.name, part.a); err != nil {
			return err
		}
		if err := checkShape(part.name, part.a, meaning, want...); err != nil {
			return err
		}
	}
	return nil
}

// checkWeights looks at the parameters of one layer and direction, which a program may have replaced.
func (n *network) checkWeights(w weights, layer int, prefix string) error {
	c := &n.cfg
	rows := c.cell.Gates() * c.hidden
	for _, p := range []struct {
		name string
		a    *mlx.Array
		want []int
	}{
		{w.names.wx, w.wx, []int{rows, c.inputs(layer)}},
		{w.names.wh, w.wh, []int{rows, c.hidden}},
		{w.names.b, w.b, []int{rows}},
		{w.names.bhn, w.bhn, []int{c.hidden}},
	} {
		if p.name == "" {
			continue
		}
		if p.a == nil && len(p.want) == 1 && c.noBias {
			continue
		}
		if err := checkFloat(prefix+p.name, p.a); err != nil {
			return err
		}
		if err := checkShape(prefix+p.name, p.a, "the configuration's", p.want...); err != nil {
			return err
		}
	}
	return nil
}

// checkMade finds layers that no constructor made.
func (n *network) checkMade() error {
	if n.cfg.layers == 0 {
		return errors.New("the layer is empty; one of the package's New functions makes a layer")
	}
	return nil
}

// checkInput looks at x and the state of a sequence, and finds the type of the computation.
func (n *network) checkInput(x *mlx.Array, s State) (input, error) {
	c := &n.cfg
	in := input{x: x, state: s}
	if err := n.checkMade(); err != nil {
		return in, err
	}
	if err := checkFloat("x", x); err != nil {
		return in, err
	}
	shape := x.Shape()
	layout := "[N, L, D] or [L, D]"
	if c.timeMajor {
		layout = "[L, N, D] or [L, D]"
	}
	if len(shape) != 2 && len(shape) != 3 {
		return in, fmt.Errorf("x has shape %v; expected %s with D = %d", shape, layout, c.input)
	}
	if shape[len(shape)-1] != c.input {
		return in, fmt.Errorf("x has shape %v; expected %s with D = %d (Input) as the last size", shape, layout, c.input)
	}
	in.N = 1
	if in.batchAxis = len(shape) == 3; in.batchAxis && c.timeMajor {
		in.T, in.N = shape[0], shape[1]
	} else if in.batchAxis {
		in.N, in.T = shape[0], shape[1]
	} else {
		in.T = shape[0]
	}
	if err := n.checkInitial(&in); err != nil {
		return in, err
	}
	return in, n.checkTypes(&in)
}

// checkStep is checkInput for one step, x [N, D] or [D].
func (n *network) checkStep(x *mlx.Array, s State) (input, error) {
	c := &n.cfg
	in := input{x: x, state: s, T: 1, N: 1}
	if err := n.checkMade(); err != nil {
		return in, err
	}
	if err := checkFloat("x", x); err != nil {
		return in, err
	}
	shape := x.Shape()
	if len(shape) != 1 && len(shape) != 2 || shape[len(shape)-1] != c.input {
		return in, fmt.Errorf("x has shape %v; expected [N, D] or [D] with D = %d (Input)", shape, c.input)
	}
	if in.batchAxis = len(shape) == 2; in.batchAxis {
		in.N = shape[0]
	}
	if err := n.checkInitial(&in); err != nil {
		return in, err
	}
	return in, n.checkTypes(&in)
}

func (n *network) checkInitial(in *input) error {
	c := &n.cfg
	states := c.layers * c.directions()
	if n.oneStep {
		if in.batchAxis {
			return checkState(in.state, c.cell, "[N, H]", in.N, c.hidden)
		}
		return checkState(in.state, c.cell, "[H]", c.hidden)
	}
	if in.batchAxis {
		return checkState(in.state, c.cell, "[layers*directions, N, H]", states, in.N, c.hidden)
	}
	return checkState(in.state, c.cell, "[layers*directions, H]", states, c.hidden)
}

// checkTypes looks at the parameters, and finds the type that holds all operands.
func (n *network) checkTypes(in *input) error {
	types := []mlx.Dtype{in.x.Dtype()}
	for _, a := range in.state.Arrays() {
		types = append(types, a.Dtype())
	}
	for i := range n.cfg.layers {
		for d := range n.cfg.directions() {
			w := n.weights(i, d)
			if err := n.checkWeights(w, i, n.prefix(i, d)); err != nil {
				return err
			}
			for _, a := range w.arrays() {
				types = append(types, a.Dtype())
			}
		}
	}
	in.dtype = promote(types...)
	return nil
}

// checkLengths gives the lengths as numbers, or as an array when they are not known yet (in a traced function).
func checkLengths(c *call, in *input) (known []int, unknown *mlx.Array, err error) {
	if !c.hasLengths {
		return nil, nil, nil
	}
	known = c.lengths
	if a := c.lengthsOf; a != nil {
		if err := a.Err(); err != nil {
			return nil, nil, err
		}
		if d := a.Dtype(); !d.IsInteger() || a.NDim() != 1 {
			return nil, nil, fmt.Errorf("lengths are %v%v; expected integers of shape [N] = [%d]", d, a.Shape(), in.N)
		}
		if a.Dim(0) != in.N {
			return nil, nil, fmt.Errorf("lengths have shape %v; expected [N] = [%d]", a.Shape(), in.N)
		}
		wide := a.AsType(mlx.Int64)
		if known, err = mlx.Values[int](wide); err != nil {
			if wide.IsTracer() {
				return nil, a, nil
			}
			return nil, nil, err
		}
		wide.Free()
	} else if known == nil && in.N > 0 {
		return nil, nil, errors.New("lengths are nil; expected [N] integers")
	}
	if len(known) != in.N {
		return nil, nil, fmt.Errorf("%d lengths are given; expected one for each of the N = %d rows", len(known), in.N)
	}
	for i, l := range known {
		if l < 0 || l > in.T {
			return nil, nil, fmt.Errorf("length %d is %d; expected 0 to L = %d", i, l, in.T)
		}
	}
	return known, nil, nil
}
