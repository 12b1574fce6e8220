package nn

import (
	"errors"
	"fmt"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// LayerNorm is y = (x - mean) / sqrt(var + Eps) * weight + bias over the last axis (Ba et al. 2016,
// arXiv:1607.06450), as in mlx.nn.
type LayerNorm struct {
	Weight *mlx.Array // [Dim], ones at first; nil without scale
	Bias   *mlx.Array // [Dim], zeros at first; nil without shift
	Dim    int
	Eps    float64
}

// LayerNormConfig describes a [LayerNorm].
type LayerNormConfig struct {
	Dim      int
	Eps      float64 // 0 means 1e-5
	NoBias   bool    // no shift
	NoAffine bool    // neither scale nor shift
	Dtype    mlx.Dtype
}

// NewLayerNorm makes a layer normalisation.
func NewLayerNorm(c LayerNormConfig) (*LayerNorm, error) {
	d, err1 := floatDtype(c.Dtype)
	eps, err2 := smallNumber(c.Eps, 1e-5)
	if err := errors.Join(positive("Dim", c.Dim), err1, err2); err != nil {
		return nil, fmt.Errorf("nn.NewLayerNorm: %w", err)
	}
	n := &LayerNorm{Dim: c.Dim, Eps: eps}
	made, err := own(mlx.Ones([]int{c.Dim}, d), mlx.Zeros([]int{c.Dim}, d))
	if err != nil {
		return nil, fmt.Errorf("nn.NewLayerNorm: %w", err)
	}
	if !c.NoAffine {
		n.Weight = made[0]
	}
	if !c.NoAffine && !c.NoBias {
		n.Bias = made[1]
	}
	return n, nil
}

// Forward normalises x [..., Dim]; the result has the same shape.
func (n *LayerNorm) Forward(x *mlx.Array) *mlx.Array {
	if fault := checkInput("LayerNorm", x, n.Dim); fault != nil {
		return fault
	}
	return mlx.LayerNorm(x, n.Weight, n.Bias, n.Eps)
}

// RMSNorm is y = x / sqrt(mean(x²) + Eps) * weight over the last axis (Zhang and Sennrich 2019,
// arXiv:1910.07467), as in mlx.nn.
type RMSNorm struct {
	Weight *mlx.Array // [Dim], ones at first
	Eps    float64
}

// RMSNormConfig describes an [RMSNorm].
type RMSNormConfig struct {
	Dim   int
	Eps   float64 // 0 means 1e-5
	Dtype mlx.Dtype
}

// NewRMSNorm makes a root mean square normalisation.
func NewRMSNorm(c RMSNormConfig) (*RMSNorm, error) {
	d, err1 := floatDtype(c.Dtype)
	eps, err2 := smallNumber(c.Eps, 1e-5)
	if err := errors.Join(positive("Dim", c.Dim), err1, err2); err != nil {
		return nil, fmt.Errorf("nn.NewRMSNorm: %w", err)
	}
	made, err := own(mlx.Ones([]int{c.Dim}, d))
	if err != nil {
		return nil, fmt.Errorf("nn.NewRMSNorm: %w", err)
	}
	return &RMSNorm{Weight: made[0], Eps: eps}, nil
}

// Forward normalises x [..., Dim]; the result has the same shape.
func (n *RMSNorm) Forward(x *mlx.Array) *mlx.Array {
	if fault := checkInput("RMSNorm", x, n.Weight.Dim(0)); fault != nil {
		return fault
	}
	return mlx.RMSNorm(x, n.Weight, n.Eps)
}
