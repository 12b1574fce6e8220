package optim_test

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
)

func TestOptimizersEqualMLXAndPyTorch(t *testing.T) {
	v := readVectors(t)
	require.Len(t, makers(), len(v.Runs))
	for name, want := range v.Runs {
		t.Run(name, func(t *testing.T) {
			m, o := newModel(t), newOptimizer(t, name)
			for i := range v.Grads {
				assert.Equal(t, i, o.Steps())
				require.NoError(t, o.Update(m, grads(t, i)))
				requireParams(t, want.Params[i], m, 1e-6, name)
			}
			if want.State == nil {
				return
			}
			state := o.State()
			step, err := mlx.Item[uint64](state["step"])
			require.NoError(t, err)
			assert.Equal(t, uint64(len(v.Grads)), step)
			for slot, s := range want.State {
				if state[slot] == nil {
					assert.Contains(t, []string{"sgd", "sgd decay"}, name, "plain descent has no state; MLX keeps zeros")
					assert.Equal(t, make([]float64, len(s.Float)), s.Float)
					continue
				}
				assert.Equal(t, s.Shape, append([]int{}, state[slot].Shape()...))
				requireNear(t, s, state[slot], 2e-6, slot)
			}
		})
	}
}

func TestUpdateOfSomeParameters(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	scale, embed := m.Scale, m.Embed
	g := grads(t, 0)
	some := nn.Grads{{Name: "layers.0.bias", Array: g.Get("layers.0.bias")}}
	require.NoError(t, o.Update(m, some))
	assert.Same(t, scale, m.Scale)
	assert.Same(t, embed.Weight, m.Embed.Weight)
	assert.Len(t, o.State(), 4, "step, rate and two slots")
}

// mixed has the dtypes that a model can have.
type mixed struct {
	A, B, C, D *mlx.Array
}

func TestHalfPrecisionIsUpdatedInFloat32(t *testing.T) {
	start := []float32{1, -2, 3}
	cast := func(d mlx.Dtype) *mlx.Array { return mlx.New(start).AsType(d) }
	m := &mixed{cast(mlx.Float16), cast(mlx.BFloat16), cast(mlx.Float32), cast(mlx.Float64)}
	o := newOptimizer(t, "adam corrected")
	for range 3 {
		var g nn.Grads
		for _, p := range []nn.Param{{Name: "A", Array: m.A}, {Name: "B", Array: m.B}, {Name: "C", Array: m.C}, {Name: "D", Array: m.D}} {
			// The zero would be 0/0 in half precision, where the eps of 1e-8 is zero.
			g = append(g, nn.Param{Name: p.Name, Array: mlx.New([]float32{0.5, 0, -1}).AsType(p.Array.Dtype())})
		}
		require.NoError(t, o.Update(m, g))
	}
	want := values(t, m.C)
	for d, a := range map[mlx.Dtype]*mlx.Array{mlx.Float16: m.A, mlx.BFloat16: m.B, mlx.Float64: m.D} {
		assert.Equal(t, d, a.Dtype())
		for i, v := range values(t, a.AsType(mlx.Float32)) {
			assert.InDelta(t, want[i], v, 0.02, "%v", d)
		}
	}
	assert.Equal(t, float32(-2), want[1])
	state := o.State()
	assert.Equal(t, mlx.Float32, state["A.m"].Dtype())
	assert.Equal(t, mlx.Float64, state["D.v"].Dtype())
}

func TestUpdateFaultsChangeNothing(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	require.NoError(t, o.Update(m, grads(t, 0)))
	before, state := bits(t, m), o.State()
	bad := grads(t, 1)
	for i := range bad {
		switch bad[i].Name {
		case "scale":
			bad[i].Array = mlx.New([]float32{1})
		case "embed.weight":
			bad[i].Name = "embed.weights"
		case "layers.0.bias":
			bad[i].Array = mlx.New([]int{1, 2, 3})
		}
	}
	bad = append(bad, bad[slices.IndexFunc(bad, func(p nn.Param) bool { return p.Name == "layers.0.weight" })])
	err := o.Update(m, bad)
	require.ErrorContains(t, err, "Adam.Update")
	for _, part := range []string{`"scale": the gradient has shape [1]; expected []`, `"embed.weights": a gradient of no parameter`,
		`"layers.0.bias": a gradient of dtype int32`, `"layers.0.weight": two gradients`} {
		assert.ErrorContains(t, err, part)
	}
	for want, g := range map[string]nn.Grads{
		"no gradients": nil,
		"reshape":      {{Name: "scale", Array: mlx.New([]float32{1}).Reshape(7)}},
		"nil":          {{Name: "scale", Array: nil}},
	} {
		require.ErrorContains(t, o.Update(m, g), want)
	}
	require.ErrorContains(t, o.Update(m, grads(t, 1), mlx.ErrorArray("loss", errors.New("broken"))), "loss: broken")
	require.ErrorContains(t, o.Update(model{}, grads(t, 1)), "pointer to a struct")

	assert.Equal(t, before, bits(t, m))
	assert.Equal(t, 1, o.Steps())
	for name, a := range o.State() {
		if name != "step" {
			assert.Equal(t, values(t, state[name]), values(t, a), name)
		}
	}
	// After the faults it goes on as if they had not been.
	require.NoError(t, o.Update(m, grads(t, 1)))
	requireParams(t, readVectors(t).Runs["adam"].Params[1], m, 1e-6, "adam")
}

func TestParameterThatChangedItsShape(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	require.NoError(t, o.Update(m, grads(t, 0)))
	m.Scale = mlx.New([]float32{1, 2})
	err := o.Update(m, nn.Grads{{Name: "scale", Array: mlx.New([]float32{1, 2})}})
	require.ErrorContains(t, err, `"scale": the optimiser's m has shape [], the parameter [2]`)
}

func TestNaNGradientsPassThrough(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adamw")
	g := nn.Grads{{Name: "scale", Array: mlx.Scalar(float32(math.NaN()))}}
	require.NoError(t, o.Update(m, g))
	assert.True(t, math.IsNaN(float64(values(t, m.Scale)[0])))
}

func TestConfigFaultsAreReportedTogether(t *testing.T) {
	_, err := optim.NewSGD(optim.SGDConfig{Momentum: -1, WeightDecay: math.NaN(), Dampening: math.Inf(1), Nesterov: true})
	for _, part := range []string{"optim.NewSGD", "neither LearningRate nor Schedule", "Momentum is -1", "WeightDecay is NaN", "Dampening is +Inf", "Nesterov needs"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = optim.NewAdam(optim.AdamConfig{LearningRate: 1, Schedule: optim.Constant(1), Betas: [2]float64{1, -0.1}, Eps: -1})
	for _, part := range []string{"both LearningRate and Schedule", "Betas[0] is 1", "Betas[1] is -0.1", "Eps is -1"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = optim.NewAdamW(optim.AdamWConfig{LearningRate: -1, WeightDecay: -1})
	assert.ErrorContains(t, err, "learning rate is -1")
	assert.ErrorContains(t, err, "WeightDecay is -1")
	_, err = optim.NewRMSprop(optim.RMSpropConfig{LearningRate: math.NaN(), Alpha: 1})
	assert.ErrorContains(t, err, "learning rate is NaN")
	assert.ErrorContains(t, err, "Alpha is 1")
	_, err = optim.NewAdagrad(optim.AdagradConfig{Schedule: optim.StepDecay(1, 1, 0)})
	assert.ErrorContains(t, err, "StepDecay: every is 0")
	_, err = optim.NewLion(optim.LionConfig{LearningRate: 1, WeightDecay: math.Inf(1)})
	assert.ErrorContains(t, err, "WeightDecay is +Inf")
	_, err = optim.New("mine", 1, optim.Schedule{}, nil)
	assert.ErrorContains(t, err, "rule is nil")
}

func TestLearningRate(t *testing.T) {
	m := newModel(t)
	o := newOptimizer(t, "sgd")
	assert.InDelta(t, 0.1, o.LearningRate(), 1e-8)
	require.NoError(t, o.SetLearningRate(0.5))
	before := values(t, m.Scale)[0]
	require.NoError(t, o.Update(m, nn.Grads{{Name: "scale", Array: mlx.Scalar(float32(2))}}))
	assert.Equal(t, before-1, values(t, m.Scale)[0])
	require.ErrorContains(t, o.SetLearningRate(math.NaN()), "learning rate is NaN")
	require.ErrorContains(t, o.SetLearningRate(-1), "learning rate is -1")
	require.ErrorContains(t, newOptimizer(t, "sgd cosine").SetLearningRate(1), "follows a schedule")

	broken, err := optim.NewSGD(optim.SGDConfig{Schedule: optim.Func(func(step int) float64 { return math.Inf(1) })})
	require.NoError(t, err)
	require.ErrorContains(t, broken.Update(m, grads(t, 0)), "step 0: the learning rate is +Inf")
}

// halving is a rule of the test's own.
type halving struct{ slots []string }

func (r halving) Slots() []string { return []string{"n"} }

func (r halving) Apply(s optim.Step, w, g *mlx.Array, slots []*mlx.Array) (*mlx.Array, []*mlx.Array) {
	next := []*mlx.Array{slots[0].Add(s.Count)}
	if r.slots != nil {
		next = nil
	}
	return w.Mul(0.5).Sub(g.Mul(s.Rate)), next
}

func TestRuleOfOnesOwn(t *testing.T) {
	o, err := optim.New("halving", 0.25, optim.Schedule{}, halving{})
	require.NoError(t, err)
	m := &mixed{A: mlx.New([]float32{8})}
	for range 2 {
		require.NoError(t, o.Update(m, nn.Grads{{Name: "A", Array: mlx.New([]float32{4})}}))
	}
	assert.Equal(t, []float32{0.5}, values(t, m.A))
	assert.Equal(t, []float32{3}, values(t, o.State()["A.n"]))
	broken, err := optim.New("halving", 0.25, optim.Schedule{}, halving{slots: []string{}})
	require.NoError(t, err)
	require.ErrorContains(t, broken.Update(m, nn.Grads{{Name: "A", Array: mlx.New([]float32{4})}}), "gives 0 slots; expected 1")
}

func TestUpdateOutlivesScopes(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	for i := range readVectors(t).Grads {
		scope := mlx.NewScope()
		g := grads(t, i)
		for j := range g {
			g[j].Array = scope.Own(g[j].Array).Mul(1)
		}
		require.NoError(t, o.Update(m, g))
		scope.Close()
	}
	requireParams(t, readVectors(t).Runs["adam"].Params[5], m, 1e-6, "adam")
}

func TestTiedParametersAreUpdatedOnce(t *testing.T) {
	table := mlx.New([]float32{1, 2})
	m := &struct{ In, Out *mlx.Array }{table, table}
	o := newOptimizer(t, "sgd momentum")
	_, g, err := nn.ValueAndGrad(m, func() *mlx.Array { return m.In.Mul(m.Out).Sum() })()
	require.NoError(t, err)
	require.NoError(t, o.Update(m, g))
	assert.Same(t, m.In, m.Out)
	// The gradient of w² is 2w; with weight decay 0.05 and rate 0.1: w - 0.1 (2w + 0.05w).
	for i, v := range values(t, m.In) {
		assert.InDelta(t, float64(i+1)*(1-0.205), v, 1e-6)
	}
}

// B85 and the flat memory of a training loop: neither graphs nor native memory grow from step to step.
func TestB85TrainingKeepsMemoryFlat(t *testing.T) {
	l, err := nn.NewLinear(nn.LinearConfig{Input: 64, Output: 64}, mlx.Key(1))
	require.NoError(t, err)
	o := newOptimizer(t, "adamw")
	x := mlx.RandomNormal([]int{16, 64}, mlx.Float32, 0, 1, mlx.Key(2))
	step := nn.ValueAndGrad(l, func(x *mlx.Array) *mlx.Array { return nn.MSE(l.Forward(x), x) })
	first, last := 0.0, 0.0
	loop := func(n int) {
		for range n {
			scope := mlx.NewScope()
			loss, g, err := step(scope.Own(x))
			require.NoError(t, err)
			g, norm := optim.ClipByGlobalNorm(g, 1)
			require.NoError(t, o.Update(l, g, loss, norm))
			last = float64(values(t, loss)[0])
			if first == 0 {
				first = last
			}
			scope.Close()
		}
	}
	loop(100)
	mlx.ResetPeakMemory()
	loop(200)
	peak := mlx.PeakMemory()
	loop(1000)
	assert.LessOrEqual(t, mlx.PeakMemory(), peak+4<<20, "old parameters wait for the collector, no more")
	assert.Less(t, last, first/4, "and it learns")
}

// Models and optimisers share nothing that changes: each goroutine trains its own and gets the same.
func TestTrainingInManyGoroutines(t *testing.T) {
	want := bitsAfter(t, 3)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.Equal(t, want, bitsAfter(t, 3)) })
	}
	wg.Wait()

	// One optimiser may be read while it works.
	m, o := newModel(t), newOptimizer(t, "adam")
	wg.Go(func() {
		for i := range 6 {
			assert.NoError(t, o.Update(m, grads(t, i)))
		}
	})
	wg.Go(func() {
		for range 20 {
			for _, a := range o.State() {
				assert.NoError(t, a.Eval())
			}
			_, _ = o.LearningRate(), o.Steps()
		}
	})
	wg.Wait()
}

func bitsAfter(t *testing.T, steps int) map[string][]uint32 {
	m := newModel(t)
	o, err := makers()["adamw corrected"]()
	assert.NoError(t, err)
	step := nn.ValueAndGrad(m, func(x *mlx.Array) *mlx.Array {
		h := m.Layers[0].Forward(x).Mul(m.Scale)
		return h.Square().Mean().Add(m.Embed.Weight.Square().Sum())
	})
	for i := range steps {
		_, g, err := step(mlx.RandomNormal([]int{5, 4}, mlx.Float32, 0, 1, mlx.Key(uint64(i))))
		assert.NoError(t, err)
		assert.NoError(t, o.Update(m, g))
	}
	return bits(t, m)
}

func TestUpdateFreesWhatItReplaces(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	given := m.Scale
	require.NoError(t, o.Update(m, grads(t, 0)))
	made := m.Scale
	best, err := nn.Snapshot(m)
	require.NoError(t, err)
	want := bits(t, m)
	require.NoError(t, o.Update(m, grads(t, 1)))
	require.NoError(t, given.Eval(), "what others made is not freed")
	require.ErrorContains(t, made.Err(), "freed")

	require.NoError(t, nn.Update(m, best))
	assert.Equal(t, want, bits(t, m), "a snapshot goes back")
	set := m.Scale
	require.NoError(t, o.Update(m, grads(t, 2)))
	require.NoError(t, set.Eval(), "what nn.Update set is not freed")
	for _, p := range best {
		require.NoError(t, p.Array.Eval())
	}
}
