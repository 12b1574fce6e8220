package rnn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// useLanes makes even the smallest calls use lanes (1: none) until the test ends.
func useLanes(t testing.TB, cores int) {
	old := laneLimits
	t.Cleanup(func() { laneLimits = old })
	laneLimits.cores = func() int { return cores }
	laneLimits.rows, laneLimits.work = 1, 1
}

// However the rows are shared out, outputs, states, gradients and dropout are the same.
func TestLanesChangeNothing(t *testing.T) {
	for seed := range uint64(60) {
		r := newRand(1000 + seed)
		c := randomConfig(r)
		c.dropout = .4
		var lengths []int
		N, T := 1+r.IntN(5), 1+r.IntN(4)
		if r.IntN(2) == 0 {
			lengths = make([]int, N)
			for i := range lengths {
				lengths[i] = r.IntN(T + 1)
			}
		}
		g := newGradientCase(t, c, N, T, lengths, Train(mlx.Key(seed)))
		useLanes(t, 1)
		want, wantD := gradients(t, g.loss, g.args...)
		plain := floats(t, g.loss(g.args))
		for _, cores := range []int{2, 3} {
			useLanes(t, cores)
			got, gotD := gradients(t, g.loss, g.args...)
			about := fmt.Sprintf("seed %d, %d cores, N=%d T=%d %v %+v", seed, cores, N, T, lengths, c)
			near(t, floats(t, want), got, 1e-12, about)
			near(t, plain, g.loss(g.args), 1e-12, about)
			for i := range wantD {
				near(t, floats(t, wantD[i]), gotD[i], 1e-11, about+g.names[i])
			}
		}
	}
}

func TestLanesEqualTheEquations(t *testing.T) {
	useLanes(t, 3)
	for seed := range uint64(100) {
		r := newRand(seed)
		compareWithEquations(t, r, randomConfig(r), seed)
	}
	TestB20StateLayout(t)
	TestB47GradientsWithLengths(t)
	TestPaddingHasNoEffect(t)
	TestLengthsInsideOfACompiledFunction(t)
	TestEmptyInAllForms(t)
	TestEveryType(t)
	TestB25MixedTypes(t)
	TestB38WrongShapes(t)
	TestSecondDerivative(t)
	TestJVPAndVMap(t)
	TestManyGoroutinesShareALayer(t)
}

func TestShares(t *testing.T) {
	assert.Empty(t, shares(7, 1))
	assert.Equal(t, []int{3}, shares(7, 2))
	assert.Equal(t, []int{2, 4}, shares(7, 3))
	assert.Equal(t, []int{1, 2, 3}, shares(4, 4))
}

func TestWhenLanesAreUsed(t *testing.T) {
	cores := laneLimits.cores
	defer func() { laneLimits.cores = cores }()
	laneLimits.cores = func() int { return 4 }
	at := func(c config, N int) [2]any {
		c.input = 3
		rows, directions := networkOf(newLayer(t, c, 1)).lanes(N)
		return [2]any{rows, directions}
	}
	assert.Equal(t, [2]any{1, false}, at(config{hidden: 8}, 64), "too little work")
	assert.Equal(t, [2]any{4, false}, at(config{hidden: 256}, 64))
	assert.Equal(t, [2]any{2, false}, at(config{hidden: 256}, 9), "at least four rows each")
	assert.Equal(t, [2]any{1, false}, at(config{hidden: 256}, 1))
	assert.Equal(t, [2]any{1, true}, at(config{hidden: 256, direction: Bidirectional}, 1))
	assert.Equal(t, [2]any{4, false}, at(config{hidden: 256, direction: Bidirectional}, 64))
	laneLimits.cores = func() int { return 1 }
	assert.Equal(t, [2]any{1, false}, at(config{hidden: 256, direction: Bidirectional}, 64))
}
