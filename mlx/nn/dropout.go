package nn

import (
	"fmt"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Dropout sets elements to zero with probability P in training, and multiplies the others by 1/(1-P).
type Dropout struct {
	P float64
}

// NewDropout makes a dropout layer. p is a probability from 0 to 1; with 1 all becomes zero.
func NewDropout(p float64) (*Dropout, error) {
	if err := checkProbability(p); err != nil {
		return nil, fmt.Errorf("nn.NewDropout: %w", err)
	}
	return &Dropout{P: p}, nil
}

func checkProbability(p float64) error {
	if !(p >= 0 && p <= 1) {
		return fmt.Errorf("p is %v; expected a probability from 0 to 1", p)
	}
	return nil
}

// Forward is evaluation: x itself.
func (d *Dropout) Forward(x *mlx.Array) *mlx.Array { return x }

// ForwardTrain drops elements of x. The same key drops the same ones; with a nil key it is Forward.
func (d *Dropout) ForwardTrain(x, key *mlx.Array) *mlx.Array {
	if err := checkProbability(d.P); err != nil {
		return mlx.ErrorArray("Dropout", err)
	}
	if key == nil || d.P == 0 {
		return x
	}
	if err := x.Err(); err != nil {
		return mlx.ErrorArray("Dropout", err)
	}
	if !x.Dtype().IsFloat() {
		return mlx.ErrorArray("Dropout", fmt.Errorf("x is %v%v; expected a floating point type", x.Dtype(), x.Shape()))
	}
	if d.P == 1 {
		// 1/(1-P) would be infinite, and infinity times zero is NaN.
		return mlx.ZerosLike(x)
	}
	kept := mlx.RandomBernoulli(1-d.P, x.Shape(), key)
	return kept.Where(x.Mul(1/(1-d.P)), 0)
}
