package optim

import (
	"errors"
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// In the formulas w is the parameter, g its gradient, r the learning rate.

// SGDConfig describes stochastic gradient descent.
type SGDConfig struct {
	LearningRate float64
	Schedule     Schedule // instead of LearningRate
	Momentum     float64
	Dampening    float64
	WeightDecay  float64
	Nesterov     bool
}

// NewSGD makes the optimiser g += WeightDecay w; v = Momentum v + (1 - Dampening) g; w -= r v, and
// with Nesterov w -= r (g + Momentum v). Without momentum it is w -= r g. Where PyTorch sets v to g
// in the first step, v here begins at zero, so with Dampening the two differ.
func NewSGD(c SGDConfig) (*Optimizer, error) {
	faults := []error{
		notNegative("Momentum", c.Momentum), notNegative("WeightDecay", c.WeightDecay), finite("Dampening", c.Dampening),
	}
	if c.Nesterov && (c.Momentum <= 0 || c.Dampening != 0) {
		faults = append(faults, errors.New("field Nesterov needs Momentum above 0 and no Dampening"))
	}
	return newOptimizer("optim.NewSGD", "SGD", c.LearningRate, c.Schedule, sgd{c}, faults...)
}

type sgd struct{ c SGDConfig }

func (r sgd) Slots() []string {
	if r.c.Momentum == 0 {
		return nil
	}
	return []string{"v"}
}

func (r sgd) Apply(s Step, w, g *mlx.Array, slots []*mlx.Array) (*mlx.Array, []*mlx.Array) {
	if r.c.WeightDecay != 0 {
		g = g.Add(w.Mul(r.c.WeightDecay))
	}
	if r.c.Momentum == 0 {
		return w.Sub(g.Mul(s.Rate)), nil
	}
	v := slots[0].Mul(r.c.Momentum)
	if r.c.Dampening > 0 {
		v = v.Add(g.Mul(1 - r.c.Dampening))
	} else {
		v = v.Add(g)
	}
	update := v
	if r.c.Nesterov {
		update = g.Add(v.Mul(r.c.Momentum))
	}
	return w.Sub(update.Mul(s.Rate)), []*mlx.Array{v}
}

// AdamConfig describes Adam (Kingma and Ba 2015).
type AdamConfig struct {
	LearningRate   float64
	Schedule       Schedule   // instead of LearningRate
	Betas          [2]float64 // {0, 0} means {0.9, 0.999}
	Eps            float64    // 0 means 1e-8
	BiasCorrection bool       // as in the paper and PyTorch; mlx.optimizers leaves it off by default, and so does this
}

// NewAdam makes the optimiser m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; w -= r m / (sqrt(v) + Eps).
// BiasCorrection divides m by 1 - b1^t and v by 1 - b2^t before, t being 1 in the first step.
func NewAdam(c AdamConfig) (*Optimizer, error) {
	rule, err := newAdam(c.Betas, c.Eps, 0, c.BiasCorrection)
	return newOptimizer("optim.NewAdam", "Adam", c.LearningRate, c.Schedule, rule, err)
}

// AdamWConfig describes AdamW (Loshchilov and Hutter 2019).
type AdamWConfig struct {
	LearningRate   float64
	Schedule       Schedule   // instead of LearningRate
	Betas          [2]float64 // {0, 0} means {0.9, 0.999}
	Eps            float64    // 0 means 1e-8
	WeightDecay    float64    // 0 means 0.01; Adam is the optimiser without
	BiasCorrection bool       // as in [AdamConfig]
}

// NewAdamW makes Adam with the weights decayed apart from the gradient: w *= 1 - r WeightDecay before each step.
func NewAdamW(c AdamWConfig) (*Optimizer, error) {
	if c.WeightDecay == 0 {
		c.WeightDecay = 0.01
	}
	rule, err := newAdam(c.Betas, c.Eps, c.WeightDecay, c.BiasCorrection)
	return newOptimizer("optim.NewAdamW", "AdamW", c.LearningRate, c.Schedule, rule, err, notNegative("WeightDecay", c.WeightDecay))
}

type adam struct {
	b1, b2, eps, decay float64
	correct            bool
}

func newAdam(betas [2]float64, eps, decay float64, correct bool) (adam, error) {
	b1, b2, err1 := checkBetas(betas, 0.9, 0.999)
	eps, err2 := checkEps(eps)
	return adam{b1, b2, eps, decay, correct}, errors.Join(err1, err2)
}

func (adam) Slots() []string { return []string{"m", "v"} }

func (r adam) Apply(s Step, w, g *mlx.Array, slots []*mlx.Array) (*mlx.Array, []*mlx.Array) {
	if r.decay != 0 {
		w = w.Mul(1 - s.Rate*r.decay)
	}
	m := slots[0].Mul(r.b1).Add(g.Mul(1 - r.b1))
	v := slots[1].Mul(r.b2).Add(g.Square().Mul(1 - r.b2))
	rate, root := s.Rate, v.Sqrt()
	if r.correct {
		t := float64(s.Count)
		rate /= 1 - math.Pow(r.b1, t)
		root = root.Mul(1 / math.Sqrt(1-math.Pow(r.b2, t)))
	}
	return w.Sub(m.Mul(rate).Div(root.Add(r.eps))), []*mlx.Array{m, v}
}

// RMSpropConfig describes RMSprop (Tieleman and Hinton 2012).
type RMSpropConfig struct {
	LearningRate float64
	Schedule     Schedule // instead of LearningRate
	Alpha        float64  // 0 means 0.99
	Eps          float64  // 0 means 1e-8
}

// NewRMSprop makes the optimiser v = Alpha v + (1 - Alpha) g²; w -= r g / (sqrt(v) + Eps).
func NewRMSprop(c RMSpropConfig) (*Optimizer, error) {
	if c.Alpha == 0 {
		c.Alpha = 0.99
	}
	eps, err := checkEps(c.Eps)
	return newOptimizer("optim.NewRMSprop", "RMSprop", c.LearningRate, c.Schedule, rmsprop{c.Alpha, eps}, err, fraction("Alpha", c.Alpha))
}

type rmsprop struct{ alpha, eps float64 }

func (rmsprop) Slots() []string { return []string{"v"} }

func (r rmsprop) Apply(s Step, w, g *mlx.Array, slots []*mlx.Array) (*mlx.Array, []*mlx.Array) {
	v := slots[0].Mul(r.alpha).Add(g.Square().Mul(1 - r.alpha))
	return w.Sub(g.Mul(s.Rate).Div(v.Sqrt().Add(r.eps))), []*mlx.Array{v}
}

// AdagradConfig describes Adagrad (Duchi et al. 2011).
type AdagradConfig struct {
	LearningRate float64
	Schedule     Schedule // instead of LearningRate
	Eps          float64  // 0 means 1e-8
}

// NewAdagrad makes the optimiser v += g²; w -= r g / (sqrt(v) + Eps).
func NewAdagrad(c AdagradConfig) (*Optimizer, error) {
	eps, err := checkEps(c.Eps)
	return newOptimizer("optim.NewAdagrad", "Adagrad", c.LearningRate, c.Schedule, adagrad{eps}, err)
}

type adagrad struct{ eps float64 }

func (adagrad) Slots() []string { return []string{"v"} }

func (r adagrad) Apply(s Step, w, g *mlx.Array, slots []*mlx.Array) (*mlx.Array, []*mlx.Array) {
	v := slots[0].Add(g.Square())
	return w.Sub(g.Mul(s.Rate).Div(v.Sqrt().Add(r.eps))), []*mlx.Array{v}
}

// LionConfig describes Lion (Chen et al. 2023, arXiv:2302.06675).
type LionConfig struct {
	LearningRate float64
	Schedule     Schedule   // instead of LearningRate
	Betas        [2]float64 // {0, 0} means {0.9, 0.99}
	WeightDecay  float64
}

// NewLion makes the optimiser c = b1 m + (1 - b1) g; m = b2 m + (1 - b2) g; w -= r (sign(c) + WeightDecay w).
func NewLion(c LionConfig) (*Optimizer, error) {
	b1, b2, err := checkBetas(c.Betas, 0.9, 0.99)
	return newOptimizer("optim.NewLion", "Lion", c.LearningRate, c.Schedule, lion{b1, b2, c.WeightDecay},
		err, notNegative("WeightDecay", c.WeightDecay))
}

type lion struct{ b1, b2, decay float64 }

func (lion) Slots() []string { return []string{"m"} }

func (r lion) Apply(s Step, w, g *mlx.Array, slots []*mlx.Array) (*mlx.Array, []*mlx.Array) {
	c := slots[0].Mul(r.b1).Add(g.Mul(1 - r.b1))
	m := slots[0].Mul(r.b2).Add(g.Mul(1 - r.b2))
	if r.decay > 0 {
		w = w.Mul(1 - s.Rate*r.decay)
	}
	return w.Sub(c.Sign().Mul(s.Rate)), []*mlx.Array{m}
}

func checkBetas(betas [2]float64, b1, b2 float64) (float64, float64, error) {
	if betas != [2]float64{} {
		b1, b2 = betas[0], betas[1]
	}
	return b1, b2, errors.Join(fraction("Betas[0]", b1), fraction("Betas[1]", b2))
}

func checkEps(eps float64) (float64, error) {
	if eps == 0 {
		return 1e-8, nil
	}
	if !(eps > 0) || math.IsInf(eps, 0) {
		return eps, fmt.Errorf("field Eps is %v; expected a positive number, or 0 for 1e-8", eps)
	}
	return eps, nil
}

func fraction(name string, v float64) error {
	if !(v >= 0 && v < 1) {
		return fmt.Errorf("%s is %v; expected a number from 0 to below 1", name, v)
	}
	return nil
}

func notNegative(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s is %v; expected a finite number of at least 0", name, v)
	}
	return nil
}
