package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
	"github.com/mpsrnn/mpsrnn/rnn"
)

// forecaster predicts how much a month differs from the same month a year before, from the differences of the
// months before it. The growth over a year has no season and no trend of the first order, so it is what is left to learn.
type forecaster struct {
	GRU *rnn.GRU
	Out *nn.Linear

	mean, deviation float64 // of the yearly differences in training
}

// features of a month: the scaled yearly difference, and the season as a point on a circle.
const features = 3

func newForecaster(hidden int, seed uint64) (*forecaster, error) {
	keys := mlx.NewKeys(seed)
	gru, err := rnn.NewGRU(rnn.GRUConfig{Input: features, Hidden: hidden}, keys.Next())
	if err != nil {
		return nil, err
	}
	out, err := nn.NewLinear(nn.LinearConfig{Input: hidden, Output: 1}, keys.Next())
	if err != nil {
		return nil, err
	}
	return &forecaster{GRU: gru, Out: out}, nil
}

// scaled are the yearly differences of all months that have one, with mean 0 and deviation 1 in training.
func (f *forecaster) scaled(values []float64) []float64 {
	out := make([]float64, 0, len(values)-period)
	for i := period; i < len(values); i++ {
		out = append(out, (values[i]-values[i-period]-f.mean)/f.deviation)
	}
	return out
}

func (f *forecaster) fitScale(values []float64) {
	f.mean, f.deviation = 0, 1
	diffs := f.scaled(values)
	for _, d := range diffs {
		f.mean += d / float64(len(diffs))
	}
	variance := 0.0
	for _, d := range diffs {
		variance += (d - f.mean) * (d - f.mean) / float64(len(diffs))
	}
	f.deviation = math.Sqrt(variance)
}

func featuresOf(diff float64, month int) []float32 {
	angle := 2 * math.Pi * float64(month%period) / period
	return []float32{float32(diff), float32(math.Sin(angle)), float32(math.Cos(angle))}
}

// forward gives the prediction [N, L, 1] of the month after each of x [N, L, features].
func (f *forecaster) forward(x *mlx.Array, s rnn.State) (*mlx.Array, rnn.State) {
	y, s := f.GRU.Forward(x, s)
	return f.Out.Forward(y), s
}

// train learns from windows of the series. after is told the loss of each step.
func (f *forecaster) train(values []float64, steps int, seed uint64, after func(step int, loss float64)) error {
	const rows, window = 16, 72
	f.fitScale(values)
	diffs := f.scaled(values)
	if len(diffs) <= window {
		return fmt.Errorf("train: %d months are too few; more than %d are needed", len(values), window+period)
	}
	opt, err := optim.NewAdamW(optim.AdamWConfig{Schedule: optim.CosineDecay(5e-3, steps, 1e-4), BiasCorrection: true})
	if err != nil {
		return err
	}
	gradient := nn.ValueAndGrad(f, func(x, next *mlx.Array) *mlx.Array {
		y, _ := f.forward(x, rnn.State{})
		return nn.Huber(y, next, 1)
	})
	random := rand.New(rand.NewPCG(seed, 0))
	for step := range steps {
		var x, next []float32
		for range rows {
			start := random.IntN(len(diffs) - window)
			for i := start; i < start+window; i++ {
				x = append(x, featuresOf(diffs[i], i)...)
				next = append(next, float32(diffs[i+1]))
			}
		}
		scope := mlx.NewScope()
		loss, grads, err := gradient(scope.Own(mlx.New(x, rows, window, features)), scope.Own(mlx.New(next, rows, window, 1)))
		if err == nil {
			grads, _ = optim.ClipByGlobalNorm(grads, 1)
			err = opt.Update(f, grads, loss)
		}
		var value float32
		if err == nil {
			value, err = mlx.Item[float32](loss)
		}
		scope.Close()
		if err != nil {
			return fmt.Errorf("train: step %d: %w", step+1, err)
		}
		after(step+1, float64(value))
	}
	return nil
}

// forecast goes on after the known values, month by month on its own predictions.
func (f *forecaster) forecast(known []float64, months int) ([]float64, error) {
	values := append([]float64(nil), known...)
	diffs := f.scaled(values)
	state := f.GRU.ZeroState(1)
	var y *mlx.Array
	step := func(i int, diff float64) {
		var h *mlx.Array
		h, state = f.GRU.Step(mlx.New(featuresOf(diff, i), 1, features), state)
		y = f.Out.Forward(h)
	}
	for i, d := range diffs {
		step(i, d)
	}
	for i := range months {
		diff, err := mlx.Item[float32](y)
		if err != nil {
			return nil, fmt.Errorf("forecast: %w", err)
		}
		values = append(values, values[len(values)-period]+float64(diff)*f.deviation+f.mean)
		step(len(diffs)+i, float64(diff))
	}
	return values[len(known):], nil
}
