package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx/optim"
)

func TestSchedulesEqualMLX(t *testing.T) {
	v := readVectors(t).Schedules
	for name, s := range map[string]optim.Schedule{
		"exponential": optim.ExponentialDecay(0.1, 0.9),
		"step":        optim.StepDecay(0.1, 0.5, 7),
		"cosine":      optim.CosineDecay(0.1, 20, 0.02),
		"linear":      optim.Linear(0.3, 0.1, 15),
		"join": optim.Join([]optim.Schedule{optim.Linear(0, 0.1, 5), optim.CosineDecay(0.1, 12, 0), optim.ExponentialDecay(0.02, 0.5)},
			[]int{5, 20}),
	} {
		require.NoError(t, s.Err())
		for i, want := range v[name].Float {
			assert.InDelta(t, want, s.At(i), 1e-7, "%s at %d", name, i)
		}
	}
	warm := optim.WarmUp(0.1, 4, optim.Constant(0.1))
	for i, want := range []float64{0, 0.025, 0.05, 0.075, 0.1, 0.1, 0.1} {
		assert.InDelta(t, want, warm.At(i), 1e-12)
	}
	assert.Equal(t, 9.0, optim.Func(func(step int) float64 { return float64(step * step) }).At(3))
}

func TestScheduleFaults(t *testing.T) {
	for want, s := range map[string]optim.Schedule{
		"StepDecay: every is 0":          optim.StepDecay(0.1, 0.5, 0),
		"CosineDecay: end is NaN":        optim.CosineDecay(0.1, 5, math.NaN()),
		"Linear: steps is -1":            optim.Linear(0, 1, -1),
		"ExponentialDecay: rate is +Inf": optim.ExponentialDecay(1, math.Inf(1)),
		"Constant: rate is NaN":          optim.Constant(math.NaN()),
		"0 schedules and 0 boundaries":   optim.Join(nil, nil),
		"1 schedules and 1 boundaries":   optim.Join([]optim.Schedule{optim.Constant(1)}, []int{1}),
		"schedule 1 is empty":            optim.Join([]optim.Schedule{optim.Constant(1), {}}, []int{1}),
		"boundaries are [5 3]":           optim.Join([]optim.Schedule{optim.Constant(1), optim.Constant(1), optim.Constant(1)}, []int{5, 3}),
		"Join: Linear: steps is 0":       optim.WarmUp(1, 0, optim.Constant(1)),
		"Func: the function is nil":      optim.Func(nil),
	} {
		require.ErrorContains(t, s.Err(), want)
		assert.True(t, math.IsNaN(s.At(0)))
		_, err := optim.NewSGD(optim.SGDConfig{Schedule: s})
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, optim.Schedule{}.Err())
	assert.True(t, math.IsNaN(optim.Schedule{}.At(0)))
}
