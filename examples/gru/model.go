package main

import (
	"fmt"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/rnn"
)

// recurrent is what the model needs of rnn.GRU, rnn.LSTM and rnn.RNN.
type recurrent interface {
	Forward(x *mlx.Array, s rnn.State, opts ...rnn.CallOption) (y *mlx.Array, final rnn.State)
	Step(x *mlx.Array, s rnn.State, opts ...rnn.CallOption) (y *mlx.Array, next rnn.State)
	ZeroState(batch int) rnn.State
	Plan(shape []int) rnn.Plan
}

// charModel gives, for each character of a text, the scores of the next one.
type charModel struct {
	Embed *nn.Embedding
	RNN   recurrent `mlx:"rnn"`
	Out   *nn.Linear
}

func newCharModel(s settings, vocabulary int) (*charModel, error) {
	keys := mlx.NewKeys(s.Seed)
	embed, err := nn.NewEmbedding(nn.EmbeddingConfig{Count: vocabulary, Dim: s.Embed}, keys.Next())
	if err != nil {
		return nil, err
	}
	layer, err := newRecurrent(s, keys.Next())
	if err != nil {
		return nil, err
	}
	out, err := nn.NewLinear(nn.LinearConfig{Input: s.Hidden, Output: vocabulary}, keys.Next())
	if err != nil {
		return nil, err
	}
	return &charModel{Embed: embed, RNN: layer, Out: out}, nil
}

func newRecurrent(s settings, key *mlx.Array) (recurrent, error) {
	switch s.Cell {
	case "gru":
		return rnn.NewGRU(rnn.GRUConfig{Input: s.Embed, Hidden: s.Hidden, Layers: s.Layers, Dropout: s.Dropout}, key)
	case "lstm":
		return rnn.NewLSTM(rnn.LSTMConfig{Input: s.Embed, Hidden: s.Hidden, Layers: s.Layers, Dropout: s.Dropout, ForgetBias: 1}, key)
	case "rnn":
		return rnn.NewRNN(rnn.RNNConfig{Input: s.Embed, Hidden: s.Hidden, Layers: s.Layers, Dropout: s.Dropout}, key)
	}
	return nil, fmt.Errorf("cell %q is none of gru, lstm, rnn", s.Cell)
}

// Forward gives the scores [N, L, vocabulary] of the characters that follow x [N, L], and the final state.
func (m *charModel) Forward(x *mlx.Array, s rnn.State, opts ...rnn.CallOption) (*mlx.Array, rnn.State) {
	y, s := m.RNN.Forward(m.Embed.Forward(x), s, opts...)
	return m.Out.Forward(y), s
}

// Step gives the scores [N, vocabulary] of the characters that follow x [N], and the next state.
func (m *charModel) Step(x *mlx.Array, s rnn.State) (*mlx.Array, rnn.State) {
	y, s := m.RNN.Step(m.Embed.Forward(x), s)
	return m.Out.Forward(y), s
}
