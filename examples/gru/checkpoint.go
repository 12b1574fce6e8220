package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
	"github.com/mpsrnn/mpsrnn/mlx/optim"
	"github.com/mpsrnn/mpsrnn/rnn"
)

// save writes everything that the run needs to go on into one file, which appears whole or not at all.
func (t *trainer) save(path string) error {
	config, err := json.Marshal(t.settings)
	if err != nil {
		return err
	}
	past, err := json.Marshal(t.history)
	if err != nil {
		return err
	}
	extra := map[string]*mlx.Array{"state.h": t.state.H}
	if t.state.C != nil {
		extra["state.c"] = t.state.C
	}
	return optim.SaveCheckpoint(path, optim.Checkpoint{
		Model: t.model, Optimizer: t.opt, Arrays: extra,
		Meta: map[string]string{
			"settings": string(config), "history": string(past), "step": strconv.Itoa(t.step), "vocabulary": string(t.corpus.vocabulary),
		},
	})
}

// resume makes a trainer that goes on where the run that wrote the file stopped.
func resume(path string) (*trainer, error) {
	s, meta, err := readSettings(path)
	if err != nil {
		return nil, err
	}
	c, err := readCorpus(s.Text, s.TextLimit)
	if err != nil {
		return nil, err
	}
	if string(c.vocabulary) != meta["vocabulary"] {
		return nil, fmt.Errorf("%s: the text %s is no longer the one that the run was trained on", path, c.source)
	}
	t, err := newTrainer(s, c)
	if err != nil {
		return nil, err
	}
	saved := optim.Checkpoint{Model: t.model, Optimizer: t.opt}
	if err := optim.LoadCheckpoint(path, &saved); err != nil {
		return nil, err
	}
	if t.step, err = strconv.Atoi(meta["step"]); err != nil || t.step < 0 {
		return nil, fmt.Errorf("%s: step %q is not a number", path, meta["step"])
	}
	if err := json.Unmarshal([]byte(meta["history"]), &t.history); err != nil {
		return nil, fmt.Errorf("%s: history: %w", path, err)
	}
	if saved.Arrays["state.h"] == nil {
		return nil, fmt.Errorf("%s: it has no recurrent state: is it a checkpoint of this program?", path)
	}
	t.state = rnn.State{H: saved.Arrays["state.h"], C: saved.Arrays["state.c"]}
	return t, nil
}

// loadModel reads only what sampling needs.
func loadModel(path string) (*charModel, *corpus, error) {
	s, meta, err := readSettings(path)
	if err != nil {
		return nil, nil, err
	}
	c := &corpus{vocabulary: []rune(meta["vocabulary"])}
	m, err := newCharModel(s, len(c.vocabulary))
	if err != nil {
		return nil, nil, err
	}
	if err := nn.Load(path, m, nn.Prefix("model.")); err != nil {
		return nil, nil, err
	}
	return m, c, nil
}

func readSettings(path string) (s settings, meta map[string]string, err error) {
	_, meta, err = mlx.LoadSafetensors(path)
	if err != nil {
		return s, nil, err
	}
	if err := json.Unmarshal([]byte(meta["settings"]), &s); err != nil {
		return s, nil, fmt.Errorf("%s: it has no settings of a training run: is it a checkpoint of this program?", path)
	}
	if err := s.check(); err != nil {
		return s, nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, meta, nil
}
