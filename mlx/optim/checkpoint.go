package optim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// Checkpoint is all that a training run needs to go on as if it had never stopped.
type Checkpoint struct {
	Model     any                   // a module; nil for none
	Optimizer *Optimizer            // nil for none
	Arrays    map[string]*mlx.Array // what else there is: a carried state, a random key
	Meta      map[string]string     // small facts: the position in the data, the configuration
}

// The beginnings of the names in a checkpoint file.
const (
	modelPrefix     = "model."
	optimizerPrefix = "optimizer."
	extraPrefix     = "extra."
	reservedMeta    = "mpsrnn."
)

// SaveCheckpoint writes one safetensors file, replaced as a whole: parameters are named "model.out.weight",
// the optimiser's state "optimizer.step", "optimizer.out.weight.m", arrays "extra.name".
// nn.Load(path, model, nn.Prefix("model.")) reads the model alone.
func SaveCheckpoint(path string, c Checkpoint) error {
	fail := func(err error) error { return fmt.Errorf("optim.SaveCheckpoint %s: %w", path, err) }
	arrays := make(map[string]*mlx.Array)
	meta := make(map[string]string, len(c.Meta)+1)
	for k, v := range c.Meta {
		if strings.HasPrefix(k, reservedMeta) {
			return fail(fmt.Errorf("the key %q of Meta is reserved", k))
		}
		meta[k] = v
	}
	if c.Model != nil {
		params, err := nn.Parameters(c.Model)
		if err != nil {
			return fail(err)
		}
		if len(params) == 0 {
			return fail(fmt.Errorf("%T has no parameters (are its fields exported?)", c.Model))
		}
		for _, p := range params {
			arrays[modelPrefix+p.Name] = p.Array
		}
	}
	if c.Optimizer != nil {
		state := c.Optimizer.State()
		defer freeMap(state)
		for name, a := range state {
			arrays[optimizerPrefix+name] = a
		}
		meta[ruleMetaKey] = c.Optimizer.name
	}
	for name, a := range c.Arrays {
		arrays[extraPrefix+name] = a
	}
	if len(arrays) == 0 {
		return fail(errors.New("there is nothing to save"))
	}
	if err := mlx.SaveSafetensors(path, arrays, meta); err != nil {
		return fail(err)
	}
	return nil
}

// LoadCheckpoint reads a file of [SaveCheckpoint] into c.Model and c.Optimizer, which must be of the
// same make as those saved, and sets c.Arrays and c.Meta. A nil Model or Optimizer is passed over. The arrays
// are the caller's. On any error the model, the optimiser and c are as before.
func LoadCheckpoint(path string, c *Checkpoint) error {
	fail := func(err error) error { return fmt.Errorf("optim.LoadCheckpoint %s: %w", path, err) }
	all, meta, err := mlx.LoadSafetensors(path)
	if err != nil {
		return fail(err)
	}
	extra := make(map[string]*mlx.Array)
	taken := false
	defer func() {
		for name, a := range all {
			if !taken || !strings.HasPrefix(name, extraPrefix) {
				a.Free()
			}
		}
	}()
	state := make(map[string]*mlx.Array)
	for name, a := range all {
		if rest, ok := strings.CutPrefix(name, optimizerPrefix); ok {
			state[rest] = a
		} else if rest, ok := strings.CutPrefix(name, extraPrefix); ok {
			extra[rest] = a
		} else if !strings.HasPrefix(name, modelPrefix) {
			return fail(fmt.Errorf("%q is no name of a checkpoint", name))
		}
	}
	if err := mlx.Eval(slices.Collect(maps.Values(extra))...); err != nil {
		return fail(err)
	}
	var next *staged
	if c.Optimizer != nil {
		if next, err = c.Optimizer.stageFor(c.Model, state, meta); err != nil {
			return fail(err)
		}
	}
	if c.Model != nil {
		if err := nn.LoadMap(all, c.Model, nn.Prefix(modelPrefix)); err != nil {
			if next != nil {
				next.free()
			}
			return fail(err)
		}
	}
	if next != nil {
		c.Optimizer.commit(next)
	}
	maps.DeleteFunc(meta, func(k, _ string) bool { return strings.HasPrefix(k, reservedMeta) })
	c.Arrays, c.Meta, taken = extra, meta, true
	return nil
}

// stageFor is stage with a look at the model that the state belongs to.
func (o *Optimizer) stageFor(model any, state map[string]*mlx.Array, meta map[string]string) (*staged, error) {
	if err := o.checkMeta(meta); err != nil {
		return nil, err
	}
	next, err := o.stage(state)
	if err != nil || model == nil {
		return next, err
	}
	params, err := nn.Parameters(model)
	if err != nil {
		next.free()
		return nil, err
	}
	shapes := make(map[string][]int, len(params))
	for _, p := range params {
		shapes[p.Name] = p.Array.Shape()
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(next.slots)) {
		want, known := shapes[name]
		if !known {
			faults = append(faults, fmt.Sprintf("the optimiser has a state for %q, which the model has not", name))
			continue
		}
		for _, s := range next.slots[name] {
			if given := s.Shape(); !slices.Equal(given, want) {
				faults = append(faults, fmt.Sprintf("the optimiser's state for %q has shape %v; expected %v", name, given, want))
				break
			}
		}
	}
	if faults != nil {
		next.free()
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return next, nil
}

func (s *staged) free() {
	for _, slots := range s.slots {
		free(slots)
	}
}
