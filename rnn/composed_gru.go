package rnn

import "github.com/mpsrnn/mpsrnn/mlx"

// gruAfterSteps is a GRU whose reset gate acts on the recurrent product:
//
//	r, z = sigmoid(a_rz + h W_rz')    v = h W_n' + bhn    n = tanh(a_n + r v)    h' = n + z (h - n)
type gruAfterSteps struct{}

func (gruAfterSteps) forward(s *scan, p operands, keep bool) (out, gates []*mlx.Array) {
	o, H := s.o, s.H
	wRZ, wN := o.T(o.SliceAxis(p.wh, 0, 0, 2*H)), o.T(o.SliceAxis(p.wh, 0, 2*H, 3*H))
	a := o.SplitAt(p.a, []int{2 * H}, 1)
	aRZ, aN, valid := s.steps(a[0]), s.steps(a[1]), s.steps(p.valid)
	hs := make([]*mlx.Array, s.T)
	var rzs, vs, ns []*mlx.Array
	if keep {
		rzs, vs, ns = make([]*mlx.Array, s.T), make([]*mlx.Array, s.T), make([]*mlx.Array, s.T)
	}
	h := p.h0
	for t := range s.order() {
		rz := s.sigmoid(s.recurrent(t, aRZ[t], h, wRZ))
		both := o.Split(rz, 2, 1)
		r, z := both[0], both[1]
		v := s.affine(p.bhn, h, wN)
		n := o.Tanh(o.Add(aN[t], o.Mul(r, v)))
		h = s.hold(valid, t, o.Add(n, o.Mul(z, o.Sub(h, n))), h)
		hs[t] = h
		if keep {
			rzs[t], vs[t], ns[t] = rz, v, n
		}
	}
	out = []*mlx.Array{s.join(hs), h}
	if keep {
		gates = []*mlx.Array{s.join(rzs), s.join(vs), s.join(ns)}
	}
	return out, gates
}

func (gruAfterSteps) backward(s *scan, p operands, out, gates, d []*mlx.Array) operands {
	o, H := s.o, s.H
	v, n := gates[1], gates[2]
	rz := o.Split(gates[0], 2, 1)
	r, z := rz[0], rz[1]
	hp := s.previous(p.h0, out[0])
	slopeR, slopeZ, slopeN := o.Mul(r, o.Sub(1, r)), o.Mul(z, o.Sub(1, z)), o.Sub(1, o.Square(n))

	// What the gradients of the sums in r, z and v, and of that in n, are of that of h.
	toN := o.Mul(o.Sub(1, z), slopeN)
	factor := o.Stack([]*mlx.Array{
		o.Mul(o.Mul(toN, v), slopeR),
		o.Mul(o.Sub(hp, n), slopeZ),
		o.Mul(toN, r),
	}, 1)
	toN, factor = s.masked(p.valid, toN, 0), s.masked(p.valid, factor, 0)
	factors, zs, dhs := s.steps(factor), s.steps(s.masked(p.valid, z, 1)), s.steps(d[0])
	dgs := make([]*mlx.Array, s.T)
	carry := d[1]
	for t := range s.backInTime() {
		dh := o.Add(dhs[t], carry)
		dgs[t] = o.Reshape(o.Mul(o.ExpandDims(dh, 1), factors[t]), s.N, 3*H)
		carry = o.AddMM(o.Mul(dh, zs[t]), dgs[t], p.wh, 1, 1)
		dhs[t] = dh
	}
	dg := s.join(dgs)
	parts := o.SplitAt(dg, []int{2 * H}, 1)
	g := operands{
		a:     o.Concatenate([]*mlx.Array{parts[0], o.Mul(s.join(dhs), toN)}, 1),
		wh:    o.MatMul(o.T(dg), hp),
		h0:    carry,
		valid: p.valid,
	}
	if p.bhn != nil {
		g.bhn = o.Sum(parts[1], 0)
	}
	return g
}

// gruBeforeSteps is a GRU whose reset gate acts on the state before the product:
//
//	r, z = sigmoid(a_rz + h W_rz')    n = tanh(a_n + (r h) W_n')    h' = n + z (h - n)
type gruBeforeSteps struct{}

func (gruBeforeSteps) forward(s *scan, p operands, keep bool) (out, gates []*mlx.Array) {
	o, H := s.o, s.H
	wRZ, wN := o.T(o.SliceAxis(p.wh, 0, 0, 2*H)), o.T(o.SliceAxis(p.wh, 0, 2*H, 3*H))
	a := o.SplitAt(p.a, []int{2 * H}, 1)
	aRZ, aN, valid := s.steps(a[0]), s.steps(a[1]), s.steps(p.valid)
	hs := make([]*mlx.Array, s.T)
	var rzs, ns []*mlx.Array
	if keep {
		rzs, ns = make([]*mlx.Array, s.T), make([]*mlx.Array, s.T)
	}
	h := p.h0
	for t := range s.order() {
		rz := s.sigmoid(s.recurrent(t, aRZ[t], h, wRZ))
		both := o.Split(rz, 2, 1)
		r, z := both[0], both[1]
		n := o.Tanh(s.recurrent(t, aN[t], o.Mul(r, h), wN))
		h = s.hold(valid, t, o.Add(n, o.Mul(z, o.Sub(h, n))), h)
		hs[t] = h
		if keep {
			rzs[t], ns[t] = rz, n
		}
	}
	out = []*mlx.Array{s.join(hs), h}
	if keep {
		gates = []*mlx.Array{s.join(rzs), s.join(ns)}
	}
	return out, gates
}

func (gruBeforeSteps) backward(s *scan, p operands, out, gates, d []*mlx.Array) operands {
	o, H := s.o, s.H
	w := o.SplitAt(p.wh, []int{2 * H}, 0)
	wRZ, wN := w[0], w[1]
	n := gates[1]
	rz := o.Split(gates[0], 2, 1)
	r, z := rz[0], rz[1]
	hp := s.previous(p.h0, out[0])
	slopeR, slopeZ, slopeN := o.Mul(r, o.Sub(1, r)), o.Mul(z, o.Sub(1, z)), o.Sub(1, o.Square(n))

	// What the gradients of the sums in n and z are of that of h, and that of the sum in r of that of r h.
	toN := s.steps(s.masked(p.valid, o.Mul(o.Sub(1, z), slopeN), 0))
	toZ := s.steps(s.masked(p.valid, o.Mul(o.Sub(hp, n), slopeZ), 0))
	toR := s.steps(o.Mul(hp, slopeR))

	rs, zs, dhs := s.steps(r), s.steps(s.masked(p.valid, z, 1)), s.steps(d[0])
	dRZs, dNs := make([]*mlx.Array, s.T), make([]*mlx.Array, s.T)
	carry := d[1]
	for t := range s.backInTime() {
		dh := o.Add(dhs[t], carry)
		dNs[t] = o.Mul(dh, toN[t])
		du := o.MatMul(dNs[t], wN)
		dRZs[t] = o.Concatenate([]*mlx.Array{o.Mul(du, toR[t]), o.Mul(dh, toZ[t])}, 1)
		carry = o.AddMM(o.Add(o.Mul(dh, zs[t]), o.Mul(du, rs[t])), dRZs[t], wRZ, 1, 1)
	}
	dARZ, dAN := s.join(dRZs), s.join(dNs)
	return operands{
		a: o.Concatenate([]*mlx.Array{dARZ, dAN}, 1),
		wh: o.Concatenate([]*mlx.Array{
			o.MatMul(o.T(dARZ), hp),
			o.MatMul(o.T(dAN), o.Mul(r, hp)),
		}, 0),
		h0:    carry,
		valid: p.valid,
	}
}
