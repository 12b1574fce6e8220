package rnn

import "github.com/mpsrnn/mpsrnn/mlx"

// State is the state of a layer between two calls. It is a value: a call takes one and gives a new one, and none is
// changed. The zero value stands for zeros.
//
// Of a layer H is [layers*directions, N, H], or [layers*directions, H] for input without a batch axis; entry
// layer*directions + direction belongs to that layer and direction (0 forward, 1 reverse). Of an [LSTMCell] it is
// [N, H] or [H]. C is the cell state of an LSTM, of the same shape, and nil for other layers. Either may be nil alone.
type State struct {
	H, C *mlx.Array
}

// Detach gives the state as a constant (MLX's stop_gradient): no gradient flows from what is computed with it to
// what it was computed from. Truncated back-propagation through time detaches the state between windows.
func (s State) Detach() State {
	return s.each((*mlx.Array).StopGradient)
}

// Keep gives the state outside of any scope (see mlx.Keep), so that it can be carried to the next step.
func (s State) Keep() State { return s.each(mlx.Keep) }

// Eval computes the state now. A state that is carried on for long without being evaluated holds all that it was
// computed from.
func (s State) Eval() error { return mlx.Eval(s.Arrays()...) }

// Err is the first error that the state carries.
func (s State) Err() error {
	for _, a := range s.Arrays() {
		if err := a.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Free gives the state's arrays back (see mlx.Array.Free).
func (s State) Free() {
	for _, a := range s.Arrays() {
		a.Free()
	}
}

// Arrays are H and C, without those that are nil: for functions that transforms trace, which take and give lists of arrays.
func (s State) Arrays() []*mlx.Array {
	var list []*mlx.Array
	for _, a := range []*mlx.Array{s.H, s.C} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

func (s State) each(f func(*mlx.Array) *mlx.Array) State {
	if s.H != nil {
		s.H = f(s.H)
	}
	if s.C != nil {
		s.C = f(s.C)
	}
	return s
}
