package mlx

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asError is err as the package's error type.
func asError(t *testing.T, err error) *Error {
	t.Helper()
	require.Error(t, err)
	var e *Error
	require.ErrorAs(t, err, &e)
	return e
}

func floats(t *testing.T, a *Array) []float32 {
	t.Helper()
	v, err := Values[float32](a)
	require.NoError(t, err)
	return v
}

func TestErrorNamesOperationInputsAndCaller(t *testing.T) {
	a := Zeros([]int{2, 3}, Float32)
	b := Zeros([]int{2, 3}, Float16)
	_, _, line, _ := runtime.Caller(0)
	e := asError(t, a.MatMul(b).Err())
	site := fmt.Sprintf("errors_test.go:%d", line+1)
	assert.Equal(t, "matmul", e.Op)
	assert.Contains(t, e.Message, "(2,3)")
	assert.Contains(t, e.Message, "float32[2 3]")
	assert.Contains(t, e.Message, "float16[2 3]")
	assert.Equal(t, site, e.Site)
	assert.Equal(t, "matmul: "+e.Message+" ("+site+")", e.Error())
}

func TestErrorIsCarriedOnUnchanged(t *testing.T) {
	good := New([]float32{1, 2})
	first := good.Reshape(3)
	want := first.Err()
	require.Error(t, want)

	for name, later := range map[string]*Array{
		"unary":           first.Exp(),
		"chain":           first.Exp().Add(1).Sum(),
		"second operand":  good.Add(first),
		"in a list":       Concatenate([]*Array{good, good, good, good, good, first}, 0),
		"several results": first.Split(2, 0)[1],
		"keep":            Keep(first),
		"own":             NewScope().Own(first),
		"where":           good.Greater(1).Where(first, good),
		"stream":          On(DefaultStream()).Tanh(first),
	} {
		assert.Same(t, want, later.Err(), name)
		assert.Same(t, want, later.Eval(), name)
	}
	assert.Same(t, want, Eval(good, first))
	assert.Same(t, want, AsyncEval(good, first))
	_, err := Values[float32](first)
	assert.Same(t, want, err)
	_, err = Item[float32](first.Sum())
	assert.Same(t, want, err)
	_, _, err = ValueAndGrad(func(x []*Array) []*Array { return x })(first)
	assert.Same(t, want, err)
	assert.Contains(t, first.String(), want.Error())

	// An array that failed has no shape, and nothing of it is a crash.
	assert.Nil(t, first.Shape())
	assert.Zero(t, first.Dim(0)+first.NDim()+first.Size()+first.Nbytes())
	assert.Equal(t, []float32{1, 2}, floats(t, good), "what went into a failed operation is good")
}

func TestErrorFirstOfTwo(t *testing.T) {
	a, b := New([]float32{1}).Reshape(3), New([]float32{1}).Reshape(4)
	assert.Same(t, a.Err(), a.Add(b).Err())
	assert.Same(t, b.Err(), b.Add(a).Err())
}

func TestErrorArray(t *testing.T) {
	mine := errors.New("seven gates")
	a := ErrorArray("gru", mine)
	e := asError(t, a.Add(1).Err())
	assert.Equal(t, "gru", e.Op)
	assert.Equal(t, "seven gates", e.Message)
	assert.Regexp(t, `^errors_test\.go:\d+$`, e.Site)
	assert.ErrorIs(t, a.Exp().Eval(), mine)
	assert.Same(t, a.Err(), ErrorArray("lstm", a.Err()).Err(), "an error of the package stays what it is")
	assert.ErrorContains(t, ErrorArray("x", nil).Err(), "no error")
}

// An array that is none: each use is an error, never a crash.
func TestErrorUnusableArrays(t *testing.T) {
	freed := New([]float32{1, 2})
	freed.Free()
	freed.Free()
	scope := NewScope()
	closed := scope.Own(New([]float32{1, 2})).Add(1)
	scope.Close()
	for name, c := range map[string]struct {
		a    *Array
		want string
	}{
		"freed":        {freed, "the array was freed"},
		"closed scope": {closed, "closed scope"},
		"zero value":   {&Array{}, "not made by this package"},
		"nil":          {nil, "nil"},
	} {
		t.Run(name, func(t *testing.T) {
			good := New([]float32{1, 2})
			for _, err := range []error{
				c.a.Err(), Eval(c.a), AsyncEval(good, c.a), good.Add(c.a).Err(), good.MatMul(c.a).Err(),
				Concatenate([]*Array{good, c.a}, 0).Err(), Keep(c.a).Err(), NewScope().Own(c.a).Err(), Stack([]*Array{c.a}, 0).Err(),
			} {
				assert.ErrorContains(t, asError(t, err), c.want)
			}
			if c.a != nil {
				assert.ErrorContains(t, c.a.Exp().Err(), c.want)
				_, err := Values[float32](c.a)
				assert.ErrorContains(t, err, c.want)
				assert.Nil(t, c.a.Shape())
				assert.NotEmpty(t, c.a.String())
			}
			c.a.Free()
			assert.Equal(t, []float32{2, 3}, floats(t, good.Add(1)), "the next good call works")
		})
	}
}

// B38: wrong shapes, sizes and types give an error that tells what was given, and the next call works.
func TestErrorB38WrongArguments(t *testing.T) {
	a := Zeros([]int{2, 3}, Float32)
	for name, c := range map[string]struct {
		got  *Array
		want string
	}{
		"inner sizes":         {a.MatMul(a), "(2,3)"},
		"no broadcast":        {a.Add(Zeros([]int{4}, Float32)), "(4)"},
		"reshape":             {a.Reshape(7), "7"},
		"axis":                {a.Sum(2), "2"},
		"negative axis":       {a.Softmax(-3), "-3"},
		"repeated axis":       {a.Sum(0, 0), "axes"},
		"concatenate":         {Concatenate([]*Array{a, Zeros([]int{3, 3}, Float32)}, 1), "dimension"},
		"concatenate nothing": {Concatenate(nil, 0), ""},
		"stack shapes":        {Stack([]*Array{a, Zeros([]int{3}, Float32)}, 0), "shape"},
		"split":               {a.Split(2, 1)[0], "3"},
		"select":              {a.Select(0, 2), "index 2"},
		"transpose":           {a.Transpose(0, 0), "axes"},
		"take":                {a.Take(New([]float32{0}), 0), "integ"},
		"negative size":       {Zeros([]int{2, -1}, Float32), "negative"},
		"size over 32 bits":   {Zeros([]int{math.MaxInt32 + 1}, Uint8), "limit"},
		"too many elements":   {Ones([]int{1 << 30, 1 << 30, 1 << 30}, Uint8), "too many"},
		"axis over 32 bits":   {a.Sum(math.MaxInt64), "32 bits"},
		"values":              {New([]float32{1, 2, 3}, 2, 2), "3 values"},
		"int out of range":    {New([]int{1 << 40}), "int32"},
		"operand type":        {a.Add("one"), "string"},
		"dtype":               {a.AsType(Dtype(99)), "99"},
		"inverse of ints":     {Zeros([]int{2, 2}, Int32).Inverse(), "int32"},
		"convolution rank":    {Conv1D(a, a, ConvOptions{}), "dim"},
		"cell input rank":     {Zeros([]int{3}, Float32).MatMul(Zeros([]int{4, 2}, Float32)), "float32[3]"},
	} {
		e := asError(t, c.got.Err())
		assert.Contains(t, e.Error(), c.want, name)
		assert.NotEmpty(t, e.Op, name)
		assert.Regexp(t, `^errors_test\.go:\d+$`, e.Site, name)
	}
	assert.Equal(t, []float32{1, 1, 1, 1, 1, 1}, floats(t, a.Add(1)))
}

// B71: sizes that 32-bit offsets cannot count are errors, and products of sizes do not wrap.
func TestErrorB71Sizes(t *testing.T) {
	for _, shape := range [][]int{{math.MaxInt32 + 1}, {1 << 32, 0, 1 << 40}, {1 << 31, 2}, {1 << 62, 4}, {1 << 24, 1 << 24, 1 << 24}} {
		e := asError(t, Zeros(shape, Int8).Err())
		assert.Contains(t, e.Error(), fmt.Sprint(shape))
		assert.Error(t, New([]int8{1}, shape...).Err())
		assert.Error(t, New([]int8{1}).BroadcastTo(shape...).Err())
	}
	// 2,149,056,000 elements, of which the last is read by an offset over 2^31.
	wide := New([]int8{7}).BroadcastTo(1025, 512, 4095)
	assert.Equal(t, 2_149_056_000, wide.Size())
	v, err := Values[int8](wide.Slice([]int{1024, 511, 4093}, []int{1025, 512, 4095}))
	require.NoError(t, err)
	assert.Equal(t, []int8{7, 7}, v)
}

// B25: dtypes meet by MLX's rule of promotion.
func TestErrorB25MixedTypes(t *testing.T) {
	half, single := New([]F16{F16From(1.5)}), New([]float32{2})
	assert.Equal(t, Float32, half.Add(single).Dtype())
	assert.Equal(t, Float32, half.MatMul(single).Dtype())
	assert.Equal(t, Float16, half.Mul(0.1).Dtype(), "a Go number takes the array's type")
	assert.Equal(t, Float32, half.Mul(New([]BF16{BF16From(1)})).Dtype())
	assert.Equal(t, []float32{3.5}, floats(t, half.Add(single)))
	_, err := Values[float32](half)
	assert.ErrorContains(t, err, "float16")
	assert.ErrorContains(t, err, "AsType")
}

// A computation that no memory can hold must not reach MLX's allocator, whose answer is a null pointer.
func TestErrorComputationTooLarge(t *testing.T) {
	huge := Zeros([]int{1 << 23, 1 << 23}, Float32)
	e := asError(t, huge.Add(1).Eval())
	assert.Contains(t, e.Message, "bytes")
	assert.Contains(t, e.Message, fmt.Sprint(1<<48))
	assert.Error(t, huge.Eval())
	view := New([]float32{3}).BroadcastTo(1<<23, 1<<23)
	require.NoError(t, view.Eval(), "a view needs no memory")
	assert.Equal(t, []float32{3, 3}, floats(t, view.Slice([]int{5, 7}, []int{6, 9})))
}
