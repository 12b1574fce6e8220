package mlx

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strconv"
)

// tolerances are the allowed errors, relative and for small numbers absolute, by dtype. The vectors may come from
// another processor and another BLAS. Types that are not here must agree exactly.
var tolerances = map[Dtype]float64{Float16: 2e-3, BFloat16: 1.6e-2, Float32: 2e-5, Float64: 1e-6, Complex64: 2e-5}

// checkResults compares the results of an operation with what is expected; nil when they agree.
func (c vectorCase) checkResults(args vectorArgs, got []*Array) error {
	if err := Eval(got...); err != nil {
		return err
	}
	if len(got) != len(c.Want) {
		return fmt.Errorf("%d results, expected %d", len(got), len(c.Want))
	}
	want := make([]*Array, len(got))
	for i, spec := range c.Want {
		var err error
		if want[i], err = spec.build(); err != nil {
			return err
		}
		if got[i].Dtype() != want[i].Dtype() || !slices.Equal(got[i].Shape(), want[i].Shape()) {
			return fmt.Errorf("result %d is %v%v, expected %v%v", i, got[i].Dtype(), got[i].Shape(), want[i].Dtype(), want[i].Shape())
		}
	}
	if c.Check == "" {
		return allNear(got, want, c.Tol)
	}
	check, ok := meanings[c.Check]
	if !ok {
		return fmt.Errorf("no check is called %q", c.Check)
	}
	return check(args, got, want)
}

func allNear(got, want []*Array, tol float64) error {
	for i := range got {
		if err := near(got[i], want[i], tol); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	return nil
}

// near compares the elements of two arrays of one dtype and shape. tol 0 means the dtype's own.
func near(got, want *Array, tol float64) error {
	if !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("shape %v, expected %v", got.Shape(), want.Shape())
	}
	d := want.Dtype()
	if d == Bool || d.IsInteger() {
		g, err := exactTexts(got)
		if err != nil {
			return err
		}
		w, err := exactTexts(want)
		if err == nil && !slices.Equal(g, w) {
			err = fmt.Errorf("%v, expected %v", g, w)
		}
		return err
	}
	if tol == 0 {
		tol = tolerances[d]
	}
	g, err := numbersOf(got)
	if err != nil {
		return err
	}
	w, err := numbersOf(want)
	if err != nil {
		return err
	}
	for i := range w {
		size := cmplx.Abs(w[i])
		if math.IsNaN(size) || math.IsInf(size, 0) {
			size = 1
		}
		if !nearNumber(real(g[i]), real(w[i]), tol, size) || !nearNumber(imag(g[i]), imag(w[i]), tol, size) {
			return fmt.Errorf("element %d is %v, expected %v", i, g[i], w[i])
		}
	}
	return nil
}

func nearNumber(got, want, tol, size float64) bool {
	if math.IsNaN(want) || math.IsNaN(got) {
		return math.IsNaN(want) && math.IsNaN(got)
	}
	if math.IsInf(want, 0) || math.IsInf(got, 0) {
		return want == got
	}
	return math.Abs(got-want) <= tol*max(1, size)
}

// exactTexts are the elements of a Boolean or integer array.
func exactTexts(a *Array) ([]string, error) {
	switch a.Dtype() {
	case Bool:
		return texts(a, strconv.FormatBool)
	case Uint64:
		return texts(a, func(v uint64) string { return strconv.FormatUint(v, 10) })
	}
	return texts(a.AsType(Int64), func(v int64) string { return strconv.FormatInt(v, 10) })
}

func texts[T Element](a *Array, f func(T) string) ([]string, error) {
	values, err := Values[T](a)
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out, err
}

// numbersOf are the elements of an array of any dtype.
func numbersOf(a *Array) ([]complex128, error) {
	if a.Dtype() == Complex64 {
		return convertAll(a, func(v complex64) complex128 { return complex128(v) })
	}
	return convertAll(a.AsType(Float64), func(v float64) complex128 { return complex(v, 0) })
}

func convertAll[T Element](a *Array, f func(T) complex128) ([]complex128, error) {
	values, err := Values[T](a)
	out := make([]complex128, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out, err
}
