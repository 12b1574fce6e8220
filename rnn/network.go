package rnn

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// network is what the layers and cells of all kinds have in common: the checked configuration, the route and the
// way to the parameters, which stand in exported fields of the layer.
type network struct {
	cfg     config
	route   Route
	oneStep bool // a cell
	// weights gives the parameters of a layer in a direction (0 forward, 1 reverse), as they are now.
	weights func(layer, direction int) weights
}

// with gives the network its way to the parameters.
func (n network) with(weights func(layer, direction int) weights) *network {
	n.weights = weights
	return &n
}

// weights are the parameters of one layer in one direction by their role; b and bhn may be nil.
type weights struct {
	wx, wh, b, bhn *mlx.Array
	names          weightNames
}

// weightNames are the names in files; a role that the cell does not have is "".
type weightNames struct{ wx, wh, b, bhn string }

func (w *weights) arrays() []*mlx.Array {
	list := make([]*mlx.Array, 0, 4)
	for _, a := range []*mlx.Array{w.wx, w.wh, w.b, w.bhn} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

// prefix is the beginning of the parameters' names of a layer in a direction.
func (n *network) prefix(layer, direction int) string {
	p := ""
	if n.cfg.layers > 1 {
		p = "layers." + strconv.Itoa(layer) + "."
	}
	if direction == 1 {
		p += "reverse."
	}
	return p
}

// op is the name of the operation in error messages.
func (n *network) op() string {
	if n.checkMade() != nil {
		return "rnn"
	}
	if n.oneStep {
		return n.cfg.cell.String() + "Cell"
	}
	return n.cfg.cell.String()
}

// fail gives outputs that carry an error.
func (n *network) fail(method string, err error) (*mlx.Array, State) {
	bad := mlx.ErrorArray(n.op()+"."+method, err)
	s := State{H: bad}
	if n.cfg.cell == recurrent.LSTM {
		s.C = bad
	}
	return bad, s
}

// forward runs a whole sequence.
func (n *network) forward(x *mlx.Array, s State, opts []CallOption) (*mlx.Array, State) {
	const method = "Forward"
	in, err := n.checkInput(x, s)
	if err != nil {
		return n.fail(method, err)
	}
	r, err := n.newRun(in, newCall(opts))
	if err != nil {
		return n.fail(method, err)
	}
	x = in.x.AsType(in.dtype)
	switch {
	case !in.batchAxis:
		x = x.ExpandDims(1)
	case !n.cfg.timeMajor:
		x = x.SwapAxes(0, 1)
	}
	y, final := r.sequence(x)
	return n.unpackSequence(in, y), n.unpackState(in, final)
}

// unpackSequence gives y [T, N, features] the axes of the input.
func (n *network) unpackSequence(in input, y *mlx.Array) *mlx.Array {
	shape := []int{in.T}
	if in.batchAxis {
		shape = append(shape, in.N)
	}
	if n.cfg.direction == Bidirectional && n.cfg.merge == NoMerge {
		y = y.Reshape(append(shape, 2, n.cfg.hidden)...)
	} else if !in.batchAxis {
		y = y.Reshape(append(shape, n.cfg.outputs())...)
	}
	if in.batchAxis && !n.cfg.timeMajor {
		y = y.SwapAxes(0, 1)
	}
	return y
}

// unpackState gives the final state [layers*directions, N, H] the axes of the input's.
func (n *network) unpackState(in input, s State) State {
	if in.batchAxis && !n.oneStep {
		return s
	}
	var shape []int
	if !n.oneStep {
		shape = append(shape, n.cfg.layers*n.cfg.directions())
	}
	if in.batchAxis {
		shape = append(shape, in.N)
	}
	shape = append(shape, n.cfg.hidden)
	return s.each(func(a *mlx.Array) *mlx.Array { return a.Reshape(shape...) })
}

// step runs one step of the whole stack.
func (n *network) step(x *mlx.Array, s State, opts []CallOption) (*mlx.Array, State) {
	const method = "Step"
	if d := n.cfg.direction; d != Forward {
		return n.fail(method, fmt.Errorf("the layer is %v; one step at a time needs a forward layer, since the other way starts at the sequence's end", d))
	}
	in, err := n.checkStep(x, s)
	if err != nil {
		return n.fail(method, err)
	}
	c := newCall(opts)
	if c.hasLengths {
		return n.fail(method, errors.New("Lengths are given; expected none, since a step has no length"))
	}
	r, err := n.newRun(in, c)
	if err != nil {
		return n.fail(method, err)
	}
	y, final := r.sequence(in.x.AsType(in.dtype).Reshape(1, in.N, n.cfg.input))
	if in.batchAxis {
		y = y.Reshape(in.N, n.cfg.outputs())
	} else {
		y = y.Reshape(n.cfg.outputs())
	}
	return y, n.unpackState(in, final)
}

// zeroState is the state that stands for none.
func (n *network) zeroState(batch int) State {
	if batch < 0 {
		_, s := n.fail("ZeroState", fmt.Errorf("the batch size is %d; expected at least 0", batch))
		return s
	}
	shape := []int{n.cfg.layers * n.cfg.directions(), batch, n.cfg.hidden}
	if n.oneStep {
		shape = shape[1:]
	}
	s := State{H: mlx.Zeros(shape, n.cfg.dtype)}
	if n.cfg.cell == recurrent.LSTM {
		s.C = mlx.Zeros(shape, n.cfg.dtype)
	}
	return s
}
