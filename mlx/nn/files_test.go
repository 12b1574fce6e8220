package nn_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// snapshot remembers which arrays a module has and gives a check that they are still the same.
func snapshot(t *testing.T, module any) (unchanged func()) {
	before, err := nn.Parameters(module)
	require.NoError(t, err)
	return func() {
		t.Helper()
		after, err := nn.Parameters(module)
		require.NoError(t, err)
		assert.Equal(t, len(before), len(after))
		for i := range before {
			assert.Same(t, before[i].Array, after[i].Array, before[i].Name)
		}
	}
}

func TestLoadFileOfMLX(t *testing.T) {
	m := mlxSequential(t)
	require.NoError(t, nn.Load("testdata/sequential.safetensors", m))
	c := readVectors(t).Layers["sequential"]
	requireNear(t, c.Y, m.Forward(c.X.array(t)), 1e-6, "output")
	assert.Equal(t, c.Params["layers.2.bias"].floats(t), values(t, m.Layers[2].(*nn.LayerNorm).Bias))
}

func TestSaveAndLoadAreExact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	odd := []float32{0.1, -0, float32(math.Inf(1)), 1e-45, math.MaxFloat32, float32(math.NaN())}
	type all struct {
		F32, F16, BF16, F64, I64, Scalar, Empty, View *mlx.Array
	}
	x := mlx.New(odd, 2, 3)
	m := &all{
		F32: x, F16: x.AsType(mlx.Float16), BF16: x.AsType(mlx.BFloat16), F64: mlx.New([]float64{0.1, math.Pi}),
		I64: mlx.New([]int64{1 << 60}), Scalar: mlx.Scalar(float32(0.3)), Empty: mlx.Zeros([]int{0, 3}, mlx.Float32),
		View: mlx.Arange(0, 12, 1, mlx.Float32).Reshape(3, 4).T().SliceAxis(0, 1, 3),
	}
	require.NoError(t, nn.Save(path, m))
	zeros := func(a *mlx.Array) *mlx.Array { return mlx.Zeros(a.Shape(), a.Dtype()) }
	n := &all{zeros(m.F32), zeros(m.F16), zeros(m.BF16), zeros(m.F64), zeros(m.I64), zeros(m.Scalar), zeros(m.Empty), zeros(m.View)}
	require.NoError(t, nn.Load(path, n))
	bits := func(v []float32) (out []uint32) {
		for _, f := range v {
			out = append(out, math.Float32bits(f))
		}
		return out
	}
	assert.Equal(t, bits(odd), bits(values(t, n.F32)))
	for name, pair := range map[string][2]*mlx.Array{"F16": {m.F16, n.F16}, "BF16": {m.BF16, n.BF16}} {
		a, err := mlx.Values[uint16](pair[0].View(mlx.Uint16))
		require.NoError(t, err)
		b, err := mlx.Values[uint16](pair[1].View(mlx.Uint16))
		require.NoError(t, err)
		assert.Equal(t, a, b, name)
	}
	f64, err := mlx.Values[float64](n.F64)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.1, math.Pi}, f64)
	i64, err := mlx.Values[int64](n.I64)
	require.NoError(t, err)
	assert.Equal(t, []int64{1 << 60}, i64)
	assert.Equal(t, []int{}, n.Scalar.Shape())
	assert.Equal(t, []int{0, 3}, n.Empty.Shape())
	assert.Equal(t, []float32{1, 5, 9, 2, 6, 10}, values(t, n.View))
}

func TestLoadReportsAllFaultsAndChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.safetensors")
	require.NoError(t, mlx.SaveSafetensors(path, map[string]*mlx.Array{
		"weight": mlx.Zeros([]int{2, 3}, mlx.Float32), "gamma": vector(1), "beta": vector(1),
	}, nil))
	l := newLinear(t, 2, 3, 1)
	unchanged := snapshot(t, l)
	err := nn.Load(path, l)
	require.ErrorContains(t, err, "nn.Load "+path)
	for _, part := range []string{"1 missing: bias", "2 not in the module: beta, gamma", "weight has shape [2 3], expected [3 2]"} {
		assert.ErrorContains(t, err, part)
	}
	unchanged()
	require.ErrorContains(t, nn.Load(path, l, nn.AllowMissing(), nn.AllowExtra()), "weight has shape", "a wrong shape is never allowed")
	unchanged()
	require.ErrorContains(t, nn.Load(path, l, nn.Prefix("model."), nn.AllowExtra()), `"model."`)
	require.ErrorContains(t, nn.Load(path, l, nn.Prefix("model."), nn.AllowExtra(), nn.AllowMissing()), "none of the 3 arrays")
	unchanged()
	require.ErrorContains(t, nn.LoadMap(map[string]*mlx.Array{"weight": mlx.Zeros([]int{3, 2}, mlx.Int32)}, l, nn.AllowMissing()),
		"weight has dtype int32, expected float32")
	require.ErrorContains(t, nn.LoadMap(map[string]*mlx.Array{"weight": vector(1).Reshape(5)}, l, nn.AllowMissing()), "reshape")
	require.Error(t, nn.LoadMap(map[string]*mlx.Array{"weight": nil}, l, nn.AllowMissing()))
	cpu, err := mlx.DeviceStream(mlx.CPU)
	require.NoError(t, err)
	singular := mlx.On(cpu).Inverse(mlx.Zeros([]int{3, 3}, mlx.Float32)).SliceAxis(1, 0, 2)
	require.NoError(t, singular.Err())
	require.Error(t, nn.LoadMap(map[string]*mlx.Array{"weight": singular, "bias": vector(1, 2, 3)}, l), "a fault of the computation")
	unchanged()
}

func TestLoadOptions(t *testing.T) {
	l := newLinear(t, 1, 1, 1)
	old := l.Bias
	require.NoError(t, nn.LoadMap(map[string]*mlx.Array{"model.weight": vector(7).Reshape(1, 1), "optimizer.step": vector(1)}, l,
		nn.Prefix("model."), nn.AllowMissing()))
	assert.Equal(t, []float32{7}, values(t, l.Weight))
	assert.Same(t, old, l.Bias)
	require.NoError(t, nn.LoadMap(map[string]*mlx.Array{"weight": vector(8).Reshape(1, 1), "bias": vector(9), "more": vector(1)}, l, nn.AllowExtra()))
	assert.Equal(t, []float32{8, 9}, append(values(t, l.Weight), values(t, l.Bias)...))
}

func TestLoadConvertsToTheDtypeOfTheParameter(t *testing.T) {
	l := newLinear(t, 1, 1, 1)
	require.NoError(t, nn.LoadMap(map[string]*mlx.Array{
		"weight": vector(0.5).Reshape(1, 1).AsType(mlx.Float16), "bias": mlx.New([]float64{0.25}),
	}, l))
	assert.Equal(t, []float32{0.5, 0.25}, append(values(t, l.Weight), values(t, l.Bias)...))
}

func TestLoadTiedParameters(t *testing.T) {
	a, b := mlx.Full([]int{3, 2}, 1, mlx.Float32), mlx.Full([]int{3, 2}, 2, mlx.Float32)
	twice := mlx.Zeros([]int{2, 2}, mlx.Float32)
	nan := mlx.Full([]int{3, 2}, math.NaN(), mlx.Float32)
	for name, c := range map[string]struct {
		arrays map[string]*mlx.Array
		fault  string
	}{
		"first name":  {map[string]*mlx.Array{"embed.weight": a, "twice.0.weight": twice}, ""},
		"second name": {map[string]*mlx.Array{"out.weight": a, "twice.1.weight": twice}, ""},
		"both":        {map[string]*mlx.Array{"embed.weight": a, "out.weight": mlx.Keep(a), "twice.0.weight": twice}, ""},
		"both NaN":    {map[string]*mlx.Array{"embed.weight": nan, "out.weight": mlx.Keep(nan), "twice.0.weight": twice}, ""},
		"not equal":   {map[string]*mlx.Array{"embed.weight": a, "out.weight": b, "twice.0.weight": twice}, `"embed.weight" and "out.weight" are one parameter`},
	} {
		m := newTied()
		unchanged := snapshot(t, m)
		err := nn.LoadMap(c.arrays, m)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, name)
			unchanged()
			continue
		}
		require.NoError(t, err, name)
		assert.Same(t, m.Embed.Weight, m.Out.Weight, name)
	}
	path := filepath.Join(t.TempDir(), "tied.safetensors")
	require.NoError(t, nn.Save(path, newTied()))
	arrays, _, err := mlx.LoadSafetensors(path)
	require.NoError(t, err)
	assert.Len(t, arrays, 2, "written once")
	require.NoError(t, nn.Load(path, newTied()))
}

func TestLoadDoesNotTieParametersOfOneArray(t *testing.T) {
	m := &struct{ First, Second *mlx.Array }{vector(1), vector(2)}
	same := vector(3)
	require.NoError(t, nn.LoadMap(map[string]*mlx.Array{"first": same, "second": same}, m))
	assert.NotSame(t, m.First, m.Second)
	same.Free()
	assert.Equal(t, []float32{3, 3}, append(values(t, m.First), values(t, m.Second)...))
}

func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	l := newLinear(t, 8, 8, 1)
	require.NoError(t, nn.Save(whole+".safetensors", l))
	good, err := os.ReadFile(whole + ".safetensors")
	require.NoError(t, err)
	unchanged := snapshot(t, l)
	for name, data := range map[string][]byte{
		"empty": {}, "short": good[:4], "header cut": good[:40], "data cut": good[:len(good)-17],
		"huge header": append([]byte{255, 255, 255, 255, 255, 255, 255, 127}, good[8:]...), "text": []byte("this is not a file of weights at all"),
	} {
		path := filepath.Join(dir, name+".safetensors")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		require.ErrorContains(t, nn.Load(path, l), "nn.Load", name)
		unchanged()
	}
	require.ErrorContains(t, nn.Load(filepath.Join(dir, "nowhere.safetensors"), l), "nowhere")
	unchanged()
	require.NoError(t, nn.Load(whole+".safetensors", l), "a good file after the faults")
}

func TestSaveFaultsLeaveTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	l := newLinear(t, 2, 2, 1)
	require.NoError(t, nn.Save(path, l))
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	require.ErrorContains(t, nn.Save(path, &struct{ a *mlx.Array }{vector(1)}), "no parameters")
	l.Bias.Free()
	require.ErrorContains(t, nn.Save(path, l), "freed")
	require.Error(t, nn.Save(filepath.Join(dir, "no", "folder", "x.safetensors"), newLinear(t, 2, 2, 1)))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing half-written is left")
}
