package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// Step is what a [Rule] may go by besides the parameter itself.
type Step struct {
	Name  string  // of the parameter
	Count int     // of updates, this one included: 1 for the first
	Rate  float64 // the learning rate
}

// Rule is the formula of an optimiser for one parameter.
type Rule interface {
	// Slots names the arrays, of the parameter's shape and zero at first, that are kept for each parameter.
	Slots() []string
	// Apply gives the new value of a parameter and of its slots. It only builds the graph.
	Apply(s Step, weight, grad *mlx.Array, slots []*mlx.Array) (*mlx.Array, []*mlx.Array)
}

// Optimizer updates the parameters of a module. [NewSGD], [NewAdam] and the like make one.
// Its methods may be called from several goroutines.
type Optimizer struct {
	mu       sync.Mutex
	name     string
	rule     Rule
	rate     float64 // when there is no schedule
	schedule Schedule
	steps    int
	slots    map[string][]*mlx.Array // by parameter
	made     map[string]*mlx.Array   // the parameters that the last update put into the module
}

// New makes an optimiser of a rule of one's own. name stands in error messages and in the files
// of its state. Either rate or schedule is given, the other is zero.
func New(name string, rate float64, schedule Schedule, rule Rule) (*Optimizer, error) {
	if rule == nil {
		return nil, fmt.Errorf("optim.New %s: the rule is nil", name)
	}
	return newOptimizer("optim.New "+name, name, rate, schedule, rule)
}

// newOptimizer reports the faults of the configuration together.
func newOptimizer(op, name string, rate float64, schedule Schedule, rule Rule, faults ...error) (*Optimizer, error) {
	switch {
	case schedule.err != nil:
		faults = append(faults, schedule.err)
	case schedule.isZero() && rate == 0:
		faults = append(faults, errors.New("neither LearningRate nor Schedule is given"))
	case !schedule.isZero() && rate != 0:
		faults = append(faults, errors.New("both LearningRate and Schedule are given"))
	case schedule.isZero():
		faults = append(faults, checkRate(rate))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("%s: %s", op, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return &Optimizer{name: name, rule: rule, rate: rate, schedule: schedule, slots: map[string][]*mlx.Array{}, made: map[string]*mlx.Array{}}, nil
}

func checkRate(rate float64) error {
	if !(rate >= 0) || rate > math.MaxFloat32 {
		return fmt.Errorf("the learning rate is %v; expected a finite number of at least 0", rate)
	}
	return nil
}

// Steps is the number of updates made, those before a saved state was loaded included.
func (o *Optimizer) Steps() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.steps
}

// LearningRate is the rate of the next update.
func (o *Optimizer) LearningRate() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.nextRate()
}

// nextRate is rounded to float32, as a saved state holds it, so that a resumed run is the same as an unbroken one.
func (o *Optimizer) nextRate() float64 {
	if o.schedule.isZero() {
		return float64(float32(o.rate))
	}
	return float64(float32(o.schedule.At(o.steps)))
}

// SetLearningRate changes the rate from the next update on. It is an error when a schedule gives the rate.
func (o *Optimizer) SetLearningRate(rate float64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.schedule.isZero() {
		return fmt.Errorf("%s.SetLearningRate: the rate follows a schedule", o.name)
	}
	if err := checkRate(rate); err != nil {
		return fmt.Errorf("%s.SetLearningRate: %w", o.name, err)
	}
	o.rate = rate
	return nil
}

// Update makes one step: it gives the parameters of module that grads names their new values. The new
// parameters, the optimiser's state and the arrays of also (the loss, the state that a recurrent
// model carries on) are evaluated together, so no graph grows from step to step, and none of the new
// ones belongs to a scope. Gradients that are NaN pass through as numbers. On an error nothing is changed.
//
// A parameter that an update made is freed by the next one that replaces it, since a model's worth of
// memory for each step is too much to leave to the collector. nn.Snapshot gives parameters that stay.
func (o *Optimizer) Update(module any, grads nn.Grads, also ...*mlx.Array) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	fail := func(err error) error { return fmt.Errorf("%s.Update: %w", o.name, err) }
	rate := o.nextRate()
	if err := checkRate(rate); err != nil {
		return fail(fmt.Errorf("step %d: %w", o.steps, err))
	}
	params, err := nn.Parameters(module)
	if err != nil {
		return fail(err)
	}
	weights, err := o.match(params, grads)
	if err != nil {
		return fail(err)
	}

	scope := mlx.NewScope()
	defer scope.Close()
	next := make([]nn.Param, len(grads))
	states := make([][]*mlx.Array, len(grads))
	pending := slices.Clone(also)
	seen := make(map[string]bool, len(grads))
	for i, g := range grads {
		seen[g.Name] = true
		w := scope.Own(weights[i])
		value, slots := o.apply(scope, Step{Name: g.Name, Count: o.steps + 1, Rate: rate}, w, scope.Own(g.Array))
		next[i] = nn.Param{Name: g.Name, Array: value}
		for j := range slots {
			slots[j] = mlx.Keep(slots[j])
		}
		states[i] = slots
		pending = append(append(pending, value), slots...)
	}
	if err = mlx.Eval(pending...); err == nil {
		err = nn.Update(module, next)
	}
	if err != nil {
		for _, s := range states {
			free(s)
		}
		return fail(err)
	}
	for i, g := range grads {
		free(o.slots[g.Name])
		o.slots[g.Name] = states[i]
		if weights[i] == o.made[g.Name] {
			weights[i].Free()
		}
	}
	if params, err = nn.Parameters(module); err != nil {
		return fail(err)
	}
	for _, p := range params {
		if seen[p.Name] {
			o.made[p.Name] = p.Array
		}
	}
	o.steps++
	return nil
}

// match finds the parameter of each gradient. All that does not fit is reported together.
func (o *Optimizer) match(params []nn.Param, grads nn.Grads) ([]*mlx.Array, error) {
	if len(grads) == 0 {
		return nil, errors.New("no gradients are given")
	}
	byName := make(map[string]*mlx.Array, len(params))
	for _, p := range params {
		byName[p.Name] = p.Array
	}
	weights := make([]*mlx.Array, len(grads))
	seen := make(map[string]bool, len(grads))
	var faults []string
	for i, g := range grads {
		w := byName[g.Name]
		weights[i] = w
		if fault := o.misfit(g, w, seen[g.Name]); fault != "" {
			faults = append(faults, fmt.Sprintf("%q: %s", g.Name, fault))
		}
		seen[g.Name] = true
	}
	if faults != nil {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return weights, nil
}

func (o *Optimizer) misfit(g nn.Param, w *mlx.Array, repeated bool) string {
	switch {
	case w == nil:
		return "a gradient of no parameter of the module"
	case repeated:
		return "two gradients"
	}
	if err := errors.Join(w.Err(), g.Array.Err()); err != nil {
		return err.Error()
	}
	if !g.Array.Dtype().IsFloat() || !w.Dtype().IsFloat() {
		return fmt.Sprintf("a gradient of dtype %v for a parameter of %v; expected floating point types", g.Array.Dtype(), w.Dtype())
	}
	if given, want := g.Array.Shape(), w.Shape(); !slices.Equal(given, want) {
		return fmt.Sprintf("the gradient has shape %v; expected %v", given, want)
	}
	for j, s := range o.slots[g.Name] {
		if given, want := s.Shape(), w.Shape(); !slices.Equal(given, want) {
			return fmt.Sprintf("the optimiser's %s has shape %v, the parameter %v", o.rule.Slots()[j], given, want)
		}
	}
	return ""
}

// apply runs the rule in the dtype that updates are computed in.
func (o *Optimizer) apply(scope *mlx.Scope, s Step, w, g *mlx.Array) (*mlx.Array, []*mlx.Array) {
	d := w.Dtype()
	exact := stateDtype(d)
	names := o.rule.Slots()
	slots := make([]*mlx.Array, len(names))
	for i := range slots {
		if kept := o.slots[s.Name]; kept != nil {
			slots[i] = scope.Own(kept[i]).AsType(exact)
		} else {
			slots[i] = scope.Own(mlx.Zeros(w.Shape(), exact))
		}
	}
	value, next := o.rule.Apply(s, w.AsType(exact), g.AsType(exact), slots)
	if len(next) != len(names) {
		fault := mlx.ErrorArray(o.name, fmt.Errorf("the rule gives %d slots; expected %d (%v)", len(next), len(names), names))
		return fault, nil
	}
	return value.AsType(d), slices.Clone(next)
}

func stateDtype(d mlx.Dtype) mlx.Dtype {
	if d == mlx.Float64 {
		return d
	}
	return mlx.Float32
}

func free(arrays []*mlx.Array) {
	for _, a := range arrays {
		a.Free()
	}
}
