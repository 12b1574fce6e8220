package nn

import (
	"fmt"
	"slices"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Reduction says what becomes of the losses of single elements. It is an option of every loss.
type Reduction int

// The reductions. The mean of no elements is 0.
const (
	ReduceMean Reduction = iota // the default
	ReduceSum
	ReduceNone // the losses themselves
)

func (r Reduction) check() error {
	if r < ReduceMean || r > ReduceNone {
		return fmt.Errorf("reduction is %d; expected ReduceMean, ReduceSum or ReduceNone", r)
	}
	return nil
}

func (r Reduction) apply(losses *mlx.Array) *mlx.Array {
	switch r {
	case ReduceMean:
		return losses.Sum().Div(max(losses.Size(), 1))
	case ReduceSum:
		return losses.Sum()
	}
	return losses
}

// reduction is the last of the given ones.
func reduction(list []Reduction) Reduction {
	if len(list) == 0 {
		return ReduceMean
	}
	return list[len(list)-1]
}

// MSE is the mean of the squared differences. Shapes must be equal; nothing is broadcast. As with
// all losses, half precision inputs are computed and reduced in float32.
func MSE(pred, target *mlx.Array, r ...Reduction) *mlx.Array {
	return elementwise("MSE", pred, target, reduction(r), func(p, t *mlx.Array) *mlx.Array {
		return p.Sub(t).Square()
	})
}

// L1 is the mean of the absolute differences.
func L1(pred, target *mlx.Array, r ...Reduction) *mlx.Array {
	return elementwise("L1", pred, target, reduction(r), func(p, t *mlx.Array) *mlx.Array {
		return p.Sub(t).Abs()
	})
}

// Huber is the mean of e²/2 where |e| <= delta and delta (|e| - delta/2) elsewhere, e = pred - target.
// A delta of 1 is usual.
func Huber(pred, target *mlx.Array, delta float64, r ...Reduction) *mlx.Array {
	if !(delta > 0) {
		return mlx.ErrorArray("Huber", fmt.Errorf("delta is %v; expected a positive number", delta))
	}
	return elementwise("Huber", pred, target, reduction(r), func(p, t *mlx.Array) *mlx.Array {
		e := p.Sub(t).Abs()
		near := e.Minimum(delta)
		return near.Square().Mul(0.5).Add(e.Sub(near).Mul(delta))
	})
}

// BCEOption is an option of [BCEWithLogits]: a [Reduction] or [PosWeight].
type BCEOption interface{ applyBCE(*bce) }

type bce struct {
	reduction Reduction
	posWeight *mlx.Array
}

func (r Reduction) applyBCE(o *bce) { o.reduction = r }

type posWeight struct{ w *mlx.Array }

func (p posWeight) applyBCE(o *bce) { o.posWeight = p.w }

// PosWeight multiplies the part of the loss that belongs to targets of 1. w broadcasts to the
// shape of the logits, as in PyTorch; its usual shape is [C].
func PosWeight(w *mlx.Array) BCEOption { return posWeight{w} }

// BCEWithLogits is the binary cross entropy of sigmoid(logits) with targets from 0 to 1 of the same shape.
func BCEWithLogits(logits, targets *mlx.Array, opts ...BCEOption) *mlx.Array {
	const op = "BCEWithLogits"
	var o bce
	for _, f := range opts {
		f.applyBCE(&o)
	}
	if o.posWeight != nil {
		if err := o.posWeight.Err(); err != nil {
			return mlx.ErrorArray(op, err)
		}
		if s := o.posWeight.Shape(); !broadcasts(s, logits.Shape()) && logits.Err() == nil {
			return mlx.ErrorArray(op, fmt.Errorf("PosWeight has shape %v, which does not broadcast to that of the logits, %v", s, logits.Shape()))
		}
	}
	return elementwise(op, logits, targets, o.reduction, func(x, t *mlx.Array) *mlx.Array {
		if o.posWeight == nil {
			return x.LogAddExp(0).Sub(x.Mul(t))
		}
		// (1-t) x + (1 + (w-1) t) log(1 + exp(-x))
		w := o.posWeight.AsType(x.Dtype()).Sub(1).Mul(t).Add(1)
		return mlx.Sub(1, t).Mul(x).Add(w.Mul(x.Negative().LogAddExp(0)))
	})
}

func broadcasts(from, to []int) bool {
	if len(from) > len(to) {
		return false
	}
	to = to[len(to)-len(from):]
	for i, n := range from {
		if n != 1 && n != to[i] {
			return false
		}
	}
	return true
}

// elementwise checks and widens the inputs of a loss that compares element by element.
func elementwise(op string, pred, target *mlx.Array, r Reduction, f func(p, t *mlx.Array) *mlx.Array) *mlx.Array {
	if err := r.check(); err != nil {
		return mlx.ErrorArray(op, err)
	}
	for _, a := range []*mlx.Array{pred, target} {
		if err := a.Err(); err != nil {
			return mlx.ErrorArray(op, err)
		}
	}
	if !pred.Dtype().IsFloat() {
		return mlx.ErrorArray(op, fmt.Errorf("the predictions are %v; expected a floating point type", pred.Dtype()))
	}
	if target.Dtype() == mlx.Complex64 {
		return mlx.ErrorArray(op, fmt.Errorf("the targets are %v; expected real numbers", target.Dtype()))
	}
	if p, t := pred.Shape(), target.Shape(); !slices.Equal(p, t) {
		return mlx.ErrorArray(op, fmt.Errorf("the predictions have shape %v and the targets %v; expected equal shapes", p, t))
	}
	p := widen(pred)
	return r.apply(f(p, target.AsType(p.Dtype())))
}

// widen gives a half precision array as float32. A sum of many halves would lose digits or overflow.
func widen(a *mlx.Array) *mlx.Array {
	if d := a.Dtype(); d == mlx.Float16 || d == mlx.BFloat16 {
		return a.AsType(mlx.Float32)
	}
	return a
}
