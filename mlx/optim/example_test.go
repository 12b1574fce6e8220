package optim_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
)

func Example() {
	// Fits y = 2 x1 - x2 + 0.5.
	model, err := nn.NewLinear(nn.LinearConfig{Input: 2, Output: 1}, mlx.Key(1))
	if err != nil {
		log.Fatal(err)
	}
	opt, err := optim.NewAdamW(optim.AdamWConfig{
		Schedule: optim.WarmUp(0.1, 10, optim.CosineDecay(0.1, 290, 0)), WeightDecay: 1e-4, BiasCorrection: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	step := nn.ValueAndGrad(model, func(x, y *mlx.Array) *mlx.Array { return nn.MSE(model.Forward(x), y) })
	keys := mlx.NewKeys(2)
	for range 300 {
		scope := mlx.NewScope()
		x := scope.Own(mlx.RandomNormal([]int{16, 2}, mlx.Float32, 0, 1, keys.Next()))
		y := x.MatMul(mlx.New([]float32{2, -1}, 2, 1)).Add(0.5)
		loss, grads, err := step(x, y)
		if err != nil {
			log.Fatal(err)
		}
		grads, _ = optim.ClipByGlobalNorm(grads, 1)
		if err := opt.Update(model, grads, loss); err != nil {
			log.Fatal(err)
		}
		scope.Close()
	}
	w, _ := mlx.Values[float32](model.Weight)
	b, _ := mlx.Values[float32](model.Bias)
	fmt.Printf("%.2f %.2f after %d steps\n", w, b, opt.Steps())
	// Output: [2.00 -1.00] [0.50] after 300 steps
}

func ExampleSaveCheckpoint() {
	dir, err := os.MkdirTemp("", "optim")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.safetensors")
	build := func() (*nn.Linear, *optim.Optimizer) {
		model := &nn.Linear{Weight: mlx.New([]float32{4}, 1, 1)}
		opt, err := optim.NewSGD(optim.SGDConfig{LearningRate: 0.25, Momentum: 0.5})
		if err != nil {
			log.Fatal(err)
		}
		return model, opt
	}
	train := func(model *nn.Linear, opt *optim.Optimizer) {
		_, grads, err := nn.ValueAndGrad(model, func() *mlx.Array { return model.Weight.Square().Sum() })()
		if err != nil {
			log.Fatal(err)
		}
		if err := opt.Update(model, grads); err != nil {
			log.Fatal(err)
		}
	}

	model, opt := build()
	train(model, opt)
	err = optim.SaveCheckpoint(path, optim.Checkpoint{
		Model: model, Optimizer: opt, Arrays: map[string]*mlx.Array{"key": mlx.Key(5)}, Meta: map[string]string{"position": "17"},
	})
	if err != nil {
		log.Fatal(err)
	}
	train(model, opt)

	resumed, again := build()
	c := optim.Checkpoint{Model: resumed, Optimizer: again}
	if err := optim.LoadCheckpoint(path, &c); err != nil {
		log.Fatal(err)
	}
	train(resumed, again)
	a, _ := mlx.Item[float32](model.Weight)
	b, _ := mlx.Item[float32](resumed.Weight)
	fmt.Println(a == b, again.Steps(), c.Meta["position"], c.Arrays["key"].Shape())
	// Output: true 2 17 [2]
}

func ExampleJoin() {
	s := optim.Join([]optim.Schedule{optim.Linear(0, 1, 4), optim.Constant(1), optim.ExponentialDecay(1, 0.5)}, []int{4, 6})
	for step := range 9 {
		fmt.Print(s.At(step), " ")
	}
	// Output: 0 0.25 0.5 0.75 1 1 1 0.5 0.25
}
