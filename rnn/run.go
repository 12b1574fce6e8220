package rnn

import (
	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// run is one call of a network after its checks.
type run struct {
	n     *network
	in    input
	drops []*mlx.Array // which elements [T, N, features] survive above each layer but the last; nil: all
	parts []*part
}

// part is a share of the rows. Inside, all sequences are time-major with time and rows in one axis: [T*N, features],
// step t of row i at t*N + i.
type part struct {
	r          *run
	o          mlx.Ops
	directions [2]mlx.Ops
	first, N   int         // which rows
	T          int         // steps to compute: those of the longest row
	mask       *lengthMask // nil when all rows are T long
}

func (n *network) newRun(in input, c *call) (*run, error) {
	r := &run{n: n, in: in}
	known, unknown, err := checkLengths(c, &in)
	if err != nil {
		return nil, err
	}
	if c.train {
		if err := checkKey(c.key); err != nil {
			return nil, err
		}
		r.drawDropout(c.key)
	}
	lanes, sideBySide := n.lanes(in.N)
	ends := append(shares(in.N, lanes), in.N)
	first := 0
	for i, end := range ends {
		p := &part{r: r, o: lane(i), first: first, N: end - first, T: in.T}
		p.directions = [2]mlx.Ops{p.o, p.o}
		if sideBySide {
			p.directions[1] = lane(1)
		}
		if known != nil {
			p.setMask(newLengthMask(p.o, known[first:end], nil, in.T, p.N))
		} else if unknown != nil {
			p.setMask(newLengthMask(p.o, nil, p.o.SliceAxis(unknown, 0, first, end), in.T, p.N))
		}
		r.parts = append(r.parts, p)
		first = end
	}
	return r, nil
}

func (p *part) setMask(m *lengthMask) {
	p.T = m.longest
	if m.shortest < m.longest {
		p.mask = m
	}
}

// drawDropout draws the masks of dropout for all rows, so that they do not depend on how the rows are shared out.
func (r *run) drawDropout(key *mlx.Array) {
	c := &r.n.cfg
	between := c.layers - 1
	if c.dropout == 0 || between == 0 {
		return
	}
	keys := mlx.SplitKey(key, between)
	for i := range between {
		shape := []int{r.in.T, r.in.N, c.outputs()}
		r.drops = append(r.drops, mlx.RandomBernoulli(1-c.dropout, shape, keys[min(i, len(keys)-1)]))
	}
}

// sequence runs all layers over x [T, N, D]. It gives y [T, N, features] and the final state [layers*directions, N, H].
func (r *run) sequence(x *mlx.Array) (y *mlx.Array, final State) {
	c := &r.n.cfg
	in := r.in
	if in.T == 0 || in.N == 0 {
		return mlx.Zeros([]int{in.T, in.N, c.outputs()}, in.dtype), r.initial()
	}
	first := r.initial()
	xs, hs, cs := []*mlx.Array{x}, []*mlx.Array{first.H}, []*mlx.Array{first.C}
	if len(r.parts) > 1 {
		ends := shares(in.N, len(r.parts))
		xs, hs = x.SplitAt(ends, 1), first.H.SplitAt(ends, 1)
		cs = make([]*mlx.Array, len(r.parts))
		if first.C != nil {
			cs = first.C.SplitAt(ends, 1)
		}
	}
	var ys []*mlx.Array
	for i, p := range r.parts {
		if len(xs) != len(r.parts) || len(hs) != len(r.parts) || len(cs) != len(r.parts) {
			// A split of an array that carries an error gives that error once.
			return xs[0], State{H: hs[0], C: cs[0]}
		}
		y, s := p.stack(xs[i], State{H: hs[i], C: cs[i]})
		ys, hs[i], cs[i] = append(ys, y), s.H, s.C
	}
	join := func(list []*mlx.Array) *mlx.Array {
		if len(list) == 1 || list[0] == nil {
			return list[0]
		}
		return mlx.Concatenate(list, 1)
	}
	return join(ys), State{H: join(hs), C: join(cs)}
}

// initial gives the initial state [layers*directions, N, H] of all rows, zeros where none is given.
func (r *run) initial() State {
	c := &r.n.cfg
	shape := []int{c.layers * c.directions(), r.in.N, c.hidden}
	part := func(a *mlx.Array) *mlx.Array {
		if a == nil {
			return mlx.Zeros(shape, r.in.dtype)
		}
		return a.AsType(r.in.dtype).Reshape(shape...)
	}
	s := State{H: part(r.in.state.H)}
	if c.cell == recurrent.LSTM {
		s.C = part(r.in.state.C)
	}
	return s
}

// stack runs all layers over the part's rows, x [T, N, D] and s [layers*directions, N, H].
func (p *part) stack(x *mlx.Array, s State) (y *mlx.Array, final State) {
	c, in, o := &p.r.n.cfg, &p.r.in, p.o
	if p.T == 0 {
		return o.Zeros([]int{in.T, p.N, c.outputs()}, in.dtype), s
	}
	if p.T < in.T {
		x = o.SliceAxis(x, 0, 0, p.T)
	}
	x = o.Reshape(x, p.T*p.N, c.input)
	if p.mask != nil {
		x = p.mask.zeroPadding(o, x)
	}
	h0, c0 := p.perLayer(s.H), p.perLayer(s.C)
	var hn, cn []*mlx.Array
	for layer := range c.layers {
		spec := c.spec(layer, p.T, p.N, in.dtype)
		if p.mask != nil {
			spec.Lengths = 1
		}
		var outs []*mlx.Array
		for d := range c.directions() {
			at, o := layer*c.directions()+d, p.directions[d]
			s := newScan(o, spec, d)
			s.mask = p.mask
			result := s.run(x, p.r.n.weights(layer, d).as(in.dtype), h0[at], c0[at])
			hn, cn = append(hn, result.hn), append(cn, result.cn)
			if p.mask != nil {
				result.h = p.mask.zeroPadding(o, result.h)
			}
			outs = append(outs, result.h)
		}
		x = p.merge(outs)
		if layer < c.layers-1 && p.r.drops != nil {
			x = p.drop(x, p.r.drops[layer])
		}
	}
	y = o.Reshape(x, p.T, p.N, c.outputs())
	if p.T < in.T {
		y = o.Concatenate([]*mlx.Array{y, o.Zeros([]int{in.T - p.T, p.N, c.outputs()}, in.dtype)}, 0)
	}
	final.H = p.together(hn)
	if c.cell == recurrent.LSTM {
		final.C = p.together(cn)
	}
	return y, final
}

// perLayer cuts a state into those of the layers and directions, each [N, H]; they are nil when it is.
func (p *part) perLayer(s *mlx.Array) []*mlx.Array {
	c := &p.r.n.cfg
	list := make([]*mlx.Array, c.layers*c.directions())
	switch {
	case s == nil:
	case len(list) == 1:
		list[0] = p.o.Reshape(s, p.N, c.hidden)
	default:
		for i, one := range p.o.Split(s, len(list), 0) {
			list[i] = p.o.Reshape(one, p.N, c.hidden)
		}
	}
	return list
}

// together is the inverse of perLayer.
func (p *part) together(list []*mlx.Array) *mlx.Array {
	s := list[0]
	if len(list) > 1 {
		s = p.o.Concatenate(list, 0)
	}
	return p.o.Reshape(s, len(list), p.N, p.r.n.cfg.hidden)
}

// merge makes one output of those of the directions.
func (p *part) merge(outs []*mlx.Array) *mlx.Array {
	if len(outs) == 1 {
		return outs[0]
	}
	switch p.r.n.cfg.merge {
	case Sum:
		return p.o.Add(outs[0], outs[1])
	case Mul:
		return p.o.Mul(outs[0], outs[1])
	case Average:
		return p.o.Mul(p.o.Add(outs[0], outs[1]), 0.5)
	}
	return p.o.Concatenate(outs, 1)
}

// drop sets the elements to zero that do not survive and scales the others, so that the mean stays.
func (p *part) drop(x, survive *mlx.Array) *mlx.Array {
	c, o := &p.r.n.cfg, p.o
	if c.dropout == 1 {
		return o.ZerosLike(x)
	}
	own := o.Slice(survive, []int{0, p.first, 0}, []int{p.T, p.first + p.N, c.outputs()})
	return o.Where(o.Reshape(own, p.T*p.N, c.outputs()), o.Mul(x, 1/(1-c.dropout)), 0.0)
}

// as gives the weights in a dtype.
func (w weights) as(d mlx.Dtype) weights {
	for _, p := range []**mlx.Array{&w.wx, &w.wh, &w.b, &w.bhn} {
		if *p != nil && (*p).Dtype() != d {
			*p = (*p).AsType(d)
		}
	}
	return w
}
