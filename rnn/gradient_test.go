package rnn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mpsrnn/mpsrnn/internal/recurrent"
	"github.com/mpsrnn/mpsrnn/mlx"
)

// centralDifferences compares gradients with (f(a+e) - f(a-e)) / 2e, element by element.
func centralDifferences(t testing.TB, f func(args []*mlx.Array) *mlx.Array, args []*mlx.Array, grads []*mlx.Array, tolerance float64, names []string) {
	t.Helper()
	const e = 1e-5
	for k, a := range args {
		v := floats(t, a)
		got := floats(t, grads[k])
		require.Len(t, got, len(v))
		for i := range v {
			at := func(x float64) float64 {
				scope := mlx.NewScope()
				defer scope.Close()
				moved := slices.Clone(v)
				moved[i] = x
				changed := slices.Clone(args)
				changed[k] = scope.Own(mlx.New(moved, a.Shape()...))
				y, err := mlx.Item[float64](f(changed))
				require.NoError(t, err)
				return y
			}
			want := (at(v[i]+e) - at(v[i]-e)) / (2 * e)
			if !(math.Abs(want-got[i]) <= tolerance*max(1, math.Abs(want))) {
				assert.Fail(t, fmt.Sprintf("gradient %d of %s is %.9g, expected %.9g", i, names[k], got[i], want))
				return
			}
		}
	}
}

// gradientCase is a layer, its arguments and a loss that uses all outputs unevenly.
type gradientCase struct {
	l     layer
	names []string
	args  []*mlx.Array // parameters, x, h0, c0
	loss  func(args []*mlx.Array) *mlx.Array
}

func newGradientCase(t testing.TB, c config, N, T int, lengths []int, opts ...CallOption) gradientCase {
	r := newRand(99)
	c.dtype = mlx.Float64
	l := newLayer(t, c, 7)
	n := networkOf(l)
	S := n.cfg.layers * n.cfg.directions()
	shape := []int{N, T, c.input}
	if c.timeMajor {
		shape = []int{T, N, c.input}
	}
	g := gradientCase{l: l, args: append(valuesOf(l), uniform(r, 1.5, shape...), uniform(r, 1, S, N, c.hidden))}
	for _, p := range paramsOf(l) {
		g.names = append(g.names, p.name)
	}
	g.names = append(g.names, "x", "h0")
	if c.cell == recurrent.LSTM {
		g.args, g.names = append(g.args, uniform(r, 1, S, N, c.hidden)), append(g.names, "c0")
	}
	if lengths != nil {
		opts = append(opts, Lengths(lengths))
	}
	wy, wh, wc := uniform(r, 1, N*T*n.cfg.outputs()), uniform(r, 1, S*N*c.hidden), uniform(r, 1, S*N*c.hidden)
	params := len(paramsOf(l))
	g.loss = func(args []*mlx.Array) (loss *mlx.Array) {
		withParams(l, args, func() {
			s := State{H: args[params+1]}
			if c.cell == recurrent.LSTM {
				s.C = args[params+2]
			}
			y, s := l.Forward(args[params], s, opts...)
			loss = y.Flatten(0, -1).Mul(wy).Sum().Add(s.H.Flatten(0, -1).Mul(wh).Sum())
			if s.C != nil {
				loss = loss.Add(s.C.Flatten(0, -1).Mul(wc).Sum())
			}
		})
		return loss
	}
	return g
}

func (g gradientCase) check(t *testing.T) {
	_, grads := gradients(t, g.loss, g.args...)
	centralDifferences(t, g.loss, g.args, grads, 1e-7, g.names)
}

func TestGradientsOfEveryOption(t *testing.T) {
	for _, cell := range []config{
		{cell: recurrent.RNN}, {cell: recurrent.RNN, nonlinearity: ReLU},
		{cell: recurrent.GRU}, {cell: recurrent.GRU, resetBefore: true},
		{cell: recurrent.LSTM},
	} {
		cell.input, cell.hidden = 3, 2
		name := fmt.Sprintf("%v/before=%v/%v", cell.cell, cell.resetBefore, cell.nonlinearity)
		for option, set := range map[string]func(c *config) (lengths []int, opts []CallOption){
			"plain":    func(*config) ([]int, []CallOption) { return nil, nil },
			"no bias":  func(c *config) ([]int, []CallOption) { c.noBias = true; return nil, nil },
			"reverse":  func(c *config) ([]int, []CallOption) { c.direction = Reverse; return nil, nil },
			"time":     func(c *config) ([]int, []CallOption) { c.timeMajor = true; return nil, nil },
			"layers":   func(c *config) ([]int, []CallOption) { c.layers = 2; return nil, nil },
			"lengths":  func(c *config) ([]int, []CallOption) { return []int{2, 0, 3}, nil },
			"short":    func(c *config) ([]int, []CallOption) { return []int{2, 1, 0}, nil },
			"one row":  func(c *config) ([]int, []CallOption) { c.direction = Reverse; return []int{1, 3, 2}, nil },
			"two ways": func(c *config) ([]int, []CallOption) { c.direction = Bidirectional; return []int{1, 3, 2}, nil },
			"sum": func(c *config) ([]int, []CallOption) {
				c.direction, c.merge, c.layers = Bidirectional, Sum, 2
				return nil, nil
			},
			"mul":     func(c *config) ([]int, []CallOption) { c.direction, c.merge = Bidirectional, Mul; return nil, nil },
			"average": func(c *config) ([]int, []CallOption) { c.direction, c.merge = Bidirectional, Average; return nil, nil },
			"not merge": func(c *config) ([]int, []CallOption) {
				c.direction, c.merge, c.layers = Bidirectional, NoMerge, 2
				return nil, nil
			},
			"dropout": func(c *config) ([]int, []CallOption) {
				c.layers, c.dropout = 3, 0.4
				return nil, []CallOption{Train(mlx.Key(5))}
			},
		} {
			t.Run(name+"/"+option, func(t *testing.T) {
				c := cell
				lengths, opts := set(&c)
				newGradientCase(t, c, 3, 3, lengths, opts...).check(t)
			})
		}
	}
}

// A cell in a loop of one's own.
func TestGradientsOfCells(t *testing.T) {
	r := newRand(3)
	x, h, mem := uniform(r, 1, 2, 3), uniform(r, 1, 2, 2), uniform(r, 1, 2, 2)
	lstm, err := NewLSTMCell(LSTMCellConfig{Input: 3, Hidden: 2, Dtype: mlx.Float64}, mlx.Key(1))
	require.NoError(t, err)
	gru, err := NewGRUCell(GRUCellConfig{Input: 3, Hidden: 2, Dtype: mlx.Float64}, mlx.Key(1))
	require.NoError(t, err)
	vanilla, err := NewRNNCell(RNNCellConfig{Input: 3, Hidden: 2, Dtype: mlx.Float64}, mlx.Key(1))
	require.NoError(t, err)
	for _, c := range []struct {
		cell any
		step func(x, h, mem *mlx.Array) *mlx.Array
	}{
		{lstm, func(x, h, mem *mlx.Array) *mlx.Array {
			s := lstm.Step(x, lstm.Step(x, State{H: h, C: mem}))
			return s.H.Mul(s.C).Sum()
		}},
		{gru, func(x, h, _ *mlx.Array) *mlx.Array { return gru.Step(x, gru.Step(x, h)).Square().Sum() }},
		{vanilla, func(x, h, _ *mlx.Array) *mlx.Array { return vanilla.Step(x, vanilla.Step(x, h)).Square().Sum() }},
	} {
		args := append(valuesOf(c.cell), x, h, mem)
		names := make([]string, len(args))
		f := func(args []*mlx.Array) (out *mlx.Array) {
			rest := args[len(args)-3:]
			withParams(c.cell, args, func() { out = c.step(rest[0], rest[1], rest[2]) })
			return out
		}
		_, grads := gradients(t, f, args...)
		centralDifferences(t, f, args, grads, 1e-7, names)
	}
}

var allCells = map[string]struct {
	recurrence
	gates int
}{
	"rnn": {rnnSteps{}, 1}, "relu": {rnnSteps{relu: true}, 1}, "gru after": {gruAfterSteps{}, 3},
	"gru before": {gruBeforeSteps{}, 3}, "lstm": {lstmSteps{}, 4},
}

// The gradient that is written out equals MLX's own, operation by operation, in the first and in the second derivative.
func TestGradientThroughTimeEqualsMLX(t *testing.T) {
	const T, N, H = 4, 3, 2
	for name, cell := range allCells {
		for _, reverse := range []bool{false, true} {
			for _, masked := range []bool{false, true} {
				for _, bias := range []bool{false, true} {
					if bias && name != "gru after" {
						continue
					}
					t.Run(fmt.Sprintf("%s/reverse=%v/masked=%v/bias=%v", name, reverse, masked, bias), func(t *testing.T) {
						r := newRand(5)
						args := []*mlx.Array{uniform(r, 1, T*N, cell.gates*H), uniform(r, 1, cell.gates*H, H), uniform(r, 1, N, H)}
						if name == "lstm" {
							args = append(args, uniform(r, 1, N, H))
						}
						if bias {
							args = append(args, uniform(r, 1, H))
						}
						weights := uniform(r, 1, T*N, H)
						loss := func(plain bool) func(args []*mlx.Array) *mlx.Array {
							return func(args []*mlx.Array) *mlx.Array {
								s := scan{cell: cell.recurrence, T: T, N: N, H: H, reverse: reverse, plain: plain}
								p := operands{a: args[0], wh: args[1], h0: args[2]}
								if name == "lstm" {
									p.c0 = args[3]
								}
								if bias {
									p.bhn = args[3]
								}
								if masked {
									p.valid = newLengthMask(s.o, []int{2, T, 0}, nil, T, N).valid
								}
								out := s.recur(p)
								sum := out[0].Mul(weights).Sum().Add(out[1].Square().Sum())
								if name == "lstm" {
									sum = sum.Add(out[2].Square().Sum())
								}
								return sum
							}
						}
						_, want := gradients(t, loss(true), args...)
						_, got := gradients(t, loss(false), args...)
						for i := range want {
							near(t, floats(t, want[i]), got[i], 1e-12, "argument %d", i)
						}

						second := func(plain bool) func(args []*mlx.Array) *mlx.Array {
							inner := loss(plain)
							return func(args []*mlx.Array) *mlx.Array {
								nums := make([]int, len(args))
								for i := range nums {
									nums[i] = i
								}
								d, err := mlx.Grad(func(args []*mlx.Array) []*mlx.Array { return []*mlx.Array{inner(args)} }, nums...)(args...)
								if err != nil {
									return mlx.ErrorArray("second derivative", err)
								}
								sum := d[0].Square().Sum()
								for _, g := range d[1:] {
									sum = sum.Add(g.Square().Sum())
								}
								return sum
							}
						}
						_, want = gradients(t, second(true), args...)
						_, got = gradients(t, second(false), args...)
						for i := range want {
							near(t, floats(t, want[i]), got[i], 1e-10, "second derivative, argument %d", i)
						}
					})
				}
			}
		}
	}
}

func TestSecondDerivative(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		g := newGradientCase(t, config{cell: cell, input: 2, hidden: 2, direction: Bidirectional}, 2, 3, []int{3, 1})
		nums := make([]int, len(g.args))
		for i := range nums {
			nums[i] = i
		}
		f := func(args []*mlx.Array) *mlx.Array {
			d, err := mlx.Grad(func(args []*mlx.Array) []*mlx.Array { return []*mlx.Array{g.loss(args)} }, nums...)(args...)
			require.NoError(t, err)
			sum := mlx.Scalar(0.0)
			for i, a := range d {
				sum = sum.Add(a.Square().Sum().Mul(float64(i + 1)))
			}
			return sum
		}
		_, grads := gradients(t, f, g.args...)
		centralDifferences(t, f, g.args, grads, 1e-6, g.names)
	}
}

// Forward mode and vmap go through MLX's operations.
func TestJVPAndVMap(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		l := newLayer(t, config{cell: cell, input: 3, hidden: 2, dtype: mlx.Float64}, 3)
		r := newRand(1)
		x, v := uniform(r, 1, 2, 4, 3), uniform(r, 1, 2, 4, 3)
		f := func(args []*mlx.Array) []*mlx.Array {
			y, _ := l.Forward(args[0], State{})
			return []*mlx.Array{y}
		}
		_, got, err := mlx.JVP(f, []*mlx.Array{x}, []*mlx.Array{v})
		require.NoError(t, err)
		const e = 1e-6
		up, down := f([]*mlx.Array{x.Add(v.Mul(e))}), f([]*mlx.Array{x.Sub(v.Mul(e))})
		near(t, floats(t, up[0].Sub(down[0]).Div(2*e)), got[0], 1e-8, "jvp")

		// Every parameter mapped alone, as in an ensemble, and all together.
		params := valuesOf(l)
		for k := range len(params) + 1 {
			in, axes := slices.Clone(params), slices.Repeat([]int{-1}, len(params))
			for i, p := range params {
				if i == k || k == len(params) {
					in[i], axes[i] = uniform(r, 1, append([]int{3}, p.Shape()...)...), 0
				}
			}
			run := func(args []*mlx.Array) (out []*mlx.Array) {
				withParams(l, args, func() { out = f([]*mlx.Array{x}) })
				return out
			}
			out, err := mlx.VMap(run, axes, []int{0})(in...)
			require.NoError(t, err)
			for i := range 3 {
				one := slices.Clone(in)
				for j := range one {
					if axes[j] == 0 {
						one[j] = in[j].Select(0, i)
					}
				}
				near(t, floats(t, run(one)[0]), out[0].Select(0, i), 1e-12, "parameter %d, vmap %d", k, i)
			}
		}

		many := uniform(r, 1, 5, 2, 4, 3)
		out, err := mlx.VMap(f, []int{0}, []int{0})(many)
		require.NoError(t, err)
		shaped(t, []int{5, 2, 4, 2}, out[0])
		for i := range 5 {
			want := f([]*mlx.Array{many.Select(0, i)})
			near(t, floats(t, want[0]), out[0].Select(0, i), 1e-12, "vmap %d", i)
		}
	}
}

// Transforms inside of each other, each of which traces the layer its own way.
func TestNestedTransforms(t *testing.T) {
	for _, cell := range []recurrent.Cell{recurrent.RNN, recurrent.GRU, recurrent.LSTM} {
		l := newLayer(t, config{cell: cell, input: 3, hidden: 2, dtype: mlx.Float64}, 3)
		r := newRand(1)
		forward := func(args []*mlx.Array) []*mlx.Array {
			y, _ := l.Forward(args[0], State{})
			return []*mlx.Array{y}
		}
		lossOf := func(f func(args ...*mlx.Array) ([]*mlx.Array, error)) mlx.Func {
			return func(args []*mlx.Array) []*mlx.Array {
				out, err := f(args...)
				if err != nil {
					return []*mlx.Array{mlx.ErrorArray("loss", err)}
				}
				return []*mlx.Array{out[0].Square().Sum()}
			}
		}
		plain := func(args ...*mlx.Array) ([]*mlx.Array, error) { return forward(args), nil }
		inner := mlx.Compile(forward)
		gradOf := func(f mlx.Func) mlx.Func {
			return func(args []*mlx.Array) []*mlx.Array {
				d, err := mlx.Grad(f)(args...)
				if err != nil {
					return []*mlx.Array{mlx.ErrorArray("gradient", err)}
				}
				return d
			}
		}
		compiled := mlx.Compile(gradOf(lossOf(inner.Call)))
		mapped := mlx.VMap(gradOf(lossOf(plain)), []int{0}, []int{0})
		tangent := func(args ...*mlx.Array) ([]*mlx.Array, error) {
			_, d, err := mlx.JVP(forward, args, []*mlx.Array{args[0].Tanh()})
			return d, err
		}
		for range 3 {
			x := uniform(r, 1, 4, 2, 5, 3)
			for i := range 4 {
				one := x.Select(0, i)
				want := gradOf(lossOf(plain))([]*mlx.Array{one})
				for name, f := range map[string]func(args ...*mlx.Array) ([]*mlx.Array, error){
					"gradient of a compiled function":         mlx.Grad(lossOf(inner.Call)),
					"the same compiled":                       compiled.Call,
					"gradient of a checkpointed function":     mlx.Grad(lossOf(mlx.Checkpoint(forward))),
					"gradient of a checkpointed compiled one": mlx.Grad(lossOf(mlx.Checkpoint(func(args []*mlx.Array) []*mlx.Array { out, _ := inner.Call(args...); return out }))),
				} {
					got, err := f(one)
					require.NoError(t, err, name)
					near(t, floats(t, want[0]), got[0], 1e-12, name)
				}
			}
			out, err := mapped(x)
			require.NoError(t, err)
			alone, err := mlx.Grad(lossOf(mlx.VMap(forward, []int{0}, []int{0})))(x)
			require.NoError(t, err)
			for i := range 4 {
				want := floats(t, gradOf(lossOf(plain))([]*mlx.Array{x.Select(0, i)})[0])
				near(t, want, out[0].Select(0, i), 1e-12, "vmap of a gradient")
				near(t, want, alone[0].Select(0, i), 1e-12, "gradient of a vmap")
			}
			// The gradient of a forward derivative.
			one := x.Select(0, 0)
			_, d := gradients(t, func(args []*mlx.Array) *mlx.Array { return lossOf(tangent)(args)[0] }, one)
			centralDifferences(t, func(args []*mlx.Array) *mlx.Array { return lossOf(tangent)(args)[0] }, []*mlx.Array{one}, d, 1e-6, []string{"x"})
		}
		compiled.Close()
		inner.Close()
	}
}
