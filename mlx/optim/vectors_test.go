package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
)

// testdata/vectors.py made the vectors.
type tensor struct {
	Shape []int
	Float []float64
}

func (v tensor) array() *mlx.Array {
	data := make([]float32, len(v.Float))
	for i, f := range v.Float {
		data[i] = float32(f)
	}
	if len(v.Shape) == 0 {
		return mlx.Scalar(data[0])
	}
	return mlx.New(data, v.Shape...)
}

type run struct {
	Params []map[string]tensor
	State  map[string]tensor
}

type vectors struct {
	Start     map[string]tensor
	Grads     []map[string]tensor
	Runs      map[string]run
	Schedules map[string]tensor
	Clip      map[string]struct {
		Norm  float64
		Grads map[string]tensor
	}
}

var loadVectors = sync.OnceValues(func() (vectors, error) {
	var v vectors
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
})

func readVectors(t *testing.T) vectors {
	v, err := loadVectors()
	require.NoError(t, err)
	return v
}

// model has the parameters of the vectors.
type model struct {
	Layers []*nn.Linear
	Scale  *mlx.Array
	Embed  *nn.Embedding
}

func newModel(t *testing.T) *model {
	v := readVectors(t)
	m := &model{
		Layers: []*nn.Linear{{Weight: v.Start["layers.0.weight"].array(), Bias: v.Start["layers.0.bias"].array()}},
		Scale:  v.Start["scale"].array(), Embed: &nn.Embedding{Weight: v.Start["embed.weight"].array()},
	}
	require.NoError(t, mlx.Eval(m.Layers[0].Weight, m.Layers[0].Bias, m.Scale, m.Embed.Weight))
	return m
}

// grads gives those of a step, in another order than the model's.
func grads(t *testing.T, step int) nn.Grads {
	var list nn.Grads
	for name, v := range readVectors(t).Grads[step] {
		list = append(list, nn.Param{Name: name, Array: v.array()})
	}
	slices.SortFunc(list, func(a, b nn.Param) int { return strings.Compare(b.Name, a.Name) })
	return list
}

func values(t *testing.T, a *mlx.Array) []float32 {
	t.Helper()
	v, err := mlx.Values[float32](a)
	require.NoError(t, err)
	return v
}

// bits are the values of all parameters, to be compared exactly.
func bits(t *testing.T, module any) map[string][]uint32 {
	t.Helper()
	params, err := nn.Parameters(module)
	require.NoError(t, err)
	all := make(map[string][]uint32)
	for _, p := range params {
		for _, v := range values(t, p.Array) {
			all[p.Name] = append(all[p.Name], math.Float32bits(v))
		}
	}
	return all
}

func requireParams(t *testing.T, want map[string]tensor, module any, tolerance float64, what string) {
	t.Helper()
	params, err := nn.Parameters(module)
	require.NoError(t, err)
	require.Len(t, params, len(want))
	for _, p := range params {
		requireNear(t, want[p.Name], p.Array, tolerance, what+" "+p.Name)
	}
}

func requireNear(t *testing.T, want tensor, got *mlx.Array, tolerance float64, what string) {
	t.Helper()
	v := values(t, got)
	require.Len(t, v, len(want.Float), what)
	for i, w := range want.Float {
		assert.LessOrEqual(t, math.Abs(float64(v[i])-w), tolerance*max(1, math.Abs(w)), "%s: element %d is %v, expected %v", what, i, v[i], w)
	}
}

func makers() map[string]func() (*optim.Optimizer, error) {
	return map[string]func() (*optim.Optimizer, error){
		"sgd": func() (*optim.Optimizer, error) { return optim.NewSGD(optim.SGDConfig{LearningRate: 0.1}) },
		"sgd decay": func() (*optim.Optimizer, error) {
			return optim.NewSGD(optim.SGDConfig{LearningRate: 0.1, WeightDecay: 0.05})
		},
		"sgd momentum": func() (*optim.Optimizer, error) {
			return optim.NewSGD(optim.SGDConfig{LearningRate: 0.1, Momentum: 0.9, WeightDecay: 0.05})
		},
		"sgd dampening": func() (*optim.Optimizer, error) {
			return optim.NewSGD(optim.SGDConfig{LearningRate: 0.1, Momentum: 0.8, Dampening: 0.3})
		},
		"sgd nesterov": func() (*optim.Optimizer, error) {
			return optim.NewSGD(optim.SGDConfig{LearningRate: 0.1, Momentum: 0.9, Nesterov: true})
		},
		"sgd cosine": func() (*optim.Optimizer, error) {
			return optim.NewSGD(optim.SGDConfig{Schedule: optim.CosineDecay(0.1, 4, 0.01), Momentum: 0.5})
		},
		"adam": func() (*optim.Optimizer, error) { return optim.NewAdam(optim.AdamConfig{LearningRate: 0.01}) },
		"adam betas": func() (*optim.Optimizer, error) {
			return optim.NewAdam(optim.AdamConfig{LearningRate: 0.01, Betas: [2]float64{0.7, 0.9}, Eps: 1e-3})
		},
		"adam corrected": func() (*optim.Optimizer, error) {
			return optim.NewAdam(optim.AdamConfig{LearningRate: 0.01, BiasCorrection: true})
		},
		"adamw": func() (*optim.Optimizer, error) { return optim.NewAdamW(optim.AdamWConfig{LearningRate: 0.01}) },
		"adamw corrected": func() (*optim.Optimizer, error) {
			return optim.NewAdamW(optim.AdamWConfig{LearningRate: 0.01, WeightDecay: 0.2, BiasCorrection: true})
		},
		"rmsprop": func() (*optim.Optimizer, error) { return optim.NewRMSprop(optim.RMSpropConfig{LearningRate: 0.01}) },
		"rmsprop alpha": func() (*optim.Optimizer, error) {
			return optim.NewRMSprop(optim.RMSpropConfig{LearningRate: 0.01, Alpha: 0.8, Eps: 1e-4})
		},
		"adagrad": func() (*optim.Optimizer, error) { return optim.NewAdagrad(optim.AdagradConfig{LearningRate: 0.1}) },
		"lion":    func() (*optim.Optimizer, error) { return optim.NewLion(optim.LionConfig{LearningRate: 0.01}) },
		"lion decay": func() (*optim.Optimizer, error) {
			return optim.NewLion(optim.LionConfig{LearningRate: 0.01, Betas: [2]float64{0.8, 0.95}, WeightDecay: 0.1})
		},
		"torch adam": func() (*optim.Optimizer, error) {
			return optim.NewAdam(optim.AdamConfig{LearningRate: 0.01, BiasCorrection: true})
		},
		"torch adamw": func() (*optim.Optimizer, error) {
			return optim.NewAdamW(optim.AdamWConfig{LearningRate: 0.01, WeightDecay: 0.2, BiasCorrection: true})
		},
		"torch sgd": func() (*optim.Optimizer, error) {
			return optim.NewSGD(optim.SGDConfig{LearningRate: 0.1, Momentum: 0.9, WeightDecay: 0.05, Nesterov: true})
		},
		"torch rmsprop": func() (*optim.Optimizer, error) {
			return optim.NewRMSprop(optim.RMSpropConfig{LearningRate: 0.01, Alpha: 0.8, Eps: 1e-4})
		},
		"torch adagrad": func() (*optim.Optimizer, error) { return optim.NewAdagrad(optim.AdagradConfig{LearningRate: 0.1}) },
	}
}

func newOptimizer(t *testing.T, name string) *optim.Optimizer {
	o, err := makers()[name]()
	require.NoError(t, err)
	return o
}
