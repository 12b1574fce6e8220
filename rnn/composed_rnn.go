package rnn

import "github.com/mpsrnn/mpsrnn/mlx"

// rnnSteps is h' = f(a + h Wh').
type rnnSteps struct{ relu bool }

func (c rnnSteps) forward(s *scan, p operands, _ bool) (out, gates []*mlx.Array) {
	o := s.o
	a, valid, w := s.steps(p.a), s.steps(p.valid), o.T(p.wh)
	hs := make([]*mlx.Array, s.T)
	h := p.h0
	for t := range s.order() {
		next := s.recurrent(t, a[t], h, w)
		if c.relu {
			next = o.Maximum(next, 0)
		} else {
			next = o.Tanh(next)
		}
		h = s.hold(valid, t, next, h)
		hs[t] = h
	}
	return []*mlx.Array{s.join(hs), h}, nil
}

func (c rnnSteps) backward(s *scan, p operands, out, _, d []*mlx.Array) operands {
	o := s.o
	h := out[0]
	// The slope of f at each step.
	var slope *mlx.Array
	if c.relu {
		slope = o.AsType(o.Greater(h, 0), h.Dtype())
	} else {
		slope = o.Sub(1, o.Square(h))
	}
	slopes := s.steps(s.masked(p.valid, slope, 0))
	valid, dhs := s.steps(p.valid), s.steps(d[0])
	das := make([]*mlx.Array, s.T)
	carry := d[1]
	for t := range s.backInTime() {
		dh := o.Add(dhs[t], carry)
		das[t] = o.Mul(dh, slopes[t])
		if valid == nil {
			carry = o.MatMul(das[t], p.wh)
		} else {
			carry = o.AddMM(o.Where(valid[t], 0.0, dh), das[t], p.wh, 1, 1)
		}
	}
	da := s.join(das)
	return operands{a: da, wh: o.MatMul(o.T(da), s.previous(p.h0, h)), h0: carry, valid: p.valid}
}
