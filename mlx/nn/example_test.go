package nn_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

// Classifier is a module: a struct whose exported fields are layers and parameters.
type Classifier struct {
	Hidden  *nn.Linear
	Norm    *nn.LayerNorm
	Out     *nn.Linear
	Dropout *nn.Dropout
}

func NewClassifier(seed uint64) (*Classifier, error) {
	keys := mlx.NewKeys(seed)
	hidden, err := nn.NewLinear(nn.LinearConfig{Input: 4, Output: 8}, keys.Next())
	if err != nil {
		return nil, err
	}
	norm, err := nn.NewLayerNorm(nn.LayerNormConfig{Dim: 8})
	if err != nil {
		return nil, err
	}
	out, err := nn.NewLinear(nn.LinearConfig{Input: 8, Output: 3, NoBias: true}, keys.Next())
	if err != nil {
		return nil, err
	}
	drop, err := nn.NewDropout(0.1)
	if err != nil {
		return nil, err
	}
	return &Classifier{Hidden: hidden, Norm: norm, Out: out, Dropout: drop}, nil
}

// Forward maps x [N, 4] to logits [N, 3]. key is nil in evaluation.
func (c *Classifier) Forward(x, key *mlx.Array) *mlx.Array {
	h := c.Norm.Forward(nn.ReLU(c.Hidden.Forward(x)))
	return c.Out.Forward(c.Dropout.ForwardTrain(h, key))
}

func Example() {
	model, err := NewClassifier(1)
	if err != nil {
		log.Fatal(err)
	}
	params, err := nn.Parameters(model)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range params {
		fmt.Println(p.Name, p.Array.Shape())
	}
	// Output:
	// hidden.weight [8 4]
	// hidden.bias [8]
	// norm.weight [8]
	// norm.bias [8]
	// out.weight [3 8]
}

func ExampleValueAndGrad() {
	layer := &nn.Linear{Weight: mlx.New([]float32{1, -1}, 1, 2), Bias: mlx.New([]float32{0.5})}
	step := nn.ValueAndGrad(layer, func(x, y *mlx.Array) *mlx.Array {
		return nn.MSE(layer.Forward(x), y)
	})
	loss, grads, err := step(mlx.New([]float32{3, 1}, 1, 2), mlx.New([]float32{1}, 1, 1))
	if err != nil {
		log.Fatal(err)
	}
	value, _ := mlx.Item[float32](loss)
	slope, _ := mlx.Values[float32](grads.Get("weight"))
	fmt.Println(value, slope)
	// Output: 2.25 [9 3]
}

func ExampleValueAndGradAux() {
	// A layer whose output is fed back: the state goes from step to step as a constant.
	layer := &nn.Linear{Weight: mlx.New([]float32{0.5}, 1, 1)}
	state := mlx.New([]float32{8}, 1, 1)
	step := nn.ValueAndGradAux(layer, func(target *mlx.Array) (*mlx.Array, []*mlx.Array) {
		next := layer.Forward(state)
		return nn.L1(next, target), []*mlx.Array{next}
	})
	for range 3 {
		_, aux, grads, err := step(mlx.New([]float32{0}, 1, 1))
		if err != nil {
			log.Fatal(err)
		}
		state = aux[0]
		s, _ := mlx.Item[float32](state)
		g, _ := mlx.Item[float32](grads.Get("weight"))
		fmt.Println("state", s, "gradient", g)
	}
	// Output:
	// state 4 gradient 8
	// state 2 gradient 4
	// state 1 gradient 2
}

func ExampleSave() {
	dir, err := os.MkdirTemp("", "nn")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	layer := &nn.Linear{Weight: mlx.New([]float32{1, 2}, 1, 2), Bias: mlx.New([]float32{3})}
	if err := nn.Save(path, layer); err != nil {
		log.Fatal(err)
	}
	other, err := nn.NewLinear(nn.LinearConfig{Input: 2, Output: 1}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	if err := nn.Load(path, other); err != nil {
		log.Fatal(err)
	}
	v, _ := mlx.Values[float32](other.Weight)
	fmt.Println(v)
	// Output: [1 2]
}

func ExampleNewSequential() {
	keys := mlx.NewKeys(7)
	first, err := nn.NewLinear(nn.LinearConfig{Input: 3, Output: 16}, keys.Next())
	if err != nil {
		log.Fatal(err)
	}
	drop, err := nn.NewDropout(0.2)
	if err != nil {
		log.Fatal(err)
	}
	last, err := nn.NewLinear(nn.LinearConfig{Input: 16, Output: 2}, keys.Next())
	if err != nil {
		log.Fatal(err)
	}
	model := nn.NewSequential(first, nn.LayerFunc(nn.ReLU), drop, last)
	x := mlx.Ones([]int{5, 3}, mlx.Float32)
	fmt.Println(model.Forward(x).Shape())                                      // evaluation
	fmt.Println(model.ForwardTrain(x, keys.Next()).Shape())                    // training: dropout works
	fmt.Println(nn.NewSequential(first).Forward(x.Reshape(3, 5)).Err() != nil) // a wrong shape is an error, not a panic
	// Output:
	// [5 2]
	// [5 2]
	// true
}

func ExampleCrossEntropy() {
	logits := mlx.New([]float32{2, -1, 0, 0, 3, 0, 1, 1, 1}, 3, 3)
	targets := mlx.New([]int{0, 1, -100})
	loss := nn.CrossEntropy(logits, targets, nn.IgnoreIndex(-100), nn.LabelSmoothing(0.1))
	v, err := mlx.Item[float32](loss)
	fmt.Printf("%.4f %v\n", v, err)
	// Output: 0.3157 <nil>
}

func ExampleCTC() {
	// One row of 4 steps, 3 classes (0 is the blank), the labels 1 2.
	logits := mlx.Zeros([]int{1, 4, 3}, mlx.Float32)
	loss := nn.CTC(logits, mlx.New([]int{1, 2}, 1, 2), []int{4}, []int{2})
	v, err := mlx.Item[float32](loss.Negative().Mul(2).Exp().Mul(81)) // of 3⁴ paths
	fmt.Printf("%.0f alignments %v\n", v, err)
	// Output: 15 alignments <nil>
}

func ExampleRunningMean() {
	var loss nn.RunningMean
	for _, batch := range []struct {
		loss float32
		rows float64
	}{{2, 32}, {1, 32}, {3, 16}} {
		if err := loss.Add(mlx.Scalar(batch.loss), batch.rows); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(loss.Value(), loss.Weight())
	// Output: 1.8 80
}

func ExampleOrthogonal() {
	w := nn.Orthogonal(1)([]int{4, 2}, mlx.Float32, mlx.Key(1))
	far, err := mlx.Item[float32](w.T().MatMul(w).Sub(mlx.Eye(2, 2, 0, mlx.Float32)).Abs().Max())
	fmt.Println(far < 1e-5, err)
	// Output: true <nil>
}
