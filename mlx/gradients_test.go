package mlx

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// regularCases has the first case of each operation that is not odd.
func regularCases(t *testing.T) map[string]vectorCase {
	regular := map[string]vectorCase{}
	for _, c := range readVectors(t, "op_vectors.json") {
		if _, ok := regular[c.Op]; !ok && c.Odd == "" {
			regular[c.Op] = c
		}
	}
	return regular
}

// Every operation either has its gradient checked or a reason why it has none.
func TestEveryOperationHasAGradientOrAReason(t *testing.T) {
	for name := range opTable {
		_, excused := notDifferentiable[name]
		assert.NotEqual(t, slices.Contains(differentiable, name), excused, "%s must be in exactly one of the two lists", name)
	}
	for _, name := range slices.Concat(differentiable, slices.Collect(maps.Keys(notDifferentiable)), slices.Collect(maps.Keys(gradientCases))) {
		assert.Contains(t, opTable, name)
	}
}

// probe prepares the gradient check of an operation and gives the tolerance.
func probe(t *testing.T, name string, c vectorCase) (*gradientProbe, float64) {
	args, err := c.arguments()
	require.NoError(t, err)
	how := gradientCases[name]
	maps.Copy(args, how.args)
	dtype, tol := Float64, 1e-4
	if how.single {
		dtype, tol = Float32, 5e-3
	}
	if how.step == 0 {
		how.step = 1e-2
	}
	p, err := newGradientProbe(opTable[name], args, dtype, how.step, how.constants)
	require.NoError(t, err, name)
	return p, tol
}

// The gradients of all differentiable operations, by all their inexact arguments, against central differences.
func TestGradientsAgreeWithDifferences(t *testing.T) {
	regular := regularCases(t)
	for _, name := range differentiable {
		p, tol := probe(t, name, regular[name])
		assert.NoError(t, p.check(tol, 64), name)
	}
}

// The same for the odd cases: views, broadcasts, negative axes, empty arrays, strides and dilations.
func TestGradientsOfOddCases(t *testing.T) {
	checked := 0
	for _, c := range readVectors(t, "op_vectors.json") {
		if c.Odd == "" || !slices.Contains(differentiable, c.Op) || gradientCases[c.Op].args != nil || hasNoOddGradient(c) {
			continue
		}
		p, tol := probe(t, c.Op, c)
		if len(p.primals) == 0 || len(p.call(p.arrays(-1, 0, 0))) == 0 {
			continue // integers
		}
		if assert.NoError(t, p.check(tol, 32), "%v", c) {
			checked++
		}
	}
	t.Logf("%d odd cases", checked)
	assert.Greater(t, checked, 400)
}

// hasNoOddGradient tells cases at whose very points the derivative does not exist, or where a half type's rounding hides it.
func hasNoOddGradient(c vectorCase) bool {
	for _, words := range []string{"half type", "special values", "NaN", "broadcast view", "exclusive", "decimals", "no limits"} {
		if strings.Contains(c.Odd, words) {
			return true
		}
	}
	switch c.Op {
	case "Std", "StdKeepDims":
		return c.Odd == "0-d" // the root of 0
	case "NormNamed":
		return c.Odd == "strided" // the nuclear norm needs the gradient of SVD
	}
	return false
}

// Forward derivatives agree with the gradients: <c, J t> is <J^T c, t>.
func TestForwardDerivativesAgreeWithGradients(t *testing.T) {
	regular := regularCases(t)
	for _, name := range differentiable {
		p, tol := probe(t, name, regular[name])
		err := p.checkForward(10 * tol)
		if slices.Contains(noForward, name) {
			assert.ErrorContains(t, err, "jvp: ", "%s now has a forward derivative", name)
		} else {
			assert.NoError(t, err, name)
		}
	}
}

// The reasons for which operations have no gradient hold.
func TestReasonsForNoGradient(t *testing.T) {
	regular := regularCases(t)
	for name, reason := range notDifferentiable {
		args, err := regular[name].arguments()
		require.NoError(t, err)
		p, err := newGradientProbe(opTable[name], args, Float32, 1e-2, nil)
		require.NoError(t, err, name)
		if reason == noFloatArguments {
			assert.Empty(t, p.primals, name)
			continue
		}
		require.NotEmpty(t, p.primals, name)
		start := p.arrays(-1, 0, 0)
		outs := p.call(start)
		switch reason {
		case noFloatResults:
			assert.Empty(t, outs, name)
			continue
		case rounds:
			assert.Equal(t, Uint32, opTable[name].run(Ops{}, args)[0].Dtype(), name)
			continue
		}
		ones := make([]*Array, len(outs))
		for i, r := range outs {
			ones[i] = OnesLike(r)
		}
		_, grads, err := VJP(p.call, start, ones)
		if reason == notInMLX {
			assert.ErrorContains(t, err, "ot implemented", name)
			continue
		}
		require.NoError(t, err, name)
		for _, g := range grads {
			assert.NoError(t, near(g, ZerosLike(g), 0), "%s: %s", name, reason)
		}
	}
}
