package rnn

import "github.com/mpsrnn/mpsrnn/mlx"

// lstmSteps is an LSTM:
//
//	i, f, o = sigmoid(a + h Wh')    g = tanh(a_g + h W_g')    c' = f c + i g    h' = o tanh(c')
type lstmSteps struct{}

// The gates that lstmSteps keeps.
const (
	lstmIF    = iota // i and f [T*N, 2H]
	lstmG            // g [T*N, H]
	lstmO            // o
	lstmC            // c of all steps
	lstmTanhC        // tanh of the new c
	lstmGates
)

func (lstmSteps) forward(s *scan, p operands, keep bool) (out, gates []*mlx.Array) {
	o, H := s.o, s.H
	a, valid, w := s.steps(p.a), s.steps(p.valid), o.T(p.wh)
	hs := make([]*mlx.Array, s.T)
	var kept [lstmGates][]*mlx.Array
	if keep {
		for k := range kept {
			kept[k] = make([]*mlx.Array, s.T)
		}
	}
	h, c := p.h0, p.c0
	for t := range s.order() {
		sums := o.SplitAt(s.recurrent(t, a[t], h, w), []int{2 * H, 3 * H}, 1)
		iAndF, g, output := s.sigmoid(sums[0]), o.Tanh(sums[1]), s.sigmoid(sums[2])
		both := o.Split(iAndF, 2, 1)
		next := o.Add(o.Mul(both[1], c), o.Mul(both[0], g))
		tanhC := o.Tanh(next)
		h, c = s.hold(valid, t, o.Mul(output, tanhC), h), s.hold(valid, t, next, c)
		hs[t] = h
		if keep {
			kept[lstmIF][t], kept[lstmG][t], kept[lstmO][t] = iAndF, g, output
			kept[lstmC][t], kept[lstmTanhC][t] = c, tanhC
		}
	}
	if keep {
		for _, list := range kept {
			gates = append(gates, s.join(list))
		}
	}
	return []*mlx.Array{s.join(hs), h, c}, gates
}

func (lstmSteps) backward(s *scan, p operands, out, gates, d []*mlx.Array) operands {
	o, H := s.o, s.H
	both := o.Split(gates[lstmIF], 2, 1)
	i, f, g, output, tanhC := both[0], both[1], gates[lstmG], gates[lstmO], gates[lstmTanhC]
	slope := func(sigmoid *mlx.Array) *mlx.Array { return o.Mul(sigmoid, o.Sub(1, sigmoid)) }

	// What the gradients of the sums in i, f and g are of that of c, and those of c and of the sum in o of that of h.
	factor := o.Stack([]*mlx.Array{
		o.Mul(g, slope(i)),
		o.Mul(s.previous(p.c0, gates[lstmC]), slope(f)),
		o.Mul(i, o.Sub(1, o.Square(g))),
	}, 1)
	factors := s.steps(s.masked(p.valid, factor, 0))
	toC := s.steps(s.masked(p.valid, o.Mul(output, o.Sub(1, o.Square(tanhC))), 0))
	toO := s.steps(s.masked(p.valid, o.Mul(tanhC, slope(output)), 0))

	fs, valid, dhs := s.steps(s.masked(p.valid, f, 1)), s.steps(p.valid), s.steps(d[0])
	das := make([]*mlx.Array, s.T)
	carryH, carryC := d[1], d[2]
	for t := range s.backInTime() {
		dh := o.Add(dhs[t], carryH)
		dc := o.Add(carryC, o.Mul(dh, toC[t]))
		dIFG := o.Mul(o.ExpandDims(dc, 1), factors[t])
		das[t] = o.Concatenate([]*mlx.Array{o.Reshape(dIFG, s.N, 3*H), o.Mul(dh, toO[t])}, 1)
		carryC = o.Mul(dc, fs[t])
		if valid == nil {
			carryH = o.MatMul(das[t], p.wh)
		} else {
			carryH = o.AddMM(o.Where(valid[t], 0.0, dh), das[t], p.wh, 1, 1)
		}
	}
	da := s.join(das)
	return operands{
		a: da, wh: o.MatMul(o.T(da), s.previous(p.h0, out[0])), h0: carryH, c0: carryC, valid: p.valid,
	}
}
