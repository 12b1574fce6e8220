package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// Embedding is a table that gives a vector for each id.
type Embedding struct {
	Weight *mlx.Array // [Count, Dim]
}

// EmbeddingConfig describes an [Embedding].
type EmbeddingConfig struct {
	Count, Dim int       // number of ids and size of a vector
	Dtype      mlx.Dtype // of the table; the zero value means Float32
}

// NewEmbedding makes a table drawn from N(0, 1/Dim) (a standard deviation of 1/sqrt(Dim)), as in mlx.nn.
func NewEmbedding(c EmbeddingConfig, key *mlx.Array) (*Embedding, error) {
	d, err := floatDtype(c.Dtype)
	if key == nil {
		err = errors.Join(err, errNoKey)
	}
	if err = errors.Join(positive("Count", c.Count), positive("Dim", c.Dim), err); err != nil {
		return nil, fmt.Errorf("nn.NewEmbedding: %w", err)
	}
	made, err := own(Normal(0, 1/math.Sqrt(float64(c.Dim)))([]int{c.Count, c.Dim}, d, key))
	if err != nil {
		return nil, fmt.Errorf("nn.NewEmbedding: %w", err)
	}
	return &Embedding{Weight: made[0]}, nil
}

// Forward maps integer ids [...] to their vectors [..., Dim]. An id outside of 0 ... Count-1 gives a vector
// of NaN: ids are checked without waiting for their values.
func (e *Embedding) Forward(ids *mlx.Array) *mlx.Array {
	if err := ids.Err(); err != nil {
		return mlx.ErrorArray("Embedding", err)
	}
	if !ids.Dtype().IsInteger() {
		return mlx.ErrorArray("Embedding", fmt.Errorf("ids are %v%v; expected an integer type", ids.Dtype(), ids.Shape()))
	}
	if e.Weight.Dim(0) == 0 {
		return mlx.ErrorArray("Embedding", fmt.Errorf("the table has shape %v; expected [Count, Dim]", e.Weight.Shape()))
	}
	safe, valid := checkIDs(ids, e.Weight.Dim(0))
	return valid.ExpandDims(-1).Where(e.Weight.Take(safe, 0), math.NaN())
}

// AsLinear uses the table as the weight of a linear layer without bias: x [..., Dim] to
// [..., Count]. It ties the output of a language model to its input.
func (e *Embedding) AsLinear(x *mlx.Array) *mlx.Array {
	if fault := checkInput("Embedding.AsLinear", x, e.Weight.Dim(-1)); fault != nil {
		return fault
	}
	return x.MatMul(e.Weight.T())
}

// checkIDs gives ids with those outside of 0 ... count-1 replaced by 0, and which were inside.
// Taking from an array by an id outside of it would read memory that is not its own.
func checkIDs(ids *mlx.Array, count int) (safe, valid *mlx.Array) {
	// A signed type, wide enough, so that a huge unsigned id cannot wrap into the range.
	switch ids.Dtype() {
	case mlx.Uint32, mlx.Uint64, mlx.Int64:
		ids = ids.AsType(mlx.Int64)
	default:
		ids = ids.AsType(mlx.Int32)
	}
	valid = ids.GreaterEqual(0).LogicalAnd(ids.Less(count))
	return valid.Where(ids, 0), valid
}
