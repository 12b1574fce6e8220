package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Save writes the parameters of a module to a safetensors file under mlx.nn's names. The file is
// replaced as a whole: whoever reads it finds the old or the new one. A tied parameter is written once.
func Save(path string, module any) error {
	list, err := Parameters(module)
	if err != nil {
		return fmt.Errorf("nn.Save %s: %w", path, err)
	}
	if len(list) == 0 {
		return fmt.Errorf("nn.Save %s: %T has no parameters (are its fields exported?)", path, module)
	}
	arrays := make(map[string]*mlx.Array, len(list))
	for _, p := range list {
		arrays[p.Name] = p.Array
	}
	if err := mlx.SaveSafetensors(path, arrays, map[string]string{"format": "mlx"}); err != nil {
		return fmt.Errorf("nn.Save %s: %w", path, err)
	}
	return nil
}

// LoadOption changes what [Load] and [LoadMap] demand.
type LoadOption func(*loading)

type loading struct {
	allowMissing, allowExtra bool
	prefix                   string
}

// AllowMissing leaves parameters that the file does not have as they are. A file that has none is still an error.
func AllowMissing() LoadOption { return func(l *loading) { l.allowMissing = true } }

// AllowExtra passes over arrays that the module has no parameter for.
func AllowExtra() LoadOption { return func(l *loading) { l.allowExtra = true } }

// Prefix looks only at the names that begin with prefix, and takes it off them. Prefix("model.")
// reads the model from a checkpoint of package optim.
func Prefix(prefix string) LoadOption { return func(l *loading) { l.prefix = prefix } }

// Load reads the parameters of a module from a safetensors file. The file must have exactly the
// module's parameters, of the same shapes; what is missing, unknown or of another shape is reported
// together, and then nothing is changed. A floating point array is converted to the dtype that the
// parameter has; any other difference of dtypes is a fault. A tied parameter may stand in the file under
// one of its names, or under several with equal values.
func Load(path string, module any, opts ...LoadOption) error {
	arrays, _, err := mlx.LoadSafetensors(path)
	if err != nil {
		return fmt.Errorf("nn.Load %s: %w", path, err)
	}
	defer func() {
		for _, a := range arrays {
			a.Free()
		}
	}()
	if err := load(arrays, module, opts); err != nil {
		return fmt.Errorf("nn.Load %s: %w", path, err)
	}
	return nil
}

// LoadMap is [Load] for arrays that are in memory.
func LoadMap(arrays map[string]*mlx.Array, module any, opts ...LoadOption) error {
	if err := load(arrays, module, opts); err != nil {
		return fmt.Errorf("nn.LoadMap: %w", err)
	}
	return nil
}

func load(arrays map[string]*mlx.Array, module any, opts []LoadOption) (err error) {
	var l loading
	for _, o := range opts {
		o(&l)
	}
	found, err := collect(module)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%T has no parameters (are its fields exported?)", module)
	}
	rest := make(map[string]*mlx.Array, len(arrays))
	for name, a := range arrays {
		if name, ok := strings.CutPrefix(name, l.prefix); ok {
			rest[name] = a
		}
	}
	var faults faultLists
	values := make([]*mlx.Array, len(found))
	defer func() {
		if err != nil {
			free(values)
		}
	}()
	for i, p := range found {
		a, ok, err := p.pick(rest)
		switch {
		case err != nil:
			return err
		case ok:
			values[i] = p.convert(a, &faults)
		case !l.allowMissing:
			faults.missing = append(faults.missing, p.name)
		}
	}
	if !l.allowExtra {
		for name := range rest {
			faults.extra = append(faults.extra, name)
		}
	}
	if err := faults.err(l.prefix); err != nil {
		return err
	}
	present := slices.DeleteFunc(slices.Clone(values), func(a *mlx.Array) bool { return a == nil })
	if len(present) == 0 {
		return fmt.Errorf("none of the %d arrays is a parameter of the module (prefix %q)", len(arrays), l.prefix)
	}
	if err := mlx.Eval(present...); err != nil {
		return err
	}
	for i, p := range found {
		if values[i] != nil {
			p.set(values[i])
		}
	}
	return nil
}

// pick takes the parameter's value out of arrays.
func (p *parameter) pick(arrays map[string]*mlx.Array) (value *mlx.Array, found bool, err error) {
	var from string
	for _, name := range append([]string{p.name}, p.others...) {
		a, ok := arrays[name]
		if !ok {
			continue
		}
		delete(arrays, name)
		if !found {
			value, from, found = a, name, true
			continue
		}
		equal, err := sameValues(value, a)
		if err != nil {
			return nil, false, err
		}
		if !equal {
			return nil, false, fmt.Errorf("%q and %q are one parameter of the module, but have different values", from, name)
		}
	}
	return value, found, nil
}

// sameValues counts two NaN as equal.
func sameValues(a, b *mlx.Array) (bool, error) {
	if !slices.Equal(a.Shape(), b.Shape()) || a.Dtype() != b.Dtype() {
		return false, nil
	}
	s := mlx.NewScope()
	defer s.Close()
	a, b = s.Own(a), s.Own(b)
	equal := a.Equal(b)
	if a.Dtype().IsFloat() {
		equal = equal.LogicalOr(a.IsNaN().LogicalAnd(b.IsNaN()))
	}
	return mlx.Item[bool](equal.All())
}

// convert gives the value in the parameter's dtype, in no scope, or records why it cannot be used.
func (p *parameter) convert(a *mlx.Array, faults *faultLists) *mlx.Array {
	if err := a.Err(); err != nil {
		faults.wrong = append(faults.wrong, fmt.Sprintf("%s: %v", p.name, err))
		return nil
	}
	have, want := a.Dtype(), p.array.Dtype()
	if given, expected := a.Shape(), p.array.Shape(); !slices.Equal(given, expected) {
		faults.wrong = append(faults.wrong, fmt.Sprintf("%s has shape %v, expected %v", p.name, given, expected))
		return nil
	}
	switch {
	case have == want:
		return mlx.Keep(a)
	case have.IsFloat() && want.IsFloat():
		converted := a.AsType(want)
		defer converted.Free()
		return mlx.Keep(converted)
	}
	faults.wrong = append(faults.wrong, fmt.Sprintf("%s has dtype %v, expected %v", p.name, have, want))
	return nil
}

// faultLists is what does not fit between a file and a module.
type faultLists struct {
	missing, extra, wrong []string
}

func (f *faultLists) err(prefix string) error {
	var parts []string
	list := func(what string, names []string) {
		if len(names) > 0 {
			slices.Sort(names)
			parts = append(parts, fmt.Sprintf("%d %s: %s", len(names), what, strings.Join(names, ", ")))
		}
	}
	list("missing", f.missing)
	list("not in the module", f.extra)
	list("of the wrong kind", f.wrong)
	if parts == nil {
		return nil
	}
	text := strings.Join(parts, "; ")
	if prefix != "" {
		text += fmt.Sprintf(" (names after the prefix %q)", prefix)
	}
	return fmt.Errorf("%s", text)
}
