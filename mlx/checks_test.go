package mlx

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// badIndices are uses of an index that does not exist, with the index computed or given.
var badIndices = map[string]func(i *Array) *Array{
	"take":           func(i *Array) *Array { return New([]float32{1, 2, 3}).Take(i, 0) },
	"takeflat":       func(i *Array) *Array { return New([]float32{1, 2, 3}, 1, 3).TakeFlat(i) },
	"takealongaxis":  func(i *Array) *Array { return New([]float32{1, 2, 3}).TakeAlongAxis(i, 0) },
	"putalongaxis":   func(i *Array) *Array { return New([]float32{1, 2, 3}).PutAlongAxis(i, New([]float32{0}), 0) },
	"scatteraddaxis": func(i *Array) *Array { return New([]float32{1, 2, 3}).ScatterAddAxis(i, New([]float32{0}), 0) },
	"gather":         func(i *Array) *Array { return New([]float32{1, 2, 3}).Gather([]*Array{i}, []int{0}, []int{1}) },
	"scatter": func(i *Array) *Array {
		return New([]float32{1, 2, 3}).Scatter([]*Array{i}, New([]float32{1, 2}, 2, 1), []int{0})
	},
	"gathermm": func(i *Array) *Array {
		a := Ones([]int{3, 2, 2}, Float32)
		return a.GatherMM(a, i, New([]uint32{0, 1}))
	},
	"softmaxcrossentropy": func(i *Array) *Array { return SoftmaxCrossEntropy(Ones([]int{2, 3}, Float32), i) },
}

// An index outside gives an error that names the operation and the index, and nothing is read there.
func TestIndicesOutsideAreErrors(t *testing.T) {
	for name, f := range badIndices {
		for _, bad := range []int32{3, -4, 1 << 30, -1 << 31} {
			if bad < 0 && (name == "gathermm" || name == "softmaxcrossentropy") {
				bad = -1
			}
			given := f(New([]int32{0, bad}))
			assert.ErrorContains(t, given.Err(), name+": ", "%s %d", name, bad)
			computed := f(New([]int32{0, bad}).Mul(1))
			require.NoError(t, computed.Err(), name)
			err := computed.Eval()
			assert.ErrorContains(t, err, name+": ", "%s %d", name, bad)
			assert.ErrorContains(t, err, fmt.Sprintf("s have %d, expected", bad), "%s %d", name, bad)
			_, err = Values[float32](computed)
			assert.Error(t, err, "%s %d: no values", name, bad)
		}
		assert.NoError(t, f(New([]int32{0, 2})).Eval(), name)
		assert.NoError(t, f(New([]int32{0, 2}).Mul(1)).Eval(), name)
		assert.NoError(t, f(New([]uint8{0, 2}).AsType(Uint32)).Eval(), name)
	}
}

// A slice that begins at a valid index must also end inside.
func TestSlicesOfGatherStayInside(t *testing.T) {
	a := New([]float32{0, 1, 2, 3, 4})
	for start, want := range map[int32]bool{0: true, 3: true, 4: false, -2: true, -5: true, -1: false, -6: false} {
		for _, index := range []*Array{New([]int32{start}), New([]int32{start}).Mul(1)} {
			assert.Equal(t, want, a.Gather([]*Array{index}, []int{0}, []int{2}).Eval() == nil, "start %d", start)
		}
	}
}

func TestSegmentsOutsideAreErrors(t *testing.T) {
	a, b := Ones([]int{2, 6}, Float32), Ones([]int{6, 3}, Float32)
	require.NoError(t, Eval(a, b)) // what is computed together fails together
	for _, s := range [][]uint32{{0, 7}, {4, 2}, {9, 9}} {
		assert.Error(t, a.SegmentedMM(b, New(s, 1, 2)).Err(), s)
		assert.ErrorContains(t, a.SegmentedMM(b, New(s, 1, 2).Mul(1)).Eval(), "segmentedmm", s)
	}
	assert.NoError(t, a.SegmentedMM(b, New([]uint32{2, 2, 0, 6}, 2, 2).Mul(1)).Eval())
}

// LAPACK breaks the heap or ends the process on some such matrices.
func TestDecompositionsOfNoNumbersAreErrors(t *testing.T) {
	for name, f := range map[string]func(a *Array) *Array{
		"svd":            func(a *Array) *Array { u, _, _ := a.SVD(); return u },
		"singularvalues": (*Array).SingularValues,
		"pinverse":       (*Array).PInverse,
		"eigh":           func(a *Array) *Array { v, _ := a.EigH("L"); return v },
		"eigenvaluesh":   func(a *Array) *Array { return a.EigenValuesH("U") },
		"norm":           func(a *Array) *Array { return a.NormNamed("nuc") },
		"randommultivariatenormal": func(a *Array) *Array {
			return RandomMultivariateNormal(New([]float32{0, 0}), a, []int{3}, Float32, Key(1))
		},
	} {
		bad := Full([]int{2, 2}, math.NaN(), Float32).Mul(1)
		assert.ErrorContains(t, f(bad).Eval(), name+": the matrix has an element that is not a finite number")
	}
	assert.Error(t, New([]float32{float32(math.Inf(1)), 1, 1, 1}, 2, 2).NormOrd(2).Eval())
}

func TestEigenvaluesOfNoNumbersAreErrors(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		for _, d := range []Dtype{Float32, Float64, Complex64} {
			values, vectors := Full([]int{3, 3}, v, d).Add(Eye(3, 3, 0, d)).Eig()
			assert.ErrorContains(t, Eval(values, vectors), "eig: the matrix", "%v %v", v, d)
			a := Full([]int{3, 3}, v, d).Add(Eye(3, 3, 0, d))
			require.NoError(t, a.Eval())
			assert.ErrorContains(t, a.EigenValues().Err(), "eigenvalues: the matrix", "%v %v", v, d)
		}
	}
}

// libmlx itself gives half a factor and no error.
func TestCholeskyOfWhatIsNotPositiveDefinite(t *testing.T) {
	for _, d := range []Dtype{Float32, Float64} {
		for n, values := range [][]float64{{1, 2, 2, 1}, {0, 0, 0, 0}, {-1, 0, 0, 1}, {1, math.NaN(), math.NaN(), 1}} {
			for _, upper := range []bool{false, true} {
				bad := New(values, 2, 2).AsType(d)
				assert.ErrorContains(t, bad.Cholesky(upper).Eval(), "cholesky: the matrix is not positive definite", n)
				stack := Stack([]*Array{Eye(2, 2, 0, d), New(values, 2, 2).AsType(d)}, 0)
				assert.Error(t, stack.Cholesky(upper).Eval(), n)
			}
		}
	}
	big := Eye(200, 200, 0, Float32).SliceUpdate(Full([]int{1, 1}, -1, Float32), []int{150, 150}, []int{151, 151})
	assert.ErrorContains(t, big.Cholesky(false).Eval(), "not positive definite")
}

// The check of computed indices works inside of transforms too.
func TestCheckedIndicesInTransforms(t *testing.T) {
	x := New([]float32{3, 1, 2}, 3)
	// Indices computed from the argument itself: no gradient flows through them.
	weights := New([]float32{1, 10, 100})
	sorted := func(a []*Array) []*Array { return []*Array{a[0].TakeAlongAxis(a[0].ArgSort(0), 0).Mul(weights).Sum()} }
	grads, err := Grad(sorted)(x)
	require.NoError(t, err)
	values, err := Values[float32](grads[0])
	require.NoError(t, err)
	assert.Equal(t, []float32{100, 1, 10}, values)
	_, forward, err := JVP(sorted, []*Array{x}, []*Array{New([]float32{1, 2, 3})})
	require.NoError(t, err)
	v, err := Item[float32](forward[0])
	require.NoError(t, err)
	assert.Equal(t, float32(1*100+2*1+3*10), v)

	pick := func(a []*Array) []*Array { return []*Array{x.Take(a[0].Mul(1), 0)} }
	out, err := VMap(pick, []int{0}, []int{0})(New([]int32{2, 0, 1, 1}, 2, 2))
	require.NoError(t, err)
	values, err = Values[float32](out[0])
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 3, 1, 1}, values)
	out, err = VMap(pick, []int{0}, []int{0})(New([]int32{2, 0, 1, 7}, 2, 2))
	require.NoError(t, err)
	assert.ErrorContains(t, Eval(out...), "take: indices have 7")

	out, err = Compile(pick).Call(New([]int32{2, 0}))
	require.NoError(t, err)
	assert.NoError(t, Eval(out...))
	out, err = Compile(pick).Call(New([]int32{2, 9}))
	require.NoError(t, err)
	assert.ErrorContains(t, Eval(out...), "take: indices have 9")
}

// Unlike libmlx's own, sums over empty views end, with the neutral element.
func TestReductionsOfEmptyViews(t *testing.T) {
	for range 50 {
		for _, a := range []*Array{Ones([]int{4, 3}, Float32).SliceAxis(1, 1, 1).T(), Ones([]int{3, 4, 5}, Float32).Diagonal(9, 0, 1),
			Ones([]int{12}, Float32).AsStrided([]int{3, 4, 0}, []int{1, 3, 5}, 0)} {
			axis := a.NDim() - 1
			if a.Dim(0) == 0 {
				axis = 0
			}
			assert.NoError(t, near(a.Sum(axis), Zeros(a.Sum(axis).Shape(), Float32), 0))
		}
		assert.NoError(t, near(Ones([]int{3, 4, 5}, Float32).Trace(9, 0, 1), Zeros([]int{5}, Float32), 0))
	}
}

// libmlx compares the axes before the last two of packed weights with those of the scales, however few there are.
func TestPackedWeightsNeedTwoAxes(t *testing.T) {
	packed := Ones([]int{2, 64}, Float32).Quantize(64, 8, "affine")
	x := Ones([]int{3, 64}, Float32)
	for i, name := range []string{"weight", "scales", "biases"} {
		parts := append([]*Array(nil), packed...)
		parts[i] = parts[i].Flatten(0, -1)
		for _, a := range []*Array{
			QuantizedMatMul(x, parts[0], parts[1], parts[2], true, 64, 8, "affine"),
			GatherQuantizedMatMul(x, parts[0], parts[1], parts[2], nil, nil, true, 64, 8, "affine"),
			Dequantize(parts[0], parts[1], parts[2], 64, 8, "affine"),
		} {
			require.ErrorContains(t, a.Err(), name+" must have at least 2 axes, and has 1")
		}
	}
	require.NoError(t, QuantizedMatMul(x, packed[0], packed[1], packed[2], true, 64, 8, "affine").Err())
}
