package mlx

import "fmt"

// testedOp is an operation as the tests call it.
type testedOp struct {
	args []testedArg
	run  func(o Ops, v vectorArgs) []*Array
}

// testedArg is an argument with its kind in the table of operations: array, operand, ints, ...
type testedArg struct{ name, kind string }

// vectorArgs are the arguments of one call by name, as Go values.
type vectorArgs map[string]any

func argument[T any](v vectorArgs, name string) T {
	x, ok := v[name].(T)
	if !ok {
		panic(fmt.Sprintf("argument %s is %T, expected %T", name, v[name], x))
	}
	return x
}

func (v vectorArgs) array(name string) *Array    { return argument[*Array](v, name) }
func (v vectorArgs) arrays(name string) []*Array { return argument[[]*Array](v, name) }
func (v vectorArgs) operand(name string) any     { return v[name] }
func (v vectorArgs) ints(name string) []int      { return argument[[]int](v, name) }
func (v vectorArgs) int(name string) int         { return argument[int](v, name) }
func (v vectorArgs) float(name string) float64   { return argument[float64](v, name) }
func (v vectorArgs) bool(name string) bool       { return argument[bool](v, name) }
func (v vectorArgs) string(name string) string   { return argument[string](v, name) }
func (v vectorArgs) dtype(name string) Dtype     { return argument[Dtype](v, name) }
func (v vectorArgs) uint64(name string) uint64   { return argument[uint64](v, name) }

func (v vectorArgs) optionalArray(name string) *Array {
	if v[name] == nil {
		return nil
	}
	return argument[*Array](v, name)
}

func listOf(arrays ...*Array) []*Array { return arrays }
