package rnn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// Route is a way to compute a recurrent layer.
type Route string

// The routes, in the order in which they are preferred.
const (
	MPSGraph Route = "mpsgraph" // MPSGraph's recurrent operations on an Apple GPU
	Metal    Route = "metal"    // own kernels on an Apple GPU
	CPU      Route = "cpu"      // one fused kernel for a whole sequence, on any processor
	Composed Route = "composed" // plain MLX operations, step by step
)

var routes = []Route{MPSGraph, Metal, CPU, Composed}

// Plan says how a layer is computed, and for each other route why it is not taken.
type Plan struct {
	Layer   string // what is computed: cell, sizes, batch, dtype
	Route   Route  // the route that is taken
	Reasons []Reason
}

// Reason says why a route is taken, or why it is not.
type Reason struct {
	Route    Route
	Possible bool
	Text     string
}

// String is a heading and one line for each route.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", p.Layer, p.Route)
	for _, r := range p.Reasons {
		text := r.Text
		if !r.Possible {
			text = "no: " + text
		}
		fmt.Fprintf(&b, "\n  %-9s %s", r.Route, text)
	}
	return b.String()
}

// obstacle says why a route cannot compute what the spec describes, "" when it can.
func (r Route) obstacle(recurrent.Spec) string {
	if r == Composed {
		return ""
	}
	return "not built into this version"
}

// choose gives the route to take for a layer; forced is the one that the user asked for, or "".
func choose(spec recurrent.Spec, forced Route) (Route, error) {
	if forced == "" {
		for _, r := range routes {
			if r.obstacle(spec) == "" {
				return r, nil
			}
		}
	}
	if !slices.Contains(routes, forced) {
		return "", fmt.Errorf("unknown route %q; expected one of %v", forced, routes)
	}
	if reason := forced.obstacle(spec); reason != "" {
		return "", fmt.Errorf("route %s cannot be taken: %s", forced, reason)
	}
	return forced, nil
}

// plan explains the route for input of a shape.
func (n *network) plan(shape []int) Plan {
	c := &n.cfg
	var b strings.Builder
	fmt.Fprintf(&b, "%v %d->%d", c.cell, c.input, c.hidden)
	if c.layers > 1 {
		fmt.Fprintf(&b, " x%d", c.layers)
	}
	if c.direction != Forward {
		fmt.Fprintf(&b, " %v", c.direction)
	}
	rows, steps := 1, 0
	switch len(shape) {
	case 2:
		steps = shape[0]
		fmt.Fprintf(&b, ", L=%d %v", steps, c.dtype)
	case 3:
		rows, steps = shape[0], shape[1]
		if c.timeMajor {
			rows, steps = steps, rows
		}
		fmt.Fprintf(&b, ", N=%d L=%d %v", rows, steps, c.dtype)
	default:
		fmt.Fprintf(&b, ", shape %v, which is not one of x,", shape)
	}
	p := Plan{Layer: b.String(), Route: n.route}
	spec := c.spec(0, steps, rows, c.dtype)
	for _, r := range routes {
		reason := Reason{Route: r, Possible: true, Text: "possible"}
		if text := r.obstacle(spec); text != "" {
			reason.Possible, reason.Text = false, text
		} else if r == Composed {
			reason.Text = "MLX operations, step by step"
		}
		p.Reasons = append(p.Reasons, reason)
	}
	return p
}

// promote is the smallest floating point type that holds all of the given ones, as in MLX.
func promote(types ...mlx.Dtype) mlx.Dtype {
	out := types[0]
	for _, d := range types[1:] {
		switch {
		case d == out:
		case d == mlx.Float64 || out == mlx.Float64:
			out = mlx.Float64
		default: // float32 with a half type, or the two half types
			out = mlx.Float32
		}
	}
	return out
}
