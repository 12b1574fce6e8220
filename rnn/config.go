package rnn

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Direction is the order in which a layer takes the steps.
type Direction uint8

// The directions. A bidirectional layer runs both ways with weights of its own for each.
const (
	Forward Direction = iota
	Reverse
	Bidirectional
)

// String is the direction's name.
func (d Direction) String() string {
	switch d {
	case Forward:
		return "forward"
	case Reverse:
		return "reverse"
	case Bidirectional:
		return "bidirectional"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

func (d Direction) count() int {
	if d == Bidirectional {
		return 2
	}
	return 1
}

func (d Direction) spec() recurrent.Direction {
	switch d {
	case Reverse:
		return recurrent.Reverse
	case Bidirectional:
		return recurrent.Bidirectional
	}
	return recurrent.Forward
}

// Merge is what becomes of the two outputs of a bidirectional layer, at each layer of a stack.
type Merge uint8

// The merges.
const (
	Concat  Merge = iota // [forward, reverse] side by side: 2H features
	Sum                  // forward + reverse
	Mul                  // forward * reverse
	Average              // (forward + reverse) / 2
	// NoMerge keeps the directions apart in the output: y [N, L, 2, H]. Between layers it is Concat.
	NoMerge
)

// String is the merge's name.
func (m Merge) String() string {
	names := [...]string{"concat", "sum", "mul", "average", "none"}
	if int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("Merge(%d)", uint8(m))
}

// Nonlinearity is the activation of an RNN.
type Nonlinearity uint8

// The activations of an RNN.
const (
	Tanh Nonlinearity = iota
	ReLU
)

// String is the activation's name.
func (n Nonlinearity) String() string {
	switch n {
	case Tanh:
		return "tanh"
	case ReLU:
		return "relu"
	}
	return fmt.Sprintf("Nonlinearity(%d)", uint8(n))
}

// config is what the configurations of all layers have in common, and the cells' own options.
type config struct {
	cell          recurrent.Cell
	input, hidden int
	layers        int
	direction     Direction
	merge         Merge
	noBias        bool
	timeMajor     bool
	dropout       float64
	dtype         mlx.Dtype

	resetBefore  bool
	nonlinearity Nonlinearity
	forgetBias   float64
}

// check fills in the defaults and reports all faults together.
func (c *config) check() error {
	if c.layers == 0 {
		c.layers = 1
	}
	if c.dtype == mlx.Dtype(0) {
		c.dtype = mlx.Float32
	}
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	size := func(name string, v int) {
		// The weights' sizes must fit in MLX's 32 bits.
		if most := math.MaxInt32 / 4; v < 1 || v > most {
			fault("%s is %d; expected 1 to %d", name, v, most)
		}
	}
	size("Input", c.input)
	size("Hidden", c.hidden)
	if c.layers < 1 {
		fault("Layers is %d; expected at least 1 (0 stands for 1)", c.layers)
	}
	if c.direction > Bidirectional {
		fault("Direction is %d; expected Forward, Reverse or Bidirectional", c.direction)
	}
	switch {
	case c.merge > NoMerge:
		fault("Merge is %d; expected Concat, Sum, Mul, Average or NoMerge", c.merge)
	case c.merge != Concat && c.direction != Bidirectional:
		fault("Merge is %v, but Direction is %v; only a bidirectional layer has two outputs to merge", c.merge, c.direction)
	}
	if !(c.dropout >= 0 && c.dropout <= 1) {
		fault("Dropout is %v; expected a probability from 0 to 1", c.dropout)
	}
	if c.nonlinearity > ReLU {
		fault("Nonlinearity is %d; expected Tanh or ReLU", c.nonlinearity)
	}
	switch {
	case math.IsNaN(c.forgetBias) || math.IsInf(c.forgetBias, 0):
		fault("ForgetBias is %v; expected a finite number", c.forgetBias)
	case c.forgetBias != 0 && c.noBias:
		fault("ForgetBias is %v, but NoBias is set; there is no bias to start from it", c.forgetBias)
	}
	if !c.dtype.IsFloat() {
		fault("Dtype is %v; expected a floating point type", c.dtype)
	}
	if faults == nil {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// directions is the number of scans of one layer.
func (c *config) directions() int { return c.direction.count() }

// outputs is the number of features of one layer's merged output.
func (c *config) outputs() int {
	if c.direction == Bidirectional && (c.merge == Concat || c.merge == NoMerge) {
		return 2 * c.hidden
	}
	return c.hidden
}

// inputs is the number of features that a layer of the stack is given.
func (c *config) inputs(layer int) int {
	if layer == 0 {
		return c.input
	}
	return c.outputs()
}

// spec describes one layer of the stack for T steps of N rows.
func (c *config) spec(layer, T, N int, dtype mlx.Dtype) recurrent.Spec {
	s := recurrent.Spec{
		Dtype:        int32(dtype),
		WeightDtype:  int32(c.dtype),
		Time:         int32(T),
		Batch:        int32(N),
		Input:        int32(c.inputs(layer)),
		Hidden:       int32(c.hidden),
		Cell:         c.cell,
		Direction:    c.direction.spec(),
		Activation:   recurrent.DefaultActivations(c.cell),
		InitialState: recurrent.InitialH,
	}
	if c.cell == recurrent.LSTM {
		s.InitialState |= recurrent.InitialC
	}
	if !c.noBias {
		s.Bias = 1
	}
	if c.resetBefore {
		s.Reset = recurrent.ResetBefore
	}
	if c.nonlinearity == ReLU {
		s.Activation[0].Kind = recurrent.ReLU
	}
	return s
}
