package mlx

// F1 of the cases in plain operations: a GRU with input and hidden size 2 and the gate order r, z, n.

func gruInput() *Array { return New([]float32{.5, -1, 1.5, .25, -.75, 2}, 3, 2) }

// gruStep is h [1, 2] after x [1, 2]: h' = (1-z) n + z h with n = tanh(W_n x + b_in + r (R_n h + b_hn)).
func gruStep(x, h *Array) *Array {
	w := New([]float32{-.07, -.30, .04, -.19, .15, -.08, .26, .03, .37, .14, .48, .25}, 6, 2)
	r := New([]float32{.14, .33, .07, .26, 0, .19, -.07, .12, -.14, .05, -.21, -.02}, 6, 2)
	bi := New([]float32{.05, -.10, .15, -.20, .25, -.30})
	bh := New([]float32{-.08, .16, -.24, .32, -.40, .48})
	in := x.MatMul(w.T()).Add(bi).Split(3, 1)
	rec := h.MatMul(r.T()).Add(bh).Split(3, 1)
	reset, update := in[0].Add(rec[0]).Sigmoid(), in[1].Add(rec[1]).Sigmoid()
	candidate := in[2].Add(reset.Mul(rec[2])).Tanh()
	return candidate.Add(update.Mul(h.Sub(candidate)))
}

// gru is the outputs [3, 2] of the layer over gruInput from a zero state.
func gru() *Array {
	x, h := gruInput(), Zeros([]int{1, 2}, Float32)
	out := make([]*Array, 3)
	for i := range out {
		h = gruStep(x.SliceAxis(0, i, i+1), h)
		out[i] = h
	}
	return Concatenate(out, 0)
}

var gruOutput = []float32{.034581, -.016819, .290802, .222200, .172365, .120280}
