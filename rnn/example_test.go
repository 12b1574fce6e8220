package rnn_test

import (
	"fmt"
	"log"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/rnn"
)

// A whole batch of sequences, and its final state.
func ExampleGRU() {
	gru, err := rnn.NewGRU(rnn.GRUConfig{Input: 64, Hidden: 256, Layers: 2}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	x := mlx.RandomNormal([]int{8, 50, 64}, mlx.Float32, 0, 1, mlx.Key(2)) // N = 8 rows of L = 50 steps

	y, state := gru.Forward(x, rnn.State{}) // the zero State stands for zeros
	if err := mlx.Eval(y, state.H); err != nil {
		log.Fatal(err)
	}
	fmt.Println("y:", y.Shape())
	fmt.Println("state:", state.H.Shape())
	fmt.Println("first layer:", gru.Layer(0).Wx.Shape(), gru.Layer(0).Bhn.Shape())
	// Output:
	// y: [8 50 256]
	// state: [2 8 256]
	// first layer: [768 64] [256]
}

// All faults of a configuration are told at once, those of a call by the outputs.
func ExampleGRU_errors() {
	_, err := rnn.NewGRU(rnn.GRUConfig{Input: 3, Layers: -1}, mlx.Key(1))
	fmt.Println(err)

	gru, err := rnn.NewGRU(rnn.GRUConfig{Input: 3, Hidden: 4}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	y, _ := gru.Forward(mlx.Zeros([]int{2, 5, 7}, mlx.Float32), rnn.State{})
	fmt.Println(mlx.Eval(y) != nil)
	// Output:
	// rnn.NewGRU: Hidden is 0; expected 1 to 536870911; Layers is -1; expected at least 1 (0 stands for 1)
	// true
}

// Streaming: one step at a time, with the state in the caller's hands.
func ExampleGRU_Step() {
	gru, err := rnn.NewGRU(rnn.GRUConfig{Input: 3, Hidden: 4, Layers: 2}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	x := mlx.RandomNormal([]int{5, 3}, mlx.Float32, 0, 1, mlx.Key(2)) // one row of 5 steps
	whole, _ := gru.Forward(x, rnn.State{})

	var state rnn.State
	var y *mlx.Array
	for t := range 5 {
		y, state = gru.Step(x.Select(0, t), state)
		// Without this the state would hold the graph of all the steps before.
		if err := mlx.Eval(y, state.H); err != nil {
			log.Fatal(err)
		}
	}
	same, err := mlx.Item[bool](y.AllClose(whole.Select(0, 4), 1e-5, 1e-6, false))
	fmt.Println(y.Shape(), state.H.Shape(), same, err)
	// Output: [4] [2 4] true <nil>
}

// The plan says how the layer is computed, and why not otherwise.
func ExampleGRU_Plan() {
	gru, err := rnn.NewGRU(rnn.GRUConfig{Input: 40, Hidden: 256, Direction: rnn.Bidirectional}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(gru.Plan([]int{8, 200, 40}))
	// Output:
	// GRU 40->256 bidirectional, N=8 L=200 float32: composed
	//   mpsgraph  no: not built into this version
	//   metal     no: not built into this version
	//   cpu       no: not built into this version
	//   composed  MLX operations, step by step
}

// A cell in a loop of one's own.
func ExampleGRUCell() {
	cell, err := rnn.NewGRUCell(rnn.GRUCellConfig{Input: 3, Hidden: 4}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	h := cell.ZeroState(2)
	for i := range 3 {
		x := mlx.Full([]int{2, 3}, float64(i), mlx.Float32)
		h = cell.Step(x, h)
	}
	fmt.Println(h.Shape(), h.Eval())
	// Output: [2 4] <nil>
}

// Two directions whose outputs are added, and rows of different length.
func ExampleLSTM() {
	lstm, err := rnn.NewLSTM(rnn.LSTMConfig{
		Input: 40, Hidden: 32, Layers: 2, Direction: rnn.Bidirectional, Merge: rnn.Sum, Dropout: 0.1, ForgetBias: 1,
	}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	x := mlx.RandomNormal([]int{3, 20, 40}, mlx.Float32, 0, 1, mlx.Key(2))
	keys := mlx.NewKeys(7)

	// In training dropout draws from a key, a fresh one for each call.
	y, state := lstm.Forward(x, rnn.State{}, rnn.Lengths([]int{20, 5, 11}), rnn.Train(keys.Next()))
	fmt.Println(y.Shape(), state.H.Shape(), state.C.Shape())

	// The second row ends after 5 steps; the rest of y is zero.
	rest, err := mlx.Item[float32](y.Select(0, 1).SliceAxis(0, 5, 20).Abs().Max())
	fmt.Println(rest, err)
	// Output:
	// [3 20 32] [4 3 32] [4 3 32]
	// 0 <nil>
}

func ExampleLSTMCell() {
	cell, err := rnn.NewLSTMCell(rnn.LSTMCellConfig{Input: 3, Hidden: 4}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	var s rnn.State // zeros
	for range 3 {
		s = cell.Step(mlx.Ones([]int{2, 3}, mlx.Float32), s)
	}
	fmt.Println(s.H.Shape(), s.C.Shape(), s.Eval())
	// Output: [2 4] [2 4] <nil>
}

// Without a batch axis, time first or last, any of the layers takes one sequence.
func ExampleRNN() {
	r, err := rnn.NewRNN(rnn.RNNConfig{Input: 3, Hidden: 4, Nonlinearity: rnn.ReLU, Direction: rnn.Reverse}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	y, state := r.Forward(mlx.Ones([]int{6, 3}, mlx.Float32), rnn.State{})
	fmt.Println(y.Shape(), state.H.Shape())
	// Output: [6 4] [1 4]
}

func ExampleRNNCell() {
	cell, err := rnn.NewRNNCell(rnn.RNNCellConfig{Input: 3, Hidden: 4}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	h := cell.Step(mlx.Ones([]int{3}, mlx.Float32), nil)
	fmt.Println(h.Shape())
	// Output: [4]
}

// Lengths may be numbers or an integer array.
func ExampleLengths() {
	gru, err := rnn.NewGRU(rnn.GRUConfig{Input: 1, Hidden: 2}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	x := mlx.Ones([]int{2, 4, 1}, mlx.Float32)
	_, a := gru.Forward(x, rnn.State{}, rnn.Lengths([]int{4, 0}))
	_, b := gru.Forward(x, rnn.State{}, rnn.Lengths(mlx.New([]int32{4, 0})))
	same, err := mlx.Item[bool](a.H.ArrayEqual(b.H, false))
	fmt.Println(same, err)
	second, err := mlx.Values[float32](a.H.Select(1, 1)) // the row without steps keeps its state
	fmt.Println(second, err)
	// Output:
	// true <nil>
	// [0 0] <nil>
}

// Truncated back-propagation through time: the state is carried from window to window, its gradient is not.
func ExampleState_Detach() {
	gru, err := rnn.NewGRU(rnn.GRUConfig{Input: 2, Hidden: 4}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	text := mlx.RandomNormal([]int{1, 12, 2}, mlx.Float32, 0, 1, mlx.Key(2))
	var state rnn.State
	for at := 0; at < 12; at += 4 {
		window := text.SliceAxis(1, at, at+4)
		loss := func(args []*mlx.Array) []*mlx.Array {
			y, next := gru.Forward(args[0], state)
			return append([]*mlx.Array{y.Square().Mean()}, next.Arrays()...)
		}
		values, grads, err := mlx.ValueAndGrad(loss)(window)
		if err != nil {
			log.Fatal(err)
		}
		state = rnn.State{H: values[1]}.Detach()
		if err := mlx.Eval(grads[0], state.H); err != nil {
			log.Fatal(err)
		}
		fmt.Println(at, grads[0].Shape(), state.H.Shape())
	}
	// Output:
	// 0 [1 4 2] [1 1 4]
	// 4 [1 4 2] [1 1 4]
	// 8 [1 4 2] [1 1 4]
}

// A route can be forced; one that cannot be taken is an error with the reason.
func ExampleWithRoute() {
	cfg := rnn.GRUConfig{Input: 2, Hidden: 4}
	_, err := rnn.NewGRU(cfg, mlx.Key(1), rnn.WithRoute(rnn.Metal))
	fmt.Println(err)
	_, err = rnn.NewGRU(cfg, mlx.Key(1), rnn.WithRoute(rnn.Composed))
	fmt.Println(err)
	// Output:
	// rnn.NewGRU: route metal cannot be taken: not built into this version
	// <nil>
}
