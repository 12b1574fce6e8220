package rnn

import (
	"fmt"
	"math"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// parameter is a place for an array that a constructor fills.
type parameter struct {
	place **mlx.Array
	shape []int
	shift func(a *mlx.Array) *mlx.Array // applied to the drawn values; may be nil
}

// construct checks a configuration and the options, fills in net, and draws the parameters that list names. It gives
// layer, or nil and an error that starts with op.
func construct[L any](layer *L, op string, net *network, cfg config, key *mlx.Array, opts []Option, list func(c *config) []parameter) (*L, error) {
	var made construction
	for _, o := range opts {
		if o != nil {
			o(&made)
		}
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	route, err := choose(cfg.spec(0, 1, 1, cfg.dtype), made.route)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	net.cfg, net.route = cfg, route
	if err := cfg.draw(key, list(&net.cfg)); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return layer, nil
}

// draw fills all parameters from U(-1/sqrt(H), 1/sqrt(H)), as mlx.nn and PyTorch do.
func (c *config) draw(key *mlx.Array, params []parameter) error {
	bound := 1 / math.Sqrt(float64(c.hidden))
	keys := mlx.SplitKey(key, len(params))
	drawn := make([]*mlx.Array, len(params))
	for i, p := range params {
		// MLX has no float64 random numbers; those of float32 serve every type.
		a := mlx.RandomUniform(-bound, bound, p.shape, mlx.Float32, keys[min(i, len(keys)-1)])
		if p.shift != nil {
			a = p.shift(a)
		}
		drawn[i] = mlx.Keep(a.AsType(c.dtype))
		*p.place = drawn[i]
	}
	return mlx.Eval(drawn...)
}

// assemble makes the layers of a stack, none when the only layer is one. It lists the parameters of all from below.
func assemble[L any](c *config, only *L, parameters func(l *L, c *config, layer int) []parameter) (stack []*L, params []parameter) {
	if c.layers == 1 {
		return nil, parameters(only, c, 0)
	}
	for i := range c.layers {
		l := new(L)
		stack = append(stack, l)
		params = append(params, parameters(l, c, i)...)
	}
	return stack, params
}

// pick gives layer i of a stack, or the only layer.
func pick[L any](only *L, stack []*L, i int) *L {
	if len(stack) == 0 && i == 0 {
		return only
	}
	if i < 0 || i >= len(stack) {
		return nil
	}
	return stack[i]
}
