package nn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Grads are the gradients of a module's parameters, in the order and under the names of [Parameters].
type Grads []Param

// Get is the gradient of the named parameter, nil when there is none.
func (g Grads) Get(name string) *mlx.Array {
	for _, p := range g {
		if p.Name == name {
			return p.Array
		}
	}
	return nil
}

// Arrays are the gradients without their names.
func (g Grads) Arrays() []*mlx.Array {
	list := make([]*mlx.Array, len(g))
	for i, p := range g {
		list[i] = p.Array
	}
	return list
}

// Add gives the sums of two sets of gradients of the same parameters, to gather those of
// several small batches before one update. An empty g counts as zeros.
func (g Grads) Add(other Grads) (Grads, error) {
	if len(g) == 0 {
		return slices.Clone(other), nil
	}
	if len(g) != len(other) {
		return nil, fmt.Errorf("nn.Grads.Add: %d gradients and %d gradients; both must be of the same parameters", len(g), len(other))
	}
	sum := make(Grads, len(g))
	for i, p := range g {
		if other[i].Name != p.Name {
			return nil, fmt.Errorf("nn.Grads.Add: gradient %d is of %q and of %q; both must be of the same parameters", i, p.Name, other[i].Name)
		}
		sum[i] = Param{p.Name, p.Array.Add(other[i].Array)}
	}
	return sum, nil
}

// Scale multiplies all gradients by factor.
func (g Grads) Scale(factor float64) Grads {
	scaled := make(Grads, len(g))
	for i, p := range g {
		scaled[i] = Param{p.Name, p.Array.Mul(factor)}
	}
	return scaled
}

// LossFunc is a loss of up to four arrays, or of any number of them. It returns one number,
// an array of one element without axes.
type LossFunc interface {
	func() *mlx.Array | func(x *mlx.Array) *mlx.Array | func(x, y *mlx.Array) *mlx.Array |
		func(x, y, z *mlx.Array) *mlx.Array | func(x, y, z, w *mlx.Array) *mlx.Array |
		func(args ...*mlx.Array) *mlx.Array
}

// LossAuxFunc is a [LossFunc] that returns further arrays besides the loss, for example the state that a
// recurrent layer ends in.
type LossAuxFunc interface {
	func() (*mlx.Array, []*mlx.Array) | func(x *mlx.Array) (*mlx.Array, []*mlx.Array) |
		func(x, y *mlx.Array) (*mlx.Array, []*mlx.Array) |
		func(x, y, z *mlx.Array) (*mlx.Array, []*mlx.Array) |
		func(x, y, z, w *mlx.Array) (*mlx.Array, []*mlx.Array) |
		func(args ...*mlx.Array) (*mlx.Array, []*mlx.Array)
}

// GradOption chooses what [ValueAndGrad] differentiates by.
type GradOption func(*gradOptions)

type gradOptions struct{ frozen []string }

// Freeze leaves parameters out: a name is that of a parameter ("out.bias") or of a module ("embed", "gru.layers.0").
func Freeze(names ...string) GradOption {
	return func(o *gradOptions) { o.frozen = append(o.frozen, names...) }
}

// ValueAndGrad gives a function that computes the loss and its gradients by the module's
// parameters, all of floating point type that are not frozen. The function takes the arguments of loss.
//
//	step := nn.ValueAndGrad(model, func(x, y *mlx.Array) *mlx.Array {
//		return nn.CrossEntropy(model.Forward(x), y)
//	})
//	value, grads, err := step(x, y)
//
// Nothing is evaluated; optimisers evaluate when they update. While loss runs, the module holds
// stand-ins for its parameters: no other goroutine may use it then. Arrays that loss uses and does
// not get as arguments (a dropout key, the state carried from the last batch) are constants: no
// gradient runs into them. Arrays that loss computes are given back when it returns; see [ValueAndGradAux].
func ValueAndGrad[F LossFunc](module any, loss F, opts ...GradOption) func(args ...*mlx.Array) (*mlx.Array, Grads, error) {
	g := newGradient("nn.ValueAndGrad", module, any(loss), opts)
	return func(args ...*mlx.Array) (*mlx.Array, Grads, error) {
		value, aux, grads, err := g.run(args...)
		free(aux)
		return value, grads, err
	}
}

// ValueAndGradAux is [ValueAndGrad] for a loss that returns further arrays, which come back beside it.
// No gradient is taken of them.
//
//	step := nn.ValueAndGradAux(model, func(x, y *mlx.Array) (*mlx.Array, []*mlx.Array) {
//		logits, end := model.Forward(x, state)
//		return nn.CrossEntropy(logits, y), []*mlx.Array{end}
//	})
//	value, aux, grads, err := step(x, y)
//	state = mlx.Keep(aux[0])
func ValueAndGradAux[F LossAuxFunc](module any, loss F, opts ...GradOption) func(args ...*mlx.Array) (*mlx.Array, []*mlx.Array, Grads, error) {
	return newGradient("nn.ValueAndGradAux", module, any(loss), opts).run
}

type gradient struct {
	op      string
	module  any
	options gradOptions
	arity   int // -1: any number
	loss    func(args []*mlx.Array) (*mlx.Array, []*mlx.Array)
}

func newGradient(op string, module, loss any, opts []GradOption) *gradient {
	g := &gradient{op: op, module: module}
	g.arity, g.loss = adapt(loss)
	for _, o := range opts {
		o(&g.options)
	}
	return g
}

type arrays = []*mlx.Array

// adapt gives the number of arguments and the common form of a LossFunc or LossAuxFunc; nil for a nil function.
func adapt(loss any) (int, func(a arrays) (*mlx.Array, []*mlx.Array)) {
	arity := -1
	var call func(a arrays) (*mlx.Array, []*mlx.Array)
	with := func(n int, isNil bool, f func(a arrays) (*mlx.Array, []*mlx.Array)) {
		arity = n
		if !isNil {
			call = f
		}
	}
	switch f := loss.(type) {
	case func() *mlx.Array:
		with(0, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(), nil })
	case func(_ *mlx.Array) *mlx.Array:
		with(1, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0]), nil })
	case func(_, _ *mlx.Array) *mlx.Array:
		with(2, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0], a[1]), nil })
	case func(_, _, _ *mlx.Array) *mlx.Array:
		with(3, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0], a[1], a[2]), nil })
	case func(_, _, _, _ *mlx.Array) *mlx.Array:
		with(4, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0], a[1], a[2], a[3]), nil })
	case func(_ ...*mlx.Array) *mlx.Array:
		with(-1, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a...), nil })
	case func() (*mlx.Array, []*mlx.Array):
		with(0, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f() })
	case func(_ *mlx.Array) (*mlx.Array, []*mlx.Array):
		with(1, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0]) })
	case func(_, _ *mlx.Array) (*mlx.Array, []*mlx.Array):
		with(2, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0], a[1]) })
	case func(_, _, _ *mlx.Array) (*mlx.Array, []*mlx.Array):
		with(3, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0], a[1], a[2]) })
	case func(_, _, _, _ *mlx.Array) (*mlx.Array, []*mlx.Array):
		with(4, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a[0], a[1], a[2], a[3]) })
	case func(_ ...*mlx.Array) (*mlx.Array, []*mlx.Array):
		with(-1, f == nil, func(a arrays) (*mlx.Array, []*mlx.Array) { return f(a...) })
	}
	return arity, call
}

func (g *gradient) run(args ...*mlx.Array) (*mlx.Array, []*mlx.Array, Grads, error) {
	fail := func(err error) (*mlx.Array, []*mlx.Array, Grads, error) {
		return nil, nil, nil, fmt.Errorf("%s: %w", g.op, err)
	}
	if g.loss == nil {
		return fail(errors.New("the loss function is nil"))
	}
	if g.arity >= 0 && len(args) != g.arity {
		return fail(fmt.Errorf("%d arguments given; the loss function takes %d", len(args), g.arity))
	}
	params, err := g.trainable()
	if err != nil {
		return fail(err)
	}
	n := len(params)
	primals := make([]*mlx.Array, n, n+len(args))
	argnums := make([]int, n)
	for i, p := range params {
		primals[i] = p.array
		argnums[i] = i
	}
	traced := func(in []*mlx.Array) []*mlx.Array {
		defer func() {
			for _, p := range params {
				p.set(p.array)
			}
		}()
		for i, p := range params {
			p.set(in[i])
		}
		value, aux := g.loss(in[n:])
		if value.Err() == nil && (value.NDim() != 0 || !value.Dtype().IsFloat()) {
			value = mlx.ErrorArray("loss", fmt.Errorf("it is %v%v; expected one floating point number without axes (a mean or a sum)",
				value.Dtype(), value.Shape()))
		}
		return append([]*mlx.Array{value}, aux...)
	}
	values, list, err := mlx.ValueAndGrad(traced, argnums...)(append(primals, args...)...)
	if err != nil {
		return fail(err)
	}
	grads := make(Grads, n)
	for i, p := range params {
		grads[i] = Param{p.name, list[i]}
	}
	return values[0], values[1:], grads, nil
}

// trainable lists the parameters to differentiate by.
func (g *gradient) trainable() ([]*parameter, error) {
	found, err := collect(g.module)
	if err != nil {
		return nil, err
	}
	used := make(map[string]bool)
	params := slices.DeleteFunc(found, func(p *parameter) bool {
		drop := !p.trainable()
		for _, name := range g.options.frozen {
			if p.isIn(name) {
				used[name], drop = true, true
			}
		}
		return drop
	})
	for _, name := range g.options.frozen {
		if !used[name] {
			return nil, fmt.Errorf("freeze %q: the module has no parameter or module of that name", name)
		}
	}
	if len(params) == 0 {
		return nil, fmt.Errorf("%T has no trainable parameters (are its fields exported, or all frozen?)", g.module)
	}
	return params, nil
}

// isIn tells whether one of the parameter's names is name or lies in the module of that name.
func (p *parameter) isIn(name string) bool {
	return slices.ContainsFunc(append([]string{p.name}, p.others...), func(own string) bool {
		return own == name || strings.HasPrefix(own, name+".")
	})
}
