package optim

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mpsrnn/mpsrnn/mlx"
)

const (
	stepName    = "step"
	rateName    = "learning_rate"
	ruleMetaKey = "mpsrnn.optimizer"
)

// State is all that the optimiser needs to go on: "step" (uint64), "learning_rate" (float32, the
// rate of the next update) and the slots of each parameter, "out.weight.m". The names are those of the
// state of mlx.optimizers, flattened with dots. The arrays are the caller's.
func (o *Optimizer) State() map[string]*mlx.Array {
	o.mu.Lock()
	defer o.mu.Unlock()
	state := map[string]*mlx.Array{
		stepName: mlx.Scalar(uint64(o.steps)),
		rateName: mlx.Scalar(float32(o.nextRate())),
	}
	names := o.rule.Slots()
	for param, slots := range o.slots {
		for i, s := range slots {
			state[param+"."+names[i]] = mlx.Keep(s)
		}
	}
	return state
}

// SetState takes over a state. A learning rate that follows a schedule goes by the step and not by
// the rate of the state. All that does not fit is reported together, and then nothing is changed.
func (o *Optimizer) SetState(state map[string]*mlx.Array) error {
	staged, err := o.stage(state)
	if err != nil {
		return fmt.Errorf("%s.SetState: %w", o.name, err)
	}
	o.commit(staged)
	return nil
}

// staged is a state that was checked and waits to be taken over.
type staged struct {
	steps int
	rate  *float32
	slots map[string][]*mlx.Array
}

func (o *Optimizer) stage(state map[string]*mlx.Array) (*staged, error) {
	s := &staged{slots: map[string][]*mlx.Array{}}
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if err := s.readStep(state); err != nil {
		fault("%v", err)
	}
	if a := state[rateName]; a != nil {
		if v, err := mlx.Item[float32](a); err != nil {
			fault("%s: %v", rateName, err)
		} else if err := checkRate(float64(v)); err != nil {
			fault("%v", err)
		} else {
			s.rate = &v
		}
	}
	slotNames := o.rule.Slots()
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if name == stepName || name == rateName {
			continue
		}
		dot := strings.LastIndexByte(name, '.')
		i := slices.Index(slotNames, name[dot+1:])
		a := state[name]
		switch {
		case dot <= 0 || i < 0:
			fault("%q is no part of the state of %s, which keeps %v for each parameter", name, o.name, slotNames)
			continue
		case a.Err() != nil:
			fault("%q: %v", name, a.Err())
			continue
		case !a.Dtype().IsFloat():
			fault("%q is %v; expected a floating point type", name, a.Dtype())
			continue
		}
		param := name[:dot]
		if s.slots[param] == nil {
			s.slots[param] = make([]*mlx.Array, len(slotNames))
		}
		s.slots[param][i] = mlx.Keep(a)
	}
	var all []*mlx.Array
	for _, param := range slices.Sorted(maps.Keys(s.slots)) {
		slots := s.slots[param]
		for i, a := range slots {
			if a == nil {
				fault("%q has no %s", param, slotNames[i])
			} else if slots[0] != nil && !slices.Equal(a.Shape(), slots[0].Shape()) {
				fault("%q has slots of shapes %v and %v", param, slots[0].Shape(), a.Shape())
			}
			if a != nil {
				all = append(all, a)
			}
		}
	}
	if faults == nil {
		if err := mlx.Eval(all...); err != nil {
			fault("%v", err)
		}
	}
	if faults != nil {
		free(all)
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return s, nil
}

func (s *staged) readStep(state map[string]*mlx.Array) error {
	a := state[stepName]
	if a == nil {
		return fmt.Errorf("%q is missing", stepName)
	}
	step, err := mlx.Item[uint64](a)
	if err != nil {
		return fmt.Errorf("%q: %w", stepName, err)
	}
	if step > math.MaxInt {
		return fmt.Errorf("%q is %d, too large", stepName, step)
	}
	s.steps = int(step)
	return nil
}

// commit takes a staged state over. It cannot fail.
func (o *Optimizer) commit(s *staged) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, slots := range o.slots {
		free(slots)
	}
	o.steps, o.slots = s.steps, s.slots
	// A rate that only lost digits to float32 stays as it was configured.
	if s.rate != nil && float32(o.rate) != *s.rate {
		o.rate = float64(*s.rate)
	}
}

// SaveState writes the optimiser's state to a safetensors file, replaced as a whole.
func SaveState(path string, o *Optimizer) error {
	state := o.State()
	defer freeMap(state)
	if err := mlx.SaveSafetensors(path, state, map[string]string{ruleMetaKey: o.name}); err != nil {
		return fmt.Errorf("optim.SaveState %s: %w", path, err)
	}
	return nil
}

// LoadState reads a state that [SaveState] wrote, or mx.save_safetensors of an optimiser of
// mlx.optimizers. A state of another optimiser is an error; on any error nothing is changed.
func LoadState(path string, o *Optimizer) error {
	state, meta, err := mlx.LoadSafetensors(path)
	if err != nil {
		return fmt.Errorf("optim.LoadState %s: %w", path, err)
	}
	defer freeMap(state)
	if err := o.checkMeta(meta); err != nil {
		return fmt.Errorf("optim.LoadState %s: %w", path, err)
	}
	if err := o.SetState(state); err != nil {
		return fmt.Errorf("optim.LoadState %s: %w", path, err)
	}
	return nil
}

func (o *Optimizer) checkMeta(meta map[string]string) error {
	if name, ok := meta[ruleMetaKey]; ok && name != o.name {
		return fmt.Errorf("the file has the state of %s; the optimiser is %s", name, o.name)
	}
	return nil
}

func freeMap(m map[string]*mlx.Array) {
	for _, a := range m {
		a.Free()
	}
}
