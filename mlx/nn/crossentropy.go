package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// CrossEntropyOption is an option of [CrossEntropy]: a [Reduction], [IgnoreIndex], [LabelSmoothing] or [ClassWeights].
type CrossEntropyOption interface{ applyCrossEntropy(*crossEntropy) }

type crossEntropy struct {
	reduction Reduction
	ignore    *int
	smoothing float64
	weights   *mlx.Array
}

func (r Reduction) applyCrossEntropy(o *crossEntropy) { o.reduction = r }

// IgnoreIndex is a class id whose rows have no loss and no gradient, whatever their logits are, and do not
// count in the mean. It need not be an id of a class: -100 is usual.
type IgnoreIndex int

func (i IgnoreIndex) applyCrossEntropy(o *crossEntropy) { v := int(i); o.ignore = &v }

// LabelSmoothing is the part, from 0 to below 1, of the target probability that is spread evenly
// over all classes (Szegedy et al. 2015).
type LabelSmoothing float64

func (s LabelSmoothing) applyCrossEntropy(o *crossEntropy) { o.smoothing = float64(s) }

type classWeights struct{ w *mlx.Array }

func (c classWeights) applyCrossEntropy(o *crossEntropy) { o.weights = c.w }

// ClassWeights multiplies the loss of each class by w [C]. With class ids the mean divides by
// the sum of the targets' weights, as in PyTorch.
func ClassWeights(w *mlx.Array) CrossEntropyOption { return classWeights{w} }

// CrossEntropy is the cross entropy of softmax(logits), logits [..., C], with targets that are
// integer class ids [...] or probabilities [..., C]. The reduction of ReduceNone gives [...].
//
// Definitions are PyTorch's, but for three cases: a class id out of range gives a loss of NaN
// (ids are checked without waiting for their values), the mean over no rows is 0, and rows of
// IgnoreIndex may hold NaN.
func CrossEntropy(logits, targets *mlx.Array, opts ...CrossEntropyOption) *mlx.Array {
	const op = "CrossEntropy"
	var o crossEntropy
	for _, f := range opts {
		f.applyCrossEntropy(&o)
	}
	byID, err := o.check(logits, targets)
	if err != nil {
		return mlx.ErrorArray(op, err)
	}
	x := widen(logits)
	if o.weights != nil {
		o.weights = o.weights.AsType(x.Dtype())
	}
	if byID {
		return o.ofIDs(x, targets)
	}
	return o.ofProbabilities(x, targets.AsType(x.Dtype()))
}

func (o *crossEntropy) check(logits, targets *mlx.Array) (byID bool, err error) {
	if err := errors.Join(logits.Err(), targets.Err()); err != nil {
		return false, err
	}
	shape, want := logits.Shape(), targets.Shape()
	if !logits.Dtype().IsFloat() || len(shape) == 0 || shape[len(shape)-1] == 0 {
		return false, fmt.Errorf("logits are %v%v; expected a floating point type and [..., C]", logits.Dtype(), shape)
	}
	classes := shape[len(shape)-1]
	switch d := targets.Dtype(); {
	case d.IsInteger():
		byID = true
		shape = shape[:len(shape)-1]
	case !d.IsFloat():
		return false, fmt.Errorf("targets are %v; expected integer class ids or floating point probabilities", d)
	case o.ignore != nil:
		return false, fmt.Errorf("IgnoreIndex needs class ids as targets; given probabilities (%v)", d)
	}
	if !slices.Equal(shape, want) {
		return false, fmt.Errorf("targets have shape %v; expected %v for logits %v", want, shape, logits.Shape())
	}
	if !(o.smoothing >= 0 && o.smoothing < 1) {
		return false, fmt.Errorf("LabelSmoothing is %v; expected a number from 0 to below 1", o.smoothing)
	}
	if o.weights != nil {
		if err := o.weights.Err(); err != nil {
			return false, err
		}
		if w := o.weights; !w.Dtype().IsFloat() || !slices.Equal(w.Shape(), []int{classes}) {
			return false, fmt.Errorf("ClassWeights are %v%v; expected floating point [%d]", w.Dtype(), w.Shape(), classes)
		}
	}
	return byID, o.reduction.check()
}

func (o *crossEntropy) ofIDs(x, targets *mlx.Array) *mlx.Array {
	if x.Size() == 0 {
		return o.reduction.apply(x.Sum(-1)) // MLX refuses to reduce an empty array
	}
	classes := x.Dim(-1)
	safe, valid := checkIDs(targets, classes)
	var counted *mlx.Array
	if o.ignore != nil {
		counted = targets.AsType(mlx.Int64).NotEqual(*o.ignore)
		// Their gradient must be zero whatever padding holds, and zero times NaN is not.
		x = counted.ExpandDims(-1).Where(x, 0)
	}
	x = shift(x, -1)
	norm := x.LogSumExp(-1)
	loss := norm.Sub(x.TakeAlongAxis(safe.ExpandDims(-1), -1).Squeeze(-1))
	var weights *mlx.Array
	if o.weights != nil {
		weights = o.weights.Take(safe, 0)
		loss = loss.Mul(weights)
	}
	if o.smoothing > 0 {
		loss = loss.Mul(1 - o.smoothing).Add(o.even(x, norm).Mul(o.smoothing / float64(classes)))
	}
	loss = valid.Where(loss, math.NaN())
	if counted != nil {
		loss = counted.Where(loss, 0)
	}
	if o.reduction != ReduceMean || counted == nil && weights == nil {
		return o.reduction.apply(loss)
	}
	if weights == nil {
		weights = mlx.OnesLike(loss)
	}
	if counted != nil {
		weights = counted.Where(weights, 0)
	}
	total := weights.Sum()
	return loss.Sum().Div(total.Equal(0).Where(1, total))
}

// even is the sum over all classes of weight times -log p. x is shifted, norm its logsumexp.
func (o *crossEntropy) even(x, norm *mlx.Array) *mlx.Array {
	if o.weights == nil {
		return norm.Mul(x.Dim(-1)).Sub(x.Sum(-1))
	}
	return norm.Mul(o.weights.Sum()).Sub(x.Mul(o.weights).Sum(-1))
}

func (o *crossEntropy) ofProbabilities(x, targets *mlx.Array) *mlx.Array {
	if o.smoothing > 0 {
		targets = targets.Mul(1 - o.smoothing).Add(o.smoothing / float64(x.Dim(-1)))
	}
	if o.weights != nil {
		targets = targets.Mul(o.weights)
	}
	return o.reduction.apply(LogSoftmax(x, -1).Mul(targets).Sum(-1).Negative())
}
