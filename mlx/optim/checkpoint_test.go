package optim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
)

// training is a small run with a carried state and a chain of random keys.
type training struct {
	t          *testing.T
	model      *model
	opt        *optim.Optimizer
	state, key *mlx.Array
	losses     []float32
}

func newTraining(t *testing.T) *training {
	return &training{t: t, model: newModel(t), opt: newOptimizer(t, "adamw corrected"), state: mlx.Zeros([]int{1, 4}, mlx.Float32), key: mlx.Key(3)}
}

func (r *training) steps(n int) {
	drop, err := nn.NewDropout(0.3)
	require.NoError(r.t, err)
	for range n {
		keys := mlx.SplitKey(r.key, 2)
		step := nn.ValueAndGradAux(r.model, func() (*mlx.Array, []*mlx.Array) {
			x := drop.ForwardTrain(r.state.Add(0.5), keys[1])
			y := r.model.Layers[0].Forward(x).Mul(r.model.Scale)
			next := mlx.Concatenate([]*mlx.Array{y, y.Sum().Reshape(1, 1)}, 1).Tanh()
			return next.Square().Sum().Add(r.model.Embed.Weight.Square().Mean()), []*mlx.Array{next}
		})
		loss, aux, g, err := step()
		require.NoError(r.t, err)
		require.NoError(r.t, r.opt.Update(r.model, g, loss, aux[0]))
		r.losses = append(r.losses, values(r.t, loss)[0])
		r.state, r.key = aux[0], keys[0]
	}
}

func (r *training) checkpoint() optim.Checkpoint {
	return optim.Checkpoint{
		Model: r.model, Optimizer: r.opt, Arrays: map[string]*mlx.Array{"state": r.state, "key": r.key},
		Meta: map[string]string{"position": "12345", "text": "any \"text\"\n{}, é"},
	}
}

func TestCheckpointResumesBitForBit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.safetensors")
	a := newTraining(t)
	a.steps(4)
	require.NoError(t, optim.SaveCheckpoint(path, a.checkpoint()))

	b := newTraining(t)
	c := optim.Checkpoint{Model: b.model, Optimizer: b.opt}
	require.NoError(t, optim.LoadCheckpoint(path, &c))
	assert.Equal(t, a.checkpoint().Meta, c.Meta)
	b.state, b.key = c.Arrays["state"], c.Arrays["key"]
	require.Len(t, c.Arrays, 2)
	a.steps(5)
	b.steps(5)
	assert.Equal(t, a.losses[4:], b.losses)
	assert.Equal(t, bits(t, a.model), bits(t, b.model))

	alone := newModel(t)
	require.NoError(t, nn.Load(path, alone, nn.Prefix("model.")))
	d := optim.Checkpoint{}
	require.NoError(t, optim.LoadCheckpoint(path, &d), "neither model nor optimiser asked for")
	assert.Len(t, d.Arrays, 2)
}

func TestLoadCheckpointFaultsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.safetensors")
	a := newTraining(t)
	a.steps(2)
	require.NoError(t, optim.SaveCheckpoint(path, a.checkpoint()))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	b := newTraining(t)
	b.steps(1)
	before := bits(t, b.model)
	unchanged := func(c optim.Checkpoint) {
		t.Helper()
		assert.Equal(t, before, bits(t, b.model))
		assert.Equal(t, 1, b.opt.Steps())
		assert.Nil(t, c.Arrays)
		assert.Nil(t, c.Meta)
	}
	fault := func(path string, model any, o *optim.Optimizer, parts ...string) {
		t.Helper()
		c := optim.Checkpoint{Model: model, Optimizer: o}
		err := optim.LoadCheckpoint(path, &c)
		require.Error(t, err)
		for _, p := range append(parts, "optim.LoadCheckpoint") {
			assert.ErrorContains(t, err, p)
		}
		unchanged(c)
	}
	cut := filepath.Join(dir, "cut.safetensors")
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)-5], 0o600))
	fault(cut, b.model, b.opt)
	fault(filepath.Join(dir, "none.safetensors"), b.model, b.opt, "none.safetensors")
	fault(path, b.model, newOptimizer(t, "sgd"), "the state of AdamW; the optimiser is SGD")

	other := filepath.Join(dir, "other.safetensors")
	small := &struct{ Scale *mlx.Array }{mlx.New([]float32{1, 2})}
	o := newOptimizer(t, "adamw corrected")
	require.NoError(t, o.Update(small, nn.Grads{{Name: "scale", Array: mlx.New([]float32{1, 2})}}))
	require.NoError(t, optim.SaveCheckpoint(other, optim.Checkpoint{Model: small, Optimizer: o}))
	fault(other, b.model, b.opt, `the optimiser's state for "scale" has shape [2]; expected []`)
	fault(other, b.model, nil, "3 missing", "scale has shape [2], expected []")

	model := filepath.Join(dir, "model.safetensors")
	require.NoError(t, nn.Save(model, b.model))
	fault(model, b.model, b.opt, "is no name of a checkpoint")
	require.NoError(t, optim.SaveCheckpoint(model, optim.Checkpoint{Model: b.model}))
	fault(model, b.model, b.opt, `"step" is missing`)

	require.NoError(t, optim.LoadCheckpoint(path, &optim.Checkpoint{Model: b.model, Optimizer: b.opt}), "a good file after the faults")
	assert.Equal(t, bits(t, a.model), bits(t, b.model))
}

func TestSaveCheckpointFaults(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.safetensors")
	m := newModel(t)
	for want, c := range map[string]optim.Checkpoint{
		"nothing to save":     {},
		"is reserved":         {Model: m, Meta: map[string]string{"mpsrnn.optimizer": "x"}},
		"pointer to a struct": {Model: model{}},
		"has no parameters":   {Model: &struct{ a *mlx.Array }{}},
		"reshape":             {Model: m, Arrays: map[string]*mlx.Array{"x": mlx.New([]float32{1}).Reshape(2)}},
	} {
		err := optim.SaveCheckpoint(path, c)
		require.ErrorContains(t, err, "optim.SaveCheckpoint")
		require.ErrorContains(t, err, want)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, files, "nothing half-written is left")
}
