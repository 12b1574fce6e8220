package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// CTCOption is an option of [CTC]: a [Reduction], [Blank] or [ZeroInfinity].
type CTCOption interface{ applyCTC(*ctc) }

type ctc struct {
	reduction    Reduction
	blank        int
	zeroInfinity bool
}

func (r Reduction) applyCTC(o *ctc) { o.reduction = r }

// Blank is the class id of the blank; 0 is the default.
type Blank int

func (b Blank) applyCTC(o *ctc) { o.blank = int(b) }

// ZeroInfinity makes the loss of a row that has no alignment zero. Its gradient is zero in both cases.
type ZeroInfinity bool

func (z ZeroInfinity) applyCTC(o *ctc) { o.zeroInfinity = bool(z) }

// impossible stands for the logarithm of zero. With a true infinity the gradient of a sum of two
// zeros would be NaN.
const impossible = -1e30

// CTC is the connectionist temporal classification loss (Graves et al. 2006): the negative logarithm of
// the probability of a row's labels, summed over all their alignments with the time steps.
//
// logits [N, T, C] go through a log-softmax inside, which leaves log-probabilities as they are.
// targets [N, S] are integer labels, padded at the end with anything. inputLengths and targetLengths
// have N entries of at most T and S. Reductions are PyTorch's: the mean is that of loss / max(target
// length, 1); ReduceNone gives [N].
//
// A row that has no alignment (too few time steps) has a loss of infinity and no gradient; a
// label out of range, or equal to the blank, gives a loss of NaN.
func CTC(logits, targets *mlx.Array, inputLengths, targetLengths []int, opts ...CTCOption) *mlx.Array {
	const op = "CTC"
	var o ctc
	for _, f := range opts {
		f.applyCTC(&o)
	}
	if err := o.check(logits, targets, inputLengths, targetLengths); err != nil {
		return mlx.ErrorArray(op, err)
	}
	if logits.Dim(0) == 0 {
		return o.reduction.apply(widen(logits).Sum(-1, -2))
	}
	loss := o.rows(widen(logits), targets, inputLengths, targetLengths)
	if o.reduction == ReduceMean {
		divisors := make([]float32, len(targetLengths))
		for i, n := range targetLengths {
			divisors[i] = float32(max(n, 1))
		}
		loss = loss.Div(mlx.New(divisors).AsType(loss.Dtype()))
	}
	return o.reduction.apply(loss)
}

func (o *ctc) check(logits, targets *mlx.Array, inputLengths, targetLengths []int) error {
	if err := errors.Join(logits.Err(), targets.Err()); err != nil {
		return err
	}
	if !logits.Dtype().IsFloat() || logits.NDim() != 3 || logits.Dim(2) == 0 {
		return fmt.Errorf("logits are %v%v; expected a floating point type and [N, T, C]", logits.Dtype(), logits.Shape())
	}
	n, steps, classes := logits.Dim(0), logits.Dim(1), logits.Dim(2)
	if !targets.Dtype().IsInteger() || targets.NDim() != 2 || targets.Dim(0) != n {
		return fmt.Errorf("targets are %v%v; expected an integer type and [%d, S]", targets.Dtype(), targets.Shape(), n)
	}
	if o.blank < 0 || o.blank >= classes {
		return fmt.Errorf("Blank is %d; expected a class id from 0 to %d", o.blank, classes-1)
	}
	return errors.Join(
		checkLengths("inputLengths", inputLengths, n, steps),
		checkLengths("targetLengths", targetLengths, n, targets.Dim(1)),
		o.reduction.check())
}

func checkLengths(name string, lengths []int, n, limit int) error {
	if len(lengths) != n {
		return fmt.Errorf("%s has %d entries; expected %d, one for each row", name, len(lengths), n)
	}
	for i, v := range lengths {
		if v < 0 || v > limit {
			return fmt.Errorf("%s[%d] is %d; expected a length from 0 to %d", name, i, v, limit)
		}
	}
	return nil
}

// rows is the loss of each row, [N]. The state of the recursion, alpha [N, 2S+1], holds for each
// place in the labels with blanks around them the log-probability of all alignments that end there.
func (o *ctc) rows(logits, targets *mlx.Array, inputLengths, targetLengths []int) *mlx.Array {
	n, steps, classes := logits.Dim(0), logits.Dim(1), logits.Dim(2)
	width := 2*targets.Dim(1) + 1
	labels, skips, bad := o.places(targets, classes, targetLengths)

	index := labels.ExpandDims(1).BroadcastTo(n, steps, width)
	emit := LogSoftmax(logits, -1).TakeAlongAxis(index, -1)

	// Before the first step all the probability lies on the first blank, so that one step leads to
	// it or to the first label.
	start := make([]float32, n*width)
	for i := range start {
		if i%width != 0 {
			start[i] = impossible
		}
	}
	alpha := mlx.New(start, n, width).AsType(emit.Dtype())
	edge := mlx.Full([]int{n, 2}, impossible, emit.Dtype())
	inputs := mlx.New(inputLengths, n, 1)
	for t := range steps {
		padded := mlx.Concatenate([]*mlx.Array{edge, alpha}, 1)
		one := padded.SliceAxis(1, 1, width+1)
		two := skips.Where(padded.SliceAxis(1, 0, width), impossible)
		// An emission may be -Inf; the maximum keeps it out of the next sums.
		next := alpha.LogAddExp(one).LogAddExp(two).Add(emit.Select(1, t)).Maximum(impossible)
		alpha = inputs.Greater(t).Where(next, alpha)
	}

	last := make([]int, 0, 2*n)
	for _, l := range targetLengths {
		last = append(last, 2*l, max(2*l-1, 0))
	}
	ends := alpha.TakeAlongAxis(mlx.New(last, n, 2), 1)
	hasLabels := mlx.New(targetLengths, n).Greater(0)
	both := ends.Select(1, 0).LogAddExp(hasLabels.Where(ends.Select(1, 1), impossible))
	loss := both.Negative()
	instead := math.Inf(1)
	if o.zeroInfinity {
		instead = 0
	}
	loss = loss.Less(-impossible/2).Where(loss, instead)
	return bad.Where(math.NaN(), loss)
}

// places gives the labels with blanks around them [N, 2S+1], the places that may be reached from two
// before (a label that is not equal to the label before), and the rows that have a label out of range.
func (o *ctc) places(targets *mlx.Array, classes int, lengths []int) (labels, skips, bad *mlx.Array) {
	n, s := targets.Dim(0), targets.Dim(1)
	used := mlx.Arange(0, float64(s), 1, mlx.Int32).Less(mlx.New(lengths, n, 1)) // [N, S]
	safe, valid := checkIDs(targets, classes)
	valid = valid.LogicalAnd(safe.NotEqual(o.blank))
	bad = used.LogicalAnd(valid.LogicalNot()).Any(1)
	safe = used.Where(safe, o.blank).AsType(mlx.Int32)

	blanks := mlx.Full([]int{n, s, 1}, o.blank, mlx.Int32)
	end := mlx.Full([]int{n, 1}, o.blank, mlx.Int32)
	pairs := mlx.Concatenate([]*mlx.Array{blanks, safe.ExpandDims(-1)}, -1).Reshape(n, 2*s)
	labels = mlx.Concatenate([]*mlx.Array{pairs, end}, 1)

	before := mlx.Concatenate([]*mlx.Array{end, end, labels}, 1).SliceAxis(1, 0, 2*s+1)
	skips = labels.NotEqual(o.blank).LogicalAnd(labels.NotEqual(before))
	return labels, skips, bad
}
