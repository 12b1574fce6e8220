package nn

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Param is a named array: a parameter of a module, or its gradient.
type Param struct {
	Name  string // for example "gru.layers.0.Wx"
	Array *mlx.Array
}

// Parameters lists the parameters of a module in the order of its fields. Tied parameters are
// listed once. The arrays are the module's own. It is an error when module is not a pointer to a struct, when a tag is not valid, when two
// parameters have one name, and when a module contains itself.
func Parameters(module any) ([]Param, error) {
	found, err := collect(module)
	if err != nil {
		return nil, fmt.Errorf("nn.Parameters: %w", err)
	}
	list := make([]Param, len(found))
	for i, p := range found {
		list[i] = Param{p.name, p.array}
	}
	return list, nil
}

// Snapshot is [Parameters] with arrays that stay as they are while the module trains on: those of
// Parameters are the module's own, and an optimiser frees what it replaces. [Update] puts a snapshot back, for
// example the best one of a run. Nothing is copied.
func Snapshot(module any) ([]Param, error) {
	found, err := collect(module)
	if err != nil {
		return nil, fmt.Errorf("nn.Snapshot: %w", err)
	}
	list := make([]Param, len(found))
	for i, p := range found {
		list[i] = Param{p.name, mlx.Keep(p.array)}
	}
	return list, nil
}

// Count is the number of elements in all parameters of a module.
func Count(module any) (int, error) {
	found, err := collect(module)
	if err != nil {
		return 0, fmt.Errorf("nn.Count: %w", err)
	}
	n := 0
	for _, p := range found {
		n += p.array.Size()
	}
	return n, nil
}

// Update gives parameters new values of the same shape and dtype. Parameters that are not in the
// list stay as they are. The module holds the values outside of any scope, so they may come from one.
// All faults (unknown or repeated names, wrong shapes and dtypes, arrays that carry an error) are reported
// together, and then nothing is changed.
func Update(module any, values []Param) error {
	found, err := collect(module)
	if err != nil {
		return fmt.Errorf("nn.Update: %w", err)
	}
	byName := make(map[string]*parameter, len(found))
	for _, p := range found {
		byName[p.name] = p
	}
	var faults []string
	kept := make([]*mlx.Array, len(values))
	given := make(map[string]bool, len(values))
	for i, v := range values {
		p := byName[v.Name]
		switch {
		case p == nil:
			faults = append(faults, fmt.Sprintf("%q is no parameter of the module", v.Name))
			continue
		case given[v.Name]:
			faults = append(faults, fmt.Sprintf("%q is given twice", v.Name))
			continue
		}
		given[v.Name] = true
		kept[i] = mlx.Keep(v.Array)
		if err := kept[i].Err(); err != nil {
			faults = append(faults, fmt.Sprintf("%q: %v", v.Name, err))
		} else if fault := p.misfit(kept[i]); fault != "" {
			faults = append(faults, fault)
		}
	}
	if faults != nil {
		free(kept)
		return fmt.Errorf("nn.Update: %s", strings.Join(faults, "; "))
	}
	for i, v := range values {
		byName[v.Name].set(kept[i])
	}
	return nil
}

func free(arrays []*mlx.Array) {
	for _, a := range arrays {
		a.Free()
	}
}

// parameter is one array of a module and all the fields that point to it.
type parameter struct {
	name   string
	others []string // the further names of a tied parameter
	array  *mlx.Array
	frozen bool
	places []reflect.Value
}

func (p *parameter) set(a *mlx.Array) {
	v := reflect.ValueOf(a)
	for _, place := range p.places {
		place.Set(v)
	}
}

// trainable tells whether a gradient is wanted: an integer array has none. An array that carries
// an error counts, so that the error comes out.
func (p *parameter) trainable() bool {
	return !p.frozen && (p.array.Dtype().IsFloat() || p.array.Err() != nil)
}

// misfit tells why a cannot take the parameter's place, "" when it can.
func (p *parameter) misfit(a *mlx.Array) string {
	if given, want := a.Shape(), p.array.Shape(); !slices.Equal(given, want) {
		return fmt.Sprintf("%q has shape %v; expected %v", p.name, given, want)
	}
	if given, want := a.Dtype(), p.array.Dtype(); given != want {
		return fmt.Sprintf("%q has dtype %v; expected %v", p.name, given, want)
	}
	return ""
}

// walker goes through a module's fields.
type walker struct {
	found   []*parameter
	byArray map[*mlx.Array]*parameter
	names   map[string]bool
	inside  map[visit]bool // the modules that the walk is in
}

// visit has the type too, since a struct and its first field have one address.
type visit struct {
	t reflect.Type
	p uintptr
}

func collect(module any) ([]*parameter, error) {
	v := reflect.ValueOf(module)
	switch {
	case module == nil:
		return nil, errors.New("the module is nil; expected a pointer to a struct")
	case v.Type() == arrayType || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct && !v.IsNil():
		return nil, fmt.Errorf("the module is a %v; expected a pointer to a struct", v.Type())
	case v.IsNil():
		return nil, fmt.Errorf("the module is a nil %v", v.Type())
	}
	w := walker{byArray: map[*mlx.Array]*parameter{}, names: map[string]bool{}, inside: map[visit]bool{}}
	if err := w.value(v, "", false); err != nil {
		return nil, err
	}
	return w.found, nil
}

func (w *walker) value(v reflect.Value, name string, frozen bool) error {
	if v.Type() == arrayType {
		return w.parameter(v, v.Interface().(*mlx.Array), name, frozen)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return nil
		}
		here := visit{v.Type(), v.Pointer()}
		if w.inside[here] {
			return fmt.Errorf("module %q (%v) contains itself; hide the field that points back with the tag `mlx:\"-\"`", name, v.Type())
		}
		w.inside[here] = true
		defer delete(w.inside, here)
		return w.value(v.Elem(), name, frozen)
	case reflect.Struct:
		return w.fields(v, name, frozen)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := w.value(v.Index(i), join(name, strconv.Itoa(i)), frozen); err != nil {
				return err
			}
		}
	case reflect.Interface:
		return w.dynamic(v, name, frozen)
	}
	return nil
}

func (w *walker) fields(v reflect.Value, name string, frozen bool) error {
	fields, err := planOf(v.Type())
	if err != nil {
		return err
	}
	for _, f := range fields {
		inner := name
		if !f.flatten {
			inner = join(name, f.name)
		}
		if err := w.value(v.Field(f.index), inner, frozen || f.frozen); err != nil {
			return err
		}
	}
	return nil
}

// dynamic looks at what an interface holds. Only what can be set through it counts.
func (w *walker) dynamic(v reflect.Value, name string, frozen bool) error {
	if v.IsNil() {
		return nil
	}
	e := v.Elem()
	if a, ok := e.Interface().(*mlx.Array); ok {
		return w.parameter(v, a, name, frozen)
	}
	if !holds(e.Type(), true, nil) {
		return nil
	}
	switch e.Kind() {
	case reflect.Struct, reflect.Array:
		return fmt.Errorf("%q is a %v by value; its parameters could not be updated: store a pointer", name, e.Type())
	}
	return w.value(e, name, frozen)
}

func (w *walker) parameter(place reflect.Value, a *mlx.Array, name string, frozen bool) error {
	if a == nil {
		return nil
	}
	if w.names[name] {
		return fmt.Errorf("two parameters have the name %q; rename one with a tag `mlx:\"name\"`", name)
	}
	w.names[name] = true
	if p := w.byArray[a]; p != nil {
		p.others = append(p.others, name)
		p.places = append(p.places, place)
		p.frozen = p.frozen || frozen
		return nil
	}
	p := &parameter{name: name, array: a, frozen: frozen, places: []reflect.Value{place}}
	w.byArray[a] = p
	w.found = append(w.found, p)
	return nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}
