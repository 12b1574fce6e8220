package optim_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
)

func TestStateOfMLXGoesOn(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	want := readVectors(t).Runs["adam"]
	arrays := make(map[string]*mlx.Array)
	for name, v := range want.Params[2] {
		arrays[name] = v.array()
	}
	require.NoError(t, nn.LoadMap(arrays, m))
	require.NoError(t, optim.LoadState("testdata/adam_state.safetensors", o))
	assert.Equal(t, 3, o.Steps())
	for i := 3; i < 6; i++ {
		require.NoError(t, o.Update(m, grads(t, i)))
		requireParams(t, want.Params[i], m, 1e-6, "adam")
	}
}

func TestResumedRunIsTheSameBitForBit(t *testing.T) {
	for name := range makers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			whole, o := newModel(t), newOptimizer(t, name)
			for i := range 3 {
				require.NoError(t, o.Update(whole, grads(t, i)))
			}
			require.NoError(t, nn.Save(filepath.Join(dir, "model.safetensors"), whole))
			require.NoError(t, optim.SaveState(filepath.Join(dir, "opt.safetensors"), o))

			resumed, p := newModel(t), newOptimizer(t, name)
			require.NoError(t, nn.Load(filepath.Join(dir, "model.safetensors"), resumed))
			require.NoError(t, optim.LoadState(filepath.Join(dir, "opt.safetensors"), p))
			assert.Equal(t, o.LearningRate(), p.LearningRate())
			for i := 3; i < 6; i++ {
				require.NoError(t, o.Update(whole, grads(t, i)))
				require.NoError(t, p.Update(resumed, grads(t, i)))
			}
			assert.Equal(t, bits(t, whole), bits(t, resumed))
		})
	}
}

func TestChangedLearningRateIsSaved(t *testing.T) {
	a, b := newOptimizer(t, "adamw"), newOptimizer(t, "adamw")
	require.NoError(t, a.SetLearningRate(0.003))
	require.NoError(t, b.SetState(a.State()))
	assert.Equal(t, a.LearningRate(), b.LearningRate())
	m, n := newModel(t), newModel(t)
	require.NoError(t, a.Update(m, grads(t, 0)))
	require.NoError(t, b.Update(n, grads(t, 0)))
	assert.Equal(t, bits(t, m), bits(t, n))
}

func TestStateIsIndependentOfTheOptimizer(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	require.NoError(t, o.Update(m, grads(t, 0)))
	state := o.State()
	before := values(t, state["scale.m"])
	require.NoError(t, o.Update(m, grads(t, 1)))
	assert.Equal(t, before, values(t, state["scale.m"]), "the next step frees its own arrays only")
	for _, a := range state {
		a.Free()
	}
	require.NoError(t, o.Update(m, grads(t, 2)))
}

func TestSetStateFaultsChangeNothing(t *testing.T) {
	m, o := newModel(t), newOptimizer(t, "adam")
	require.NoError(t, o.Update(m, grads(t, 0)))
	good := o.State()
	with := func(change func(s map[string]*mlx.Array)) map[string]*mlx.Array {
		s := maps.Clone(good)
		change(s)
		return s
	}
	for want, s := range map[string]map[string]*mlx.Array{
		`"step" is missing`:                       with(func(s map[string]*mlx.Array) { delete(s, "step") }),
		`"step": item: the array has dtype int32`: with(func(s map[string]*mlx.Array) { s["step"] = mlx.Scalar(1) }),
		`"step" is 18446744073709551615`:          with(func(s map[string]*mlx.Array) { s["step"] = mlx.Scalar(^uint64(0)) }),
		`learning_rate`:                           with(func(s map[string]*mlx.Array) { s["learning_rate"] = mlx.Scalar(1) }),
		`the learning rate is -1`:                 with(func(s map[string]*mlx.Array) { s["learning_rate"] = mlx.Scalar(float32(-1)) }),
		`"scale" has no v`:                        with(func(s map[string]*mlx.Array) { delete(s, "scale.v") }),
		`"scale" has slots of shapes`:             with(func(s map[string]*mlx.Array) { s["scale.v"] = mlx.New([]float32{1, 2}) }),
		`"scale.w" is no part`:                    with(func(s map[string]*mlx.Array) { s["scale.w"] = mlx.New([]float32{1}) }),
		`"m" is no part of the state of`:          with(func(s map[string]*mlx.Array) { s["m"] = mlx.New([]float32{1}) }),
		`"scale.m" is int32`:                      with(func(s map[string]*mlx.Array) { s["scale.m"] = mlx.Scalar(1) }),
		`"scale.m": reshape`:                      with(func(s map[string]*mlx.Array) { s["scale.m"] = mlx.Scalar(float32(1)).Reshape(2) }),
		`"scale.v": err: the array is nil`:        with(func(s map[string]*mlx.Array) { s["scale.v"] = nil }),
	} {
		err := o.SetState(s)
		require.ErrorContains(t, err, "Adam.SetState")
		require.ErrorContains(t, err, want)
		assert.Equal(t, 1, o.Steps())
	}
	require.NoError(t, o.Update(m, grads(t, 1)))
	requireParams(t, readVectors(t).Runs["adam"].Params[1], m, 1e-6, "adam")
}

func TestLoadStateFaults(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.safetensors")
	m, o := newModel(t), newOptimizer(t, "rmsprop")
	require.NoError(t, o.Update(m, grads(t, 0)))
	require.NoError(t, optim.SaveState(path, o))
	require.ErrorContains(t, optim.LoadState(path, newOptimizer(t, "adagrad")), "the state of RMSprop; the optimiser is Adagrad")
	require.ErrorContains(t, optim.LoadState(filepath.Join(dir, "none.safetensors"), o), "none.safetensors")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)-9], 0o600))
	require.ErrorContains(t, optim.LoadState(path, o), "optim.LoadState")
	assert.Equal(t, 1, o.Steps())
	require.ErrorContains(t, optim.SaveState(filepath.Join(dir, "no", "folder"), o), "optim.SaveState")
}
