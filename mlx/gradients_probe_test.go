package mlx

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// gradientProbe compares the gradients of one call of an operation with central differences. Its
// primals are the inexact array arguments; a complex one counts as two real ones.
type gradientProbe struct {
	op      testedOp
	args    vectorArgs
	dtype   Dtype // of the primals
	step    float64
	primals []probedArray
}

// probedArray is an argument (or one array of a list) that is disturbed.
type probedArray struct {
	name      string
	index     int // in a list of arrays, else -1
	shape     []int
	values    []float64
	imaginary bool // the imaginary part of the primal before it
	complex   bool // the real part of a complex argument
}

func newGradientProbe(op testedOp, args vectorArgs, d Dtype, step float64, constants []string) (*gradientProbe, error) {
	p := &gradientProbe{op: op, args: maps.Clone(args), dtype: d, step: step}
	for _, arg := range op.args {
		if slices.Contains(constants, arg.name) {
			p.args[arg.name] = args.array(arg.name).AsType(d)
			continue
		}
		switch v := args[arg.name].(type) {
		case *Array:
			if err := p.add(arg.name, -1, v); err != nil {
				return nil, err
			}
		case []*Array:
			for i, a := range v {
				if err := p.add(arg.name, i, a); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, nil
}

func (p *gradientProbe) add(name string, index int, a *Array) error {
	d := a.Dtype()
	if !d.IsFloat() && d != Complex64 {
		return nil
	}
	numbers, err := numbersOf(a)
	if err != nil {
		return err
	}
	re, im := make([]float64, len(numbers)), make([]float64, len(numbers))
	for i, z := range numbers {
		re[i], im[i] = real(z), imag(z)
	}
	p.primals = append(p.primals, probedArray{name: name, index: index, shape: a.Shape(), values: re, complex: d == Complex64})
	if d == Complex64 {
		p.primals = append(p.primals, probedArray{name: name, index: index, shape: a.Shape(), values: im, imaginary: true})
	}
	return nil
}

// call runs the operation on the primals. Results that cannot have a gradient are left out; complex ones come as two.
func (p *gradientProbe) call(primals []*Array) []*Array {
	args := maps.Clone(p.args)
	for name, v := range args {
		if list, ok := v.([]*Array); ok {
			args[name] = append([]*Array(nil), list...)
		}
	}
	for i, slot := range p.primals {
		a := primals[i]
		if slot.imaginary {
			continue
		}
		if slot.complex {
			a = a.AsType(Complex64).Add(primals[i+1].AsType(Complex64).Mul(complex64(1i)))
		}
		if slot.index >= 0 {
			args.arrays(slot.name)[slot.index] = a
		} else {
			args[slot.name] = a
		}
	}
	var out []*Array
	for _, r := range p.op.run(Ops{}, args) {
		switch d := r.Dtype(); {
		case r.Err() != nil || d.IsFloat():
			out = append(out, r)
		case d == Complex64:
			out = append(out, r.Real(), r.Imag())
		}
	}
	return out
}

// arrays are the primals, with one element moved when delta is not 0.
func (p *gradientProbe) arrays(primal, element int, delta float64) []*Array {
	out := make([]*Array, len(p.primals))
	for i, slot := range p.primals {
		values := slot.values
		if i == primal && delta != 0 {
			values = append([]float64(nil), values...)
			values[element] += delta
		}
		out[i] = New(values, slot.shape...).AsType(p.dtype)
		if len(slot.shape) == 0 {
			out[i] = Scalar(values[0]).AsType(p.dtype)
		}
	}
	return out
}

// difference is the derivative by one element, of fourth order in the step.
func (p *gradientProbe) difference(primal, element int, cotangents [][]float64) (float64, error) {
	at := func(k float64) (float64, error) { return dot(p.call(p.arrays(primal, element, k*p.step)), cotangents) }
	var f [4]float64
	for i, k := range []float64{-2, -1, 1, 2} {
		var err error
		if f[i], err = at(k); err != nil {
			return 0, err
		}
	}
	return (f[0] - 8*f[1] + 8*f[2] - f[3]) / (12 * p.step), nil
}

// draw gives random numbers for each of arrays, flat and as arrays of their shapes and types. They are exact in every
// float type.
func draw(rnd *rand.Rand, arrays []*Array) (flat [][]float64, native []*Array) {
	for _, a := range arrays {
		v := make([]float64, a.Size())
		for j := range v {
			v[j] = math.Round(rnd.NormFloat64()*8) / 8
		}
		flat = append(flat, v)
		native = append(native, New(v).Reshape(a.Shape()...).AsType(a.Dtype()))
	}
	return flat, native
}

// check compares the gradients with the differences at up to most elements of each primal.
func (p *gradientProbe) check(tol float64, most int) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	start := p.arrays(-1, 0, 0)
	outs := p.call(start)
	if len(outs) == 0 || len(p.primals) == 0 {
		return fmt.Errorf("no argument or no result can have a gradient")
	}
	if err := Eval(outs...); err != nil {
		return err
	}
	cotangents, native := draw(rnd, outs)
	_, grads, err := VJP(p.call, start, native)
	if err != nil {
		return err
	}
	for i, slot := range p.primals {
		got, err := Values[float64](grads[i].AsType(Float64))
		if err != nil {
			return err
		}
		elements := rnd.Perm(len(slot.values))
		for _, element := range elements[:min(most, len(elements))] {
			want, err := p.difference(i, element, cotangents)
			if err != nil {
				return err
			}
			if !nearNumber(got[element], want, tol, math.Abs(want)) {
				return fmt.Errorf("gradient by %s[%d] element %d is %v, by differences %v", slot.name, max(slot.index, 0), element, got[element], want)
			}
		}
	}
	return nil
}

// checkForward compares the forward derivative along random tangents with the gradients.
func (p *gradientProbe) checkForward(tol float64) error {
	rnd := rand.New(rand.NewPCG(3, 4))
	start := p.arrays(-1, 0, 0)
	cotangents, nativeC := draw(rnd, p.call(start))
	tangents, nativeT := draw(rnd, start)
	_, forward, err := JVP(p.call, start, nativeT)
	if err != nil {
		return err
	}
	_, backward, err := VJP(p.call, start, nativeC)
	if err != nil {
		return err
	}
	left, err := dot(forward, cotangents)
	if err != nil {
		return err
	}
	right, err := dot(backward, tangents)
	if err == nil && !nearNumber(left, right, tol, math.Abs(right)) {
		err = fmt.Errorf("forward derivative %v, gradient %v", left, right)
	}
	return err
}

func dot(arrays []*Array, weights [][]float64) (float64, error) {
	total := 0.0
	for i, a := range arrays {
		values, err := Values[float64](a.AsType(Float64))
		if err != nil {
			return 0, err
		}
		for j, v := range values {
			total += v * weights[i][j]
		}
	}
	return total, nil
}
