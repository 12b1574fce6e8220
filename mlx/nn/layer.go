package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Layer is a module that maps one array to one array.
type Layer interface {
	Forward(x *mlx.Array) *mlx.Array
}

// TrainLayer is a layer that works at random in training. ForwardTrain takes a random key, a
// fresh one for each call; with a nil key it is Forward.
type TrainLayer interface {
	Layer
	ForwardTrain(x, key *mlx.Array) *mlx.Array
}

// LayerFunc makes a layer without parameters of a function: nn.LayerFunc(nn.ReLU).
type LayerFunc func(x *mlx.Array) *mlx.Array

// Forward calls f.
func (f LayerFunc) Forward(x *mlx.Array) *mlx.Array { return f(x) }

// Sequential applies layers in turn. Its parameters are named layers.0.weight, layers.0.bias ... as in mlx.nn.
type Sequential struct {
	Layers []Layer
}

// NewSequential makes a Sequential of layers.
func NewSequential(layers ...Layer) *Sequential { return &Sequential{Layers: layers} }

// Forward applies the layers as in evaluation: dropout does nothing.
func (s *Sequential) Forward(x *mlx.Array) *mlx.Array { return s.ForwardTrain(x, nil) }

// ForwardTrain applies the layers as in training. Each [TrainLayer] gets a key of its own, made from key.
func (s *Sequential) ForwardTrain(x, key *mlx.Array) *mlx.Array {
	var keys []*mlx.Array
	if key != nil && len(s.Layers) > 0 {
		keys = mlx.SplitKey(key, len(s.Layers))
	}
	for i, l := range s.Layers {
		if l == nil {
			return mlx.ErrorArray("Sequential", fmt.Errorf("layer %d is nil", i))
		}
		if t, ok := l.(TrainLayer); ok && key != nil {
			// A key that could not be split gives one array that carries the error.
			x = t.ForwardTrain(x, keys[min(i, len(keys)-1)])
		} else {
			x = l.Forward(x)
		}
	}
	return x
}

// floatDtype is the dtype of parameters that a configuration asks for; the zero value stands for Float32.
func floatDtype(d mlx.Dtype) (mlx.Dtype, error) {
	if d == mlx.Dtype(0) {
		return mlx.Float32, nil
	}
	if !d.IsFloat() {
		return d, fmt.Errorf("field Dtype is %v; expected a floating point type", d)
	}
	return d, nil
}

func positive(name string, v int) error {
	if v <= 0 {
		return fmt.Errorf("%s is %d; expected at least 1", name, v)
	}
	return nil
}

// smallNumber checks an epsilon; 0 stands for the usual one.
func smallNumber(eps, usual float64) (float64, error) {
	if eps == 0 {
		return usual, nil
	}
	if !(eps > 0) || math.IsInf(eps, 0) {
		return eps, fmt.Errorf("field Eps is %v; expected a positive number, or 0 for %v", eps, usual)
	}
	return eps, nil
}

// own evaluates new parameters and takes them out of every scope.
func own(arrays ...*mlx.Array) ([]*mlx.Array, error) {
	kept := make([]*mlx.Array, len(arrays))
	for i, a := range arrays {
		kept[i] = mlx.Keep(a)
		a.Free()
	}
	return kept, mlx.Eval(kept...)
}

func splitKey(key *mlx.Array, n int) ([]*mlx.Array, error) {
	if key == nil {
		return nil, errNoKey
	}
	keys := mlx.SplitKey(key, n)
	return keys, keys[0].Err()
}

var errNoKey = errors.New("the random key is nil; mlx.Key(seed) makes one")

// checkInput gives nil for a floating point x with the wanted size of the last axis, else an array
// that carries the error.
func checkInput(op string, x *mlx.Array, last int) *mlx.Array {
	if err := x.Err(); err != nil {
		return mlx.ErrorArray(op, err)
	}
	if !x.Dtype().IsFloat() {
		return mlx.ErrorArray(op, fmt.Errorf("x is %v%v; expected a floating point type", x.Dtype(), x.Shape()))
	}
	if x.NDim() == 0 || x.Dim(-1) != last {
		return mlx.ErrorArray(op, fmt.Errorf("x has shape %v; expected %d as the size of the last axis", x.Shape(), last))
	}
	return nil
}
