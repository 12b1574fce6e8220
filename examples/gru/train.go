package main

import (
	"context"
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
	"github.com/mpsrnn/mpsrnn/rnn"
)

// trainer is a training run at some step. Between steps it can be saved.
type trainer struct {
	settings settings
	corpus   *corpus
	model    *charModel
	opt      *optim.Optimizer
	lanes    lanes
	step     int       // steps done
	state    rnn.State // after the window before
	history  history
}

// history is what the picture shows: losses in nats a character.
type history struct {
	Train    []float64 // one for each step
	HeldOut  []float64
	HeldStep []int // the step after which each of HeldOut was measured
}

func newTrainer(s settings, c *corpus) (*trainer, error) {
	model, err := newCharModel(s, len(c.vocabulary))
	if err != nil {
		return nil, err
	}
	warm := max(s.Steps/20, 1)
	opt, err := optim.NewAdamW(optim.AdamWConfig{
		Schedule:       optim.WarmUp(s.Rate, warm, optim.CosineDecay(s.Rate, max(s.Steps-warm, 1), s.Rate/20)),
		Betas:          [2]float64{0.9, 0.99}, // short memory suits a short run
		WeightDecay:    s.WeightDecay,
		BiasCorrection: true,
	})
	if err != nil {
		return nil, err
	}
	t := &trainer{settings: s, corpus: c, model: model, opt: opt, state: model.RNN.ZeroState(s.Rows)}
	t.lanes = lanes{ids: c.train, rows: s.Rows, width: s.Window}
	if t.lanes.windows() == 0 {
		return nil, fmt.Errorf("the text has %d characters, too few for %d rows of %d: choose a smaller -rows or -window", len(c.train), s.Rows, s.Window)
	}
	return t, nil
}

// run trains until all steps are done or ctx ends. after is called after each step.
func (t *trainer) run(ctx context.Context, after func() error) error {
	for t.step < t.settings.Steps && ctx.Err() == nil {
		if err := t.oneStep(); err != nil {
			return fmt.Errorf("step %d: %w", t.step+1, err)
		}
		if t.step%t.settings.EvalEvery == 0 || t.step == t.settings.Steps {
			loss, err := t.heldOut(8 * t.settings.Rows * t.settings.Window)
			if err != nil {
				return err
			}
			t.history.HeldOut = append(t.history.HeldOut, loss)
			t.history.HeldStep = append(t.history.HeldStep, t.step)
		}
		if err := after(); err != nil {
			return err
		}
	}
	return nil
}

func (t *trainer) oneStep() error {
	scope := mlx.NewScope()
	defer scope.Close()
	at := t.step % t.lanes.windows()
	if at == 0 {
		t.state = t.model.RNN.ZeroState(t.settings.Rows) // the rows start again from their beginning
	}
	x, next := t.lanes.window(at)
	var opts []rnn.CallOption
	if t.settings.Dropout > 0 {
		opts = append(opts, rnn.Train(mlx.Key(t.settings.Seed+uint64(t.step))))
	}
	gradient := nn.ValueAndGradAux(t.model, func(x, next *mlx.Array) (*mlx.Array, []*mlx.Array) {
		scores, end := t.model.Forward(x, t.state, opts...)
		return nn.CrossEntropy(scores, next), end.Arrays()
	})
	loss, end, grads, err := gradient(scope.Own(x), scope.Own(next))
	if err != nil {
		return err
	}
	grads, _ = optim.ClipByGlobalNorm(grads, t.settings.Clip)
	if err := t.opt.Update(t.model, grads, append(end, loss)...); err != nil {
		return err
	}
	value, err := mlx.Item[float32](loss)
	if err != nil {
		return err
	}
	if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
		return fmt.Errorf("the loss is %v: try a lower -rate", value)
	}
	t.state = stateOf(end)
	t.history.Train = append(t.history.Train, float64(value))
	t.step++
	return nil
}

// stateOf makes the state that the next window starts from. It is a constant there, so gradients end at the window's edge.
func stateOf(arrays []*mlx.Array) rnn.State {
	s := rnn.State{H: mlx.Keep(arrays[0])}
	if len(arrays) > 1 {
		s.C = mlx.Keep(arrays[1])
	}
	return s
}

// heldOut is the mean loss over the first characters of the text that training never sees.
func (t *trainer) heldOut(characters int) (float64, error) {
	rows := t.settings.Rows
	l := lanes{ids: t.corpus.heldOut, rows: rows, width: t.settings.Window}
	for l.windows() == 0 && l.rows > 1 {
		l.rows /= 2
	}
	if l.windows() == 0 {
		l.width = len(l.ids) - 1
	}
	var mean nn.RunningMean
	state := t.model.RNN.ZeroState(l.rows)
	for i := 0; i < l.windows() && i*l.rows*l.width < characters; i++ {
		scope := mlx.NewScope()
		x, next := l.window(i)
		scores, end := t.model.Forward(scope.Own(x), state)
		err := mean.Add(nn.CrossEntropy(scores, scope.Own(next)), 1)
		state = stateOf(end.Arrays())
		scope.Close()
		if err != nil {
			return 0, fmt.Errorf("held-out text: %w", err)
		}
	}
	return mean.Value(), nil
}
