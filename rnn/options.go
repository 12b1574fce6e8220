package rnn

import "github.com/mpsrnn/mpsrnn/mlx"

// Option changes how a layer is made.
type Option func(*construction)

type construction struct {
	route Route
}

// WithRoute forces a layer to be computed in one way. The constructor returns an error, with the reason, when it cannot be.
func WithRoute(r Route) Option { return func(c *construction) { c.route = r } }

// CallOption changes one call of a layer.
type CallOption func(*call)

// call is what the options of a call say.
type call struct {
	lengths    []int
	lengthsOf  *mlx.Array
	hasLengths bool
	train      bool
	key        *mlx.Array
}

// Lengths gives the number of steps of each row of x, [N]; the rest of a row is padding. The lengths need no order
// and may be 0. Whatever the padding holds (NaN too) has no effect on results and gradients: y is zero there, the
// final state is that after the row's last step (after step 0 in reverse, which starts at the row's end), and the
// state of a row of length 0 is the initial one.
//
// An array must have an integer type. Its values are looked at when the layer is called, so it is evaluated then.
// Only as an argument of a function that is traced without values (mlx.Compile, mlx.VMap) it has none to look at: then
// a length below 0 counts as 0, and one above the number of steps as all of them.
func Lengths[L []int | *mlx.Array](lengths L) CallOption {
	return func(c *call) {
		c.hasLengths = true
		switch v := any(lengths).(type) {
		case []int:
			c.lengths = v
		case *mlx.Array:
			c.lengthsOf = v
		}
	}
}

// Train marks a call of training: dropout acts. The key (see mlx.Key, mlx.Keys) decides which elements are dropped:
// a fresh key for each call gives fresh masks, the same key the same ones.
func Train(key *mlx.Array) CallOption {
	return func(c *call) { c.train, c.key = true, key }
}

func newCall(opts []CallOption) *call {
	c := new(call)
	for _, o := range opts {
		if o != nil {
			o(c)
		}
	}
	return c
}
