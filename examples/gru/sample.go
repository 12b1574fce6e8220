package main

import (
	"github.com/mpsrnn/mpsrnn/mlx"
)

// sample continues a prompt by n characters. Temperature 0 takes the likeliest character each time, 1 draws
// by the model's probabilities, more is more daring. The same seed gives the same text.
func sample(m *charModel, c *corpus, prompt string, n int, temperature float64, seed uint64) (string, error) {
	ids := c.encode(prompt)
	if len(ids) == 0 {
		ids = c.encode("\n")
	}
	keys := mlx.NewKeys(seed)
	state := m.RNN.ZeroState(1)
	var scores *mlx.Array
	for _, id := range ids {
		scores, state = m.Step(mlx.New([]int32{id}), state)
	}
	text := make([]int32, 0, n)
	for range n {
		var next *mlx.Array
		if temperature == 0 {
			next = scores.ArgMax(-1)
		} else {
			next = mlx.RandomCategorical(scores.Div(temperature), -1, keys.Next())
		}
		if err := mlx.Eval(append(state.Arrays(), next)...); err != nil {
			return "", err
		}
		id, err := mlx.Item[uint32](next)
		if err != nil {
			return "", err
		}
		text = append(text, int32(id))
		scores, state = m.Step(next, state)
	}
	return c.decode(text), nil
}
