package mlx

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each operation against MLX's own Python package and numpy, on regular and on odd cases.
func TestOperationsAgreeWithPython(t *testing.T) {
	for _, c := range readVectors(t, "op_vectors.json") {
		runVector(t, c, Ops{})
	}
}

// A scalar operand takes the array's type as it does in MLX's Python package, on either side.
func TestScalarOperandsAgreeWithPython(t *testing.T) {
	for _, c := range readVectors(t, "scalar_vectors.json") {
		runVector(t, c, Ops{})
	}
}

// On a stream of one's own the results are the same.
func TestOperationsOnAnotherStream(t *testing.T) {
	stream, err := NewStream(CPU)
	require.NoError(t, err)
	for _, c := range readVectors(t, "op_vectors.json") {
		runVector(t, c, On(stream))
	}
}

func runVector(t *testing.T, c vectorCase, o Ops) {
	t.Helper()
	op, ok := opTable[c.Op]
	if !assert.True(t, ok, "%v: no such operation", c) {
		return
	}
	args, err := c.arguments()
	if !assert.NoError(t, err) {
		return
	}
	assert.NoError(t, c.checkResults(args, op.run(o, args)), "%v %s", c, c.Args)
}

// Every operation has at least two cases, at least one of them odd.
func TestEveryOperationHasVectors(t *testing.T) {
	count, odd := map[string]int{}, map[string]int{}
	for _, c := range readVectors(t, "op_vectors.json") {
		count[c.Op]++
		if c.Odd != "" {
			odd[c.Op]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(opTable)) {
		assert.GreaterOrEqual(t, count[name], 2, "cases of %s", name)
		assert.GreaterOrEqual(t, odd[name], 1, "odd cases of %s", name)
		assert.Greater(t, count[name], odd[name], "regular cases of %s", name)
	}
}
