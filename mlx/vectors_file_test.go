package mlx

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The vectors are made by testdata/make_op_vectors.py.

type vectorCase struct {
	Op    string
	Odd   string // what is unusual about the case
	Args  map[string]json.RawMessage
	Want  []arraySpec
	Check string // how to compare where results are not unique
	Tol   float64
}

// arraySpec is an array in a file: dense data and the views to take of it.
type arraySpec struct {
	Dtype string
	Shape []int
	Data  []json.RawMessage
	View  [][]json.RawMessage
}

func readVectors(t testing.TB, name string) []vectorCase {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var file struct {
		Versions map[string]string
		Cases    []vectorCase
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.Cases)
	require.Equal(t, Version(), file.Versions["mlx"], "make the vectors again with the version of MLX that is in use")
	return file.Cases
}

func (c vectorCase) String() string {
	if c.Odd == "" {
		return c.Op
	}
	return c.Op + " (" + c.Odd + ")"
}

func dtypeNamed(name string) (Dtype, error) {
	for i, n := range dtypeNames {
		if n == name {
			return Dtype(i), nil
		}
	}
	return 0, fmt.Errorf("no dtype is called %q", name)
}

// arguments turns the file's arguments into Go values of the kinds that the operation takes.
func (c vectorCase) arguments() (vectorArgs, error) {
	args := opTable[c.Op].args
	if len(args) != len(c.Args) {
		return nil, fmt.Errorf("%v has %d arguments, expected %v", c, len(c.Args), args)
	}
	v := vectorArgs{}
	for _, a := range args {
		raw, ok := c.Args[a.name]
		if !ok {
			return nil, fmt.Errorf("%v: no argument %s", c, a.name)
		}
		value, err := goArgument(a.kind, raw)
		if err != nil {
			return nil, fmt.Errorf("%v: argument %s: %w", c, a.name, err)
		}
		v[a.name] = value
	}
	return v, nil
}

func goArgument(kind string, raw json.RawMessage) (any, error) {
	null := string(raw) == "null"
	switch kind {
	case "array", "array?":
		if null {
			return nil, nil
		}
		return decode[arraySpec](raw, arraySpec.build)
	case "arrays":
		return decode(raw, func(specs []arraySpec) ([]*Array, error) {
			list := make([]*Array, len(specs))
			for i, s := range specs {
				a, err := s.build()
				if err != nil {
					return nil, err
				}
				list[i] = a
			}
			return list, nil
		})
	case "operand", "int?", "float?":
		if null {
			return nil, nil
		}
		return goOperand(raw)
	case "int":
		return plain[int](raw)
	case "uint64":
		return plain[uint64](raw)
	case "float":
		return number(raw)
	case "bool":
		return plain[bool](raw)
	case "string":
		return plain[string](raw)
	case "ints", "shape":
		return plain[[]int](raw)
	case "dtype":
		return decode(raw, dtypeNamed)
	}
	return nil, fmt.Errorf("arguments of kind %s are not known here", kind)
}

func plain[T any](raw json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// decode reads JSON into an In and converts it.
func decode[In, Out any](raw json.RawMessage, convert func(In) (Out, error)) (any, error) {
	v, err := plain[In](raw)
	if err != nil {
		return nil, err
	}
	return convert(v)
}

// goOperand is an array or one of {"bool": true}, {"int": 1}, {"float": 1.5}, {"complex": [1, 2]}.
func goOperand(raw json.RawMessage) (any, error) {
	var scalar struct {
		Bool    *bool
		Int     *int
		Float   json.RawMessage
		Complex []json.RawMessage
	}
	if err := json.Unmarshal(raw, &scalar); err != nil {
		return nil, err
	}
	switch {
	case scalar.Bool != nil:
		return *scalar.Bool, nil
	case scalar.Int != nil:
		return *scalar.Int, nil
	case scalar.Float != nil:
		return number(scalar.Float)
	case scalar.Complex != nil:
		return complexNumber(scalar.Complex)
	}
	return decode[arraySpec](raw, arraySpec.build)
}

// number reads a JSON number or one of the words nan, inf and -inf.
func number(raw json.RawMessage) (float64, error) {
	switch string(raw) {
	case `"nan"`:
		return math.NaN(), nil
	case `"inf"`:
		return math.Inf(1), nil
	case `"-inf"`:
		return math.Inf(-1), nil
	}
	return strconv.ParseFloat(string(raw), 64)
}

func complexNumber(parts []json.RawMessage) (complex128, error) {
	if len(parts) != 2 {
		return 0, fmt.Errorf("a complex number has 2 parts, given %d", len(parts))
	}
	re, err := number(parts[0])
	if err != nil {
		return 0, err
	}
	im, err := number(parts[1])
	return complex(re, im), err
}

func (s arraySpec) build() (*Array, error) {
	a, err := s.dense()
	if err != nil {
		return nil, err
	}
	for _, step := range s.View {
		lists := make([][]int, len(step)-1)
		for i := range lists {
			if err := json.Unmarshal(step[i+1], &lists[i]); err != nil {
				return nil, err
			}
		}
		switch string(step[0]) {
		case `"transpose"`:
			a = a.Transpose(lists[0]...)
		case `"slice"`:
			a = a.SliceStep(lists[0], lists[1], lists[2])
		case `"broadcast"`:
			a = a.BroadcastTo(lists[0]...)
		default:
			return nil, fmt.Errorf("no view is called %s", step[0])
		}
	}
	return a, a.Err()
}

func (s arraySpec) dense() (*Array, error) {
	d, err := dtypeNamed(s.Dtype)
	if err != nil {
		return nil, err
	}
	shape := s.Shape
	if shape == nil {
		shape = []int{}
	}
	float := func(raw json.RawMessage) (float32, error) {
		v, err := strconv.ParseFloat(string(raw), 32) // rounds once
		if err != nil {
			v, err = number(raw)
		}
		return float32(v), err
	}
	switch d {
	case Bool:
		return fill(s, shape, func(raw json.RawMessage) (bool, error) { return string(raw) == "1", nil })
	case Uint8:
		return fill(s, shape, plain[uint8])
	case Uint16:
		return fill(s, shape, plain[uint16])
	case Uint32:
		return fill(s, shape, plain[uint32])
	case Uint64:
		return fill(s, shape, plain[uint64])
	case Int8:
		return fill(s, shape, plain[int8])
	case Int16:
		return fill(s, shape, plain[int16])
	case Int32:
		return fill(s, shape, plain[int32])
	case Int64:
		return fill(s, shape, plain[int64])
	case Float16:
		return fill(s, shape, func(raw json.RawMessage) (F16, error) { v, err := float(raw); return F16From(v), err })
	case BFloat16:
		return fill(s, shape, func(raw json.RawMessage) (BF16, error) { v, err := float(raw); return BF16From(v), err })
	case Float32:
		return fill(s, shape, float)
	case Float64:
		return fill(s, shape, number)
	}
	return fill(s, shape, func(raw json.RawMessage) (complex64, error) {
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return 0, err
		}
		v, err := complexNumber(parts)
		return complex64(v), err
	})
}

func fill[T Element](s arraySpec, shape []int, parse func(json.RawMessage) (T, error)) (*Array, error) {
	data := make([]T, len(s.Data))
	for i, raw := range s.Data {
		v, err := parse(raw)
		if err != nil {
			return nil, err
		}
		data[i] = v
	}
	a := New(data, shape...)
	if len(shape) == 0 && len(data) == 1 {
		a = Scalar(data[0])
	}
	return a, a.Err()
}
