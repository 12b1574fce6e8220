package mlx

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exportedConvolutions are the public functions over the operations of the table.
var exportedConvolutions = map[string]func(o Ops, input, weight *Array, options ConvOptions) *Array{
	"conv1d": Ops.Conv1D, "conv2d": Ops.Conv2D, "conv3d": Ops.Conv3D, "convGeneral": Ops.ConvGeneral,
	"convTranspose1d": Ops.ConvTranspose1D, "convTranspose2d": Ops.ConvTranspose2D, "convTranspose3d": Ops.ConvTranspose3D,
}

// short writes a list with one number for all axes, and leaves out what is usual, where that says the same.
func short(list []int, usual int) []int {
	if !slices.ContainsFunc(list, func(v int) bool { return v != list[0] }) {
		list = list[:1]
		if list[0] == usual {
			return nil
		}
	}
	return list
}

// The options mean what the operations' arguments mean.
func TestConvolutionOptions(t *testing.T) {
	used := map[string]int{}
	for _, c := range readVectors(t, "op_vectors.json") {
		f, ok := exportedConvolutions[c.Op]
		if !ok {
			continue
		}
		v, err := c.arguments()
		require.NoError(t, err)
		list := func(name string, usual int) []int {
			if v[name] == nil {
				return nil
			}
			return short(v.ints(name), usual)
		}
		options := ConvOptions{Stride: list("stride", 1), Padding: list("padding", 0), Dilation: list("dilation", 1),
			OutputPadding: list("outputPadding", 0), Groups: v.int("groups")}
		if c.Op == "convGeneral" {
			options.Padding, options.Dilation, options.InputDilation = list("low", 0), list("kernelDilation", 1), list("inputDilation", 1)
			options.Flip = v.bool("flip")
			if !slices.Equal(v.ints("low"), v.ints("high")) {
				options.PaddingHigh = v.ints("high")
			}
		}
		if options.Groups == 1 {
			options.Groups = 0
		}
		assert.NoError(t, c.checkResults(v, []*Array{f(Ops{}, v.array("input"), v.array("weight"), options)}), "%v", c)
		used[c.Op]++
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(exportedConvolutions)), slices.Collect(maps.Keys(used)))
}

// The functions without a stream are the operations on the default one.
func TestConvolutionFunctions(t *testing.T) {
	x, w := Ones([]int{1, 4, 2}, Float32), Ones([]int{3, 2, 2}, Float32)
	o := ConvOptions{Stride: []int{2}}
	for i, r := range []*Array{Conv1D(x, w, o), ConvGeneral(x, w, o), ConvTranspose1D(x, w, o)} {
		assert.Equal(t, [][]int{{1, 2, 3}, {1, 2, 3}, {1, 8, 3}}[i], r.Shape())
	}
	x, w = x.ExpandDims(2), w.ExpandDims(2)
	assert.Equal(t, []int{1, 2, 1, 3}, Conv2D(x, w, ConvOptions{Stride: []int{2, 1}}).Shape())
	assert.Equal(t, []int{1, 8, 1, 3}, ConvTranspose2D(x, w, ConvOptions{Stride: []int{2, 1}}).Shape())
	x, w = x.ExpandDims(3), w.ExpandDims(3)
	assert.Equal(t, []int{1, 3, 1, 1, 3}, Conv3D(x, w, ConvOptions{}).Shape())
	assert.Equal(t, []int{1, 5, 1, 1, 3}, ConvTranspose3D(x, w, ConvOptions{}).Shape())
}

func TestConvolutionOptionsThatDoNotFit(t *testing.T) {
	x, w := Ones([]int{1, 4, 2}, Float32), Ones([]int{3, 2, 2}, Float32)
	for words, o := range map[string]ConvOptions{
		"one number for each": {Stride: []int{1, 1}}, "at least 1": {Stride: []int{-1}}, "at least one group": {Groups: -1},
		"divisible": {Groups: 3},
	} {
		for name, f := range exportedConvolutions {
			if strings.HasSuffix(name, "1d") || name == "convGeneral" {
				err := f(Ops{}, x, w, o).Err()
				if assert.Error(t, err, "%s %v", name, o) && words != "divisible" {
					assert.ErrorContains(t, err, words, "%s %v", name, o)
				}
				assert.ErrorContains(t, err, strings.ToLower(name)+": ")
			}
		}
	}
	assert.Error(t, Conv2D(x, w, ConvOptions{}).Err())
	assert.Error(t, ConvGeneral(nil, w, ConvOptions{}).Err())
}
