package nn

import (
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// RunningMean is a weighted mean over the batches of a loop. It reads each value as it comes, so no
// graph grows over the loop, and adds in float64. The zero value is ready for use.
type RunningMean struct {
	sum, weight float64
}

// Add counts value, one number, with a weight: the number of elements that a mean loss is of.
// The arrays of also are evaluated with it; a recurrent state that is carried to the next
// batch belongs there. On an error nothing is added.
func (m *RunningMean) Add(value *mlx.Array, weight float64, also ...*mlx.Array) error {
	if !(weight >= 0) || math.IsInf(weight, 0) {
		return fmt.Errorf("nn.RunningMean.Add: the weight is %v; expected a finite number of at least 0", weight)
	}
	if err := mlx.Eval(append([]*mlx.Array{value}, also...)...); err != nil {
		return fmt.Errorf("nn.RunningMean.Add: %w", err)
	}
	v, err := number(value)
	if err != nil {
		return fmt.Errorf("nn.RunningMean.Add: %w", err)
	}
	if weight > 0 {
		m.sum += v * weight
		m.weight += weight
	}
	return nil
}

// number reads the one element of a floating point array.
func number(a *mlx.Array) (float64, error) {
	if a.Dtype() == mlx.Float64 {
		return mlx.Item[float64](a)
	}
	if !a.Dtype().IsFloat() {
		return 0, fmt.Errorf("the value is %v; expected a floating point type", a.Dtype())
	}
	wide := a.AsType(mlx.Float32)
	defer wide.Free()
	v, err := mlx.Item[float32](wide)
	return float64(v), err
}

// Value is the mean so far, 0 before the first value.
func (m *RunningMean) Value() float64 {
	if m.weight == 0 {
		return 0
	}
	return m.sum / m.weight
}

// Weight is the sum of the weights.
func (m *RunningMean) Weight() float64 { return m.weight }

// Reset starts anew.
func (m *RunningMean) Reset() { *m = RunningMean{} }
