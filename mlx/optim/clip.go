package optim

import (
	"fmt"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// ClipByGlobalNorm scales gradients so that the square root of the sum of all their squares is at most
// limit, and gives that norm before the scaling, one number, not evaluated. The factor is
// limit / (norm + 1e-6), at most 1, as in mlx.optimizers and PyTorch. A norm that is NaN or
// infinite makes all gradients NaN. Half precision squares are summed in float32.
func ClipByGlobalNorm(grads nn.Grads, limit float64) (nn.Grads, *mlx.Array) {
	clipped := make(nn.Grads, len(grads))
	if !(limit >= 0) {
		fault := mlx.ErrorArray("ClipByGlobalNorm", fmt.Errorf("the limit is %v; expected a number of at least 0", limit))
		for i, g := range grads {
			clipped[i] = nn.Param{Name: g.Name, Array: fault}
		}
		return clipped, fault
	}
	total := mlx.Scalar(float32(0))
	// What is computed on the way is as large as the gradients; to free it here keeps the memory low.
	for _, g := range grads {
		wide := g.Array.AsType(stateDtype(g.Array.Dtype()))
		square := wide.Square()
		part := square.Sum()
		sum := total.Add(part)
		free([]*mlx.Array{wide, square, part, total})
		total = sum
	}
	norm := total.Sqrt()
	factor := mlx.Div(limit, norm.Add(1e-6)).Minimum(1)
	for i, g := range grads {
		scaled := g.Array.Mul(factor)
		clipped[i] = nn.Param{Name: g.Name, Array: scaled.AsType(g.Array.Dtype())}
		scaled.Free()
	}
	free([]*mlx.Array{total, factor})
	return clipped, norm
}
