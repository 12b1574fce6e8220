package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Linear is y = x Wᵀ + b, as in mlx.nn and PyTorch.
type Linear struct {
	Weight *mlx.Array // [Output, Input]
	Bias   *mlx.Array // [Output], nil without bias
}

// LinearConfig describes a [Linear].
type LinearConfig struct {
	Input, Output int
	NoBias        bool
	Dtype         mlx.Dtype // of the parameters; the zero value means Float32
}

// NewLinear makes a linear layer. Weight and bias are drawn from U(-1/sqrt(Input), 1/sqrt(Input)), as in mlx.nn.
func NewLinear(c LinearConfig, key *mlx.Array) (*Linear, error) {
	d, err := floatDtype(c.Dtype)
	if err = errors.Join(positive("Input", c.Input), positive("Output", c.Output), err); err != nil {
		return nil, fmt.Errorf("nn.NewLinear: %w", err)
	}
	keys, err := splitKey(key, 2)
	if err != nil {
		return nil, fmt.Errorf("nn.NewLinear: %w", err)
	}
	defer free(keys)
	bound := 1 / math.Sqrt(float64(c.Input))
	draw := Uniform(-bound, bound)
	made := []*mlx.Array{draw([]int{c.Output, c.Input}, d, keys[0])}
	if !c.NoBias {
		made = append(made, draw([]int{c.Output}, d, keys[1]))
	}
	made, err = own(made...)
	if err != nil {
		return nil, fmt.Errorf("nn.NewLinear: %w", err)
	}
	l := &Linear{Weight: made[0]}
	if !c.NoBias {
		l.Bias = made[1]
	}
	return l, nil
}

// Forward maps x [..., Input] to [..., Output].
func (l *Linear) Forward(x *mlx.Array) *mlx.Array {
	if fault := checkInput("Linear", x, l.Weight.Dim(-1)); fault != nil {
		return fault
	}
	w := l.Weight.T()
	if l.Bias == nil {
		return x.MatMul(w)
	}
	return l.Bias.AddMM(x, w, 1, 1)
}
