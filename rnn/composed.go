package rnn

import (
	"iter"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// The composed route. One layer in one direction is a scan:
//
//  1. The input projection of all steps is one product, a = x Wx' + b.
//  2. The recurrence adds h Wh' step by step. It is cut out of a, and its outputs are joined, by one operation each.
//  3. When somebody takes a gradient, the recurrence keeps its gates. Going back in time only what is serial is done
//     step by step: the gradients of the gates' sums are that of h (and c) times factors that are known beforehand, so
//     a step is a few operations; the gradients of the weights are one product over all steps.

// recurrence is the step-by-step part of a cell.
type recurrence interface {
	// forward gives h of all steps [T*N, H], the final h and, for an LSTM, the final c. With keep it gives the gates too.
	forward(s *scan, p operands, keep bool) (out, gates []*mlx.Array)
	// backward gives the gradients of the operands from those of forward's outputs.
	backward(s *scan, p operands, out, gates, d []*mlx.Array) operands
}

// operands are the arguments of a recurrence.
type operands struct {
	a     *mlx.Array // projected input of all steps [T*N, gates*H]
	wh    *mlx.Array // [gates*H, H]
	h0    *mlx.Array // [N, H]
	c0    *mlx.Array // [N, H], LSTM only
	bhn   *mlx.Array // [H], GRU with bias only
	valid *mlx.Array // [T*N, 1] bool: which rows are real at which steps; nil: all
}

func (p *operands) fields() []**mlx.Array {
	return []**mlx.Array{&p.a, &p.wh, &p.h0, &p.c0, &p.bhn, &p.valid}
}

// list gives the operands that there are.
func (p operands) list() []*mlx.Array {
	var list []*mlx.Array
	for _, f := range p.fields() {
		if *f != nil {
			list = append(list, *f)
		}
	}
	return list
}

// like puts a list in the places that p fills.
func (p operands) like(list []*mlx.Array) operands {
	for _, f := range p.fields() {
		if *f != nil {
			*f, list = list[0], list[1:]
		}
	}
	return p
}

// scan is one layer in one direction over T steps of N rows with H hidden units.
type scan struct {
	o       mlx.Ops
	cell    recurrence
	T, N, H int
	reverse bool
	mask    *lengthMask
	plain   bool // leaves the gradient to MLX, operation by operation
}

// newScan makes the scan of a layer in its first or second direction (0 or 1).
func newScan(o mlx.Ops, spec recurrent.Spec, direction int) *scan {
	s := &scan{
		o: o, T: int(spec.Time), N: int(spec.Batch), H: int(spec.Hidden),
		reverse: direction == 1 || spec.Direction == recurrent.Reverse,
	}
	switch {
	case spec.Cell == recurrent.LSTM:
		s.cell = lstmSteps{}
	case spec.Cell == recurrent.GRU && spec.Reset == recurrent.ResetBefore:
		s.cell = gruBeforeSteps{}
	case spec.Cell == recurrent.GRU:
		s.cell = gruAfterSteps{}
	default:
		s.cell = rnnSteps{relu: spec.Activation[0].Kind == recurrent.ReLU}
	}
	return s
}

// scanResult is h of all steps [T*N, H], in the order of the input, and the final states [N, H].
type scanResult struct{ h, hn, cn *mlx.Array }

func (s *scan) run(x *mlx.Array, w weights, h0, c0 *mlx.Array) scanResult {
	o := s.o
	p := operands{a: s.affine(w.b, x, o.T(w.wx)), wh: w.wh, h0: h0, c0: c0, bhn: w.bhn}
	if s.mask != nil {
		p.valid = s.mask.valid
	}
	out := s.recur(p)
	p.a.Free()
	if c0 == nil {
		return scanResult{h: out[0], hn: out[1]}
	}
	return scanResult{h: out[0], hn: out[1], cn: out[2]}
}

func (s *scan) recur(p operands) []*mlx.Array {
	args := p.list()
	traced := false
	for _, a := range args {
		traced = traced || a.IsTracer()
	}
	if s.plain {
		out, _ := s.cell.forward(s, p, false)
		return out
	}
	if !traced {
		return mlx.Tidy(func(args []*mlx.Array) []*mlx.Array {
			out, _ := s.cell.forward(s, p.like(args), false)
			return out
		}, args...)
	}
	at := *s
	at.mask = nil // holds an array of the traced function, which the gradient function outlives
	d := &differentiable{scan: &at, like: p}
	out, err := mlx.CustomVJP(d.forward, d.backward)(args...)
	if err != nil {
		bad := mlx.ErrorArray("recurrence", err)
		return []*mlx.Array{bad, bad, bad}
	}
	return out
}

// differentiable is a recurrence with its gradient through time, for one place in a traced function.
type differentiable struct {
	scan  *scan
	like  operands
	calls int
	gates []*mlx.Array // of the only call of forward, until backward has used them
}

func (d *differentiable) forward(args []*mlx.Array) []*mlx.Array {
	out, gates := d.scan.cell.forward(d.scan, d.like.like(args), true)
	d.release()
	if d.calls++; d.calls > 1 {
		// Another transform traces the function anew, and nobody can tell whose gates backward will need.
		return out
	}
	for _, g := range gates {
		d.gates = append(d.gates, mlx.Keep(g))
	}
	return out
}

func (d *differentiable) backward(args, cotangents, out []*mlx.Array) []*mlx.Array {
	p := d.like.like(args)
	defer d.release()
	gates := d.gates
	if gates == nil {
		// Second derivatives come here again.
		_, gates = d.scan.cell.forward(d.scan, p, true)
	}
	return d.scan.cell.backward(d.scan, p, out, gates, cotangents).list()
}

func (d *differentiable) release() {
	for _, g := range d.gates {
		g.Free()
	}
	d.gates = nil
}

// affine is x w + b, where b may be nil.
func (s *scan) affine(b, x, w *mlx.Array) *mlx.Array {
	y := s.o.MatMul(x, w)
	if b == nil {
		return y
	}
	return s.o.Add(y, b)
}

// recurrent is a + h w for step t. Under vmap MLX cannot add the product to an operand that has a mapped axis when
// neither factor has, as it can be at the first step.
func (s *scan) recurrent(t int, a, h, w *mlx.Array) *mlx.Array {
	if t == s.first() {
		return s.o.Add(s.o.MatMul(h, w), a)
	}
	return s.o.AddMM(a, h, w, 1, 1)
}

// first is the step that the scan takes first.
func (s *scan) first() int {
	if s.reverse {
		return s.T - 1
	}
	return 0
}

// sigmoid is accurate in float64 too. MLX computes the exponential of float64 numbers, and with it the sigmoid, with
// the error of float32; its hyperbolic tangent is exact.
func (s *scan) sigmoid(x *mlx.Array) *mlx.Array {
	if x.Dtype() != mlx.Float64 {
		return s.o.Sigmoid(x)
	}
	return s.o.Add(s.o.Mul(s.o.Tanh(s.o.Mul(x, 0.5)), 0.5), 0.5)
}

// order gives the steps as the scan takes them.
func (s *scan) order() iter.Seq[int] { return s.walk(s.reverse) }

// backInTime gives the steps from the last one that the scan takes to the first.
func (s *scan) backInTime() iter.Seq[int] { return s.walk(!s.reverse) }

func (s *scan) walk(down bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range s.T {
			if down {
				i = s.T - 1 - i
			}
			if !yield(i) {
				return
			}
		}
	}
}

// steps cuts [T*N, ...] into the T steps [N, ...]. The gradient of a cut is one join, while that of a slice would be
// as long as the sequence for each step.
func (s *scan) steps(a *mlx.Array) []*mlx.Array {
	if a == nil {
		return nil
	}
	return s.cut(a, s.T)
}

// cut splits a into n equal parts along the first axis, in levels: all outputs of one split know each other, which
// costs the square of their number.
func (s *scan) cut(a *mlx.Array, n int) []*mlx.Array {
	const most = 32
	switch {
	case n == 1:
		return []*mlx.Array{a}
	case n <= most:
		return s.o.Split(a, n, 0)
	}
	width := 1
	for width*most < n {
		width *= most
	}
	var at []int
	for i := width; i < n; i += width {
		at = append(at, i*s.N)
	}
	parts := make([]*mlx.Array, 0, n)
	for i, part := range s.o.SplitAt(a, at, 0) {
		parts = append(parts, s.cut(part, min(width, n-i*width))...)
	}
	return parts
}

// join is the inverse of steps.
func (s *scan) join(steps []*mlx.Array) *mlx.Array {
	if len(steps) == 1 {
		return steps[0]
	}
	return s.o.Concatenate(steps, 0)
}

// previous gives the states that the steps start from: those of all steps, moved on by one.
func (s *scan) previous(first, all *mlx.Array) *mlx.Array {
	if s.T == 1 {
		return first
	}
	if s.reverse {
		return s.o.Concatenate([]*mlx.Array{s.o.SliceAxis(all, 0, s.N, s.T*s.N), first}, 0)
	}
	return s.o.Concatenate([]*mlx.Array{first, s.o.SliceAxis(all, 0, 0, (s.T-1)*s.N)}, 0)
}

// hold gives the new state where the row is real at the step, else the old one.
func (s *scan) hold(valid []*mlx.Array, t int, next, old *mlx.Array) *mlx.Array {
	if valid == nil {
		return next
	}
	return s.o.Where(valid[t], next, old)
}

// masked gives a [T*N, ...] with v where a row is not real at a step. Columns of valid repeat over the further axes.
func (s *scan) masked(valid, a *mlx.Array, v float64) *mlx.Array {
	if valid == nil {
		return a
	}
	if a.NDim() == 3 {
		valid = s.o.ExpandDims(valid, 2)
	}
	return s.o.Where(valid, a, v)
}
