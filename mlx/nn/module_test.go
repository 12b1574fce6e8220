package nn_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

type base struct {
	Scale *mlx.Array
}

type block struct {
	base
	In, QueryProj *nn.Linear
	Missing       *nn.Linear
	Many          []*nn.Linear
	Pair          [2]*mlx.Array
	Inner         struct{ Weight *mlx.Array }
	GRU           *nn.Linear
	Named         *mlx.Array `mlx:"Wx"`
	Fixed         *mlx.Array `mlx:"running_mean,frozen"`
	Counter       *mlx.Array `mlx:",frozen"`
	Hidden        *mlx.Array `mlx:"-"`
	Any           nn.Layer
	Steps         int
	Notes         map[string]string
	Fail          error
	unseen        *mlx.Array
}

func vector(values ...float32) *mlx.Array { return mlx.New(values) }

func newBlock() *block {
	linear := func() *nn.Linear { return &nn.Linear{Weight: vector(1, 2).Reshape(1, 2), Bias: vector(3)} }
	b := &block{
		base: base{Scale: vector(1)}, In: linear(), QueryProj: &nn.Linear{Weight: vector(4)},
		Many: []*nn.Linear{linear(), nil, linear()}, Pair: [2]*mlx.Array{vector(5), vector(6)},
		GRU: linear(), Named: vector(7), Fixed: vector(8), Counter: mlx.New([]int{9}), Hidden: vector(10),
		Any: nn.NewSequential(nn.LayerFunc(nn.ReLU), linear()), Fail: errors.New("none"), unseen: vector(11),
	}
	b.Inner.Weight = vector(12)
	return b
}

func names(t *testing.T, module any) []string {
	params, err := nn.Parameters(module)
	require.NoError(t, err)
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.Name
	}
	return list
}

func TestParameterNames(t *testing.T) {
	b := newBlock()
	want := []string{
		"Scale", "in.weight", "in.bias", "query_proj.weight",
		"many.0.weight", "many.0.bias", "many.2.weight", "many.2.bias", "pair.0", "pair.1", "inner.weight",
		"GRU.weight", "GRU.bias", "Wx", "running_mean", "counter", "any.layers.1.weight", "any.layers.1.bias",
	}
	want[0] = "scale"
	for range 3 {
		assert.Equal(t, want, names(t, b), "the order is stable")
	}
	n, err := nn.Count(b)
	require.NoError(t, err)
	assert.Equal(t, 1+3+1+6+2+1+3+3+3, n)
	assert.Same(t, b.unseen, newBlockLike(b).unseen)
}

func newBlockLike(b *block) *block { c := *b; return &c }

func TestDefaultNames(t *testing.T) {
	a := func() *mlx.Array { return vector(1) }
	m := &struct{ Weight, WIH, W2, QueryProj, GRULayer, Linear1, Conv2D, RunningMeanX, Layer1Norm, Bias_Hn *mlx.Array }{
		a(), a(), a(), a(), a(), a(), a(), a(), a(), a(),
	}
	assert.Equal(t, []string{
		"weight", "WIH", "W2", "query_proj", "gru_layer", "linear1", "conv2d", "running_mean_x", "layer1_norm", "bias_hn",
	}, names(t, m))
}

func TestEmbeddedStructs(t *testing.T) {
	type Outer struct {
		*base
		nn.Linear `mlx:"proj"`
		Bias      *mlx.Array
	}
	m := &Outer{base: &base{vector(1)}, Linear: nn.Linear{Weight: vector(2)}, Bias: vector(3)}
	assert.Equal(t, []string{"scale", "proj.weight", "bias"}, names(t, m))
	require.NoError(t, nn.Update(m, []nn.Param{{"scale", vector(5)}, {"proj.weight", vector(6)}}))
	assert.Equal(t, []float32{5, 6}, append(values(t, m.Scale), values(t, m.Weight)...))
	assert.Equal(t, []string{"bias"}, names(t, &Outer{Bias: vector(3)}), "an embedded nil pointer is absent")
}

type node struct {
	Weight *mlx.Array
	Next   *node
}

func TestModuleFaults(t *testing.T) {
	cycle := &node{Weight: vector(1)}
	cycle.Next = &node{Weight: vector(2), Next: cycle}
	for want, m := range map[string]any{
		"the module is nil": nil,
		"expected a pointer to a struct; the module is a nn.Linear": nn.Linear{},
		"nil *nn.Linear":             (*nn.Linear)(nil),
		"the module is a *mlx.Array": vector(1),
		"the module is a *int":       new(int),
		`"w" is that of field A too`: &struct {
			A, B *mlx.Array `mlx:"w"`
		}{},
		`two parameters have the name "weight"`: &struct {
			nn.Linear
			Weight *mlx.Array
		}{nn.Linear{Weight: vector(1)}, vector(2)},
		`'.' cannot be part of a name`: &struct {
			A *mlx.Array `mlx:"a.b"`
		}{},
		`unknown option "frosen"`: &struct {
			A *mlx.Array `mlx:"a,frosen"`
		}{},
		"has no effect, since the field": &struct {
			a *mlx.Array `mlx:"a"`
		}{},
		"has no effect, since type int": &struct {
			N int `mlx:"n"`
		}{},
		"held as *mlx.Array": &struct{ A mlx.Array }{},
		"a map has no order": &struct{ M map[string]*mlx.Array }{},
		"by value":           &struct{ L any }{L: nn.Linear{Weight: vector(1)}},
		"contains itself":    cycle,
	} {
		_, err := nn.Parameters(m)
		require.Error(t, err, want)
		for _, part := range []string{"nn.Parameters", want} {
			if want == "expected a pointer to a struct; the module is a nn.Linear" {
				part = "nn.Linear; expected a pointer to a struct"
			}
			assert.ErrorContains(t, err, part)
		}
	}
	cycle.Next.Next = nil
	assert.Equal(t, []string{"weight", "next.weight"}, names(t, cycle), "good again")
}

func TestUpdate(t *testing.T) {
	b := newBlock()
	old := b.In.Bias
	scope := mlx.NewScope()
	value := scope.Own(vector(100)).Add(1)
	require.NoError(t, nn.Update(b, []nn.Param{{"many.2.bias", value}, {"any.layers.1.bias", vector(102)}, {"pair.1", vector(103)}}))
	scope.Close()
	assert.Equal(t, []float32{101}, values(t, b.Many[2].Bias), "outside of the scope")
	assert.Equal(t, []float32{102}, values(t, b.Any.(*nn.Sequential).Layers[1].(*nn.Linear).Bias))
	assert.Equal(t, []float32{103}, values(t, b.Pair[1]))
	assert.Same(t, old, b.In.Bias, "parameters that are not named stay")
}

func TestUpdateReportsAllFaultsAndChangesNothing(t *testing.T) {
	b := newBlock()
	before, err := nn.Parameters(b)
	require.NoError(t, err)
	err = nn.Update(b, []nn.Param{
		{"scale", vector(50)}, {"scale", vector(51)}, {"nothing", vector(1)}, {"in.weight", vector(1, 2)},
		{"in.bias", mlx.New([]int{1})}, {"GRU.bias", vector(1).Reshape(7)}, {"Wx", nil},
	})
	require.ErrorContains(t, err, "nn.Update")
	for _, part := range []string{`"scale" is given twice`, `"nothing" is no parameter`, `"in.weight" has shape [2]; expected [1 2]`,
		`"in.bias" has dtype int32; expected float32`, `"GRU.bias": reshape`, `"Wx"`} {
		assert.ErrorContains(t, err, part)
	}
	after, err := nn.Parameters(b)
	require.NoError(t, err)
	require.Len(t, after, len(before))
	for i := range before {
		assert.Same(t, before[i].Array, after[i].Array, before[i].Name)
	}
}

type tied struct {
	Embed *nn.Embedding
	Out   *nn.Linear
	Twice []*nn.Linear
}

func newTied() *tied {
	table := mlx.New([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	shared := &nn.Linear{Weight: mlx.New([]float32{1, 0.5, -1, 2}, 2, 2)}
	return &tied{Embed: &nn.Embedding{Weight: table}, Out: &nn.Linear{Weight: table}, Twice: []*nn.Linear{shared, shared}}
}

func (m *tied) forward(ids *mlx.Array) *mlx.Array {
	x := m.Embed.Forward(ids)
	for _, l := range m.Twice {
		x = l.Forward(x)
	}
	return m.Out.Forward(x)
}

func TestTiedParameters(t *testing.T) {
	m := newTied()
	assert.Equal(t, []string{"embed.weight", "twice.0.weight"}, names(t, m))
	ids := mlx.New([]int{2, 0})
	_, grads, err := nn.ValueAndGrad(m, func() *mlx.Array { return m.forward(ids).Square().Sum() })()
	require.NoError(t, err)
	require.Len(t, grads, 2)

	// The same model with an array of its own in each place: the gradient is the sum.
	loose := newTied()
	loose.Out.Weight = mlx.New(values(t, m.Out.Weight), 3, 2)
	loose.Twice = []*nn.Linear{{Weight: mlx.New(values(t, m.Twice[0].Weight), 2, 2)}, {Weight: mlx.New(values(t, m.Twice[0].Weight), 2, 2)}}
	_, parts, err := nn.ValueAndGrad(loose, func() *mlx.Array { return loose.forward(ids).Square().Sum() })()
	require.NoError(t, err)
	require.Len(t, parts, 4)
	requireNearValues(t, values(t, parts.Get("embed.weight").Add(parts.Get("out.weight"))), values(t, grads.Get("embed.weight")), 1e-5, "embed")
	requireNearValues(t, values(t, parts.Get("twice.0.weight").Add(parts.Get("twice.1.weight"))), values(t, grads.Get("twice.0.weight")), 1e-5, "twice")

	require.NoError(t, nn.Update(m, []nn.Param{{"embed.weight", mlx.Zeros([]int{3, 2}, mlx.Float32)}}))
	assert.Same(t, m.Embed.Weight, m.Out.Weight, "an update reaches both")
	require.ErrorContains(t, nn.Update(m, []nn.Param{{"out.weight", mlx.Zeros([]int{3, 2}, mlx.Float32)}}), "out.weight")
}

// The plans of struct types are shared between goroutines.
func TestModulesInManyGoroutines(t *testing.T) {
	type fresh struct {
		In, Out *nn.Linear
		List    []nn.Layer
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			m := &fresh{In: &nn.Linear{Weight: vector(1)}, List: []nn.Layer{&nn.Linear{Weight: vector(2)}}}
			for range 20 {
				params, err := nn.Parameters(m)
				assert.NoError(t, err)
				assert.Len(t, params, 2)
				assert.NoError(t, nn.Update(m, []nn.Param{{"in.weight", vector(3)}}))
			}
		})
	}
	wg.Wait()
}

func TestSnapshot(t *testing.T) {
	m := newTied()
	best, err := nn.Snapshot(m)
	require.NoError(t, err)
	assert.Equal(t, names(t, m), []string{best[0].Name, best[1].Name})
	m.Embed.Weight.Free()
	assert.Equal(t, []float32{1, 2, 3, 4, 5, 6}, values(t, best[0].Array))
	_, err = nn.Snapshot(nn.Linear{})
	require.ErrorContains(t, err, "nn.Snapshot")
}
