package main

import (
	"errors"
	"fmt"
	"math"
)

// settings are all that decides the losses of a run. A checkpoint holds them.
type settings struct {
	Text        string
	TextLimit   int // bytes
	Cell        string
	Layers      int
	Hidden      int
	Embed       int
	Dropout     float64 // between layers
	Rows        int     // rows of text read side by side
	Window      int     // characters through which gradients flow
	Steps       int
	Rate        float64 // highest learning rate
	Clip        float64 // highest norm of all gradients together
	WeightDecay float64
	EvalEvery   int
	Seed        uint64
}

var usual = settings{
	TextLimit: 16 << 20, Cell: "gru", Layers: 1, Hidden: 208, Embed: 64, Rows: 48, Window: 64, Steps: 1500,
	Rate: 7e-3, Clip: 1, WeightDecay: 0.01, EvalEvery: 250, Seed: 1,
}

// quick makes a run of seconds that still learns something.
func (s *settings) quick() {
	s.TextLimit, s.Hidden, s.Embed, s.Rows, s.Window, s.Steps, s.EvalEvery = 1<<20, 64, 32, 16, 32, 60, 30
}

// check reports all faults together.
func (s settings) check() error {
	var faults []error
	for _, v := range []struct {
		name  string
		value int
	}{{"layers", s.Layers}, {"hidden", s.Hidden}, {"embed", s.Embed}, {"rows", s.Rows}, {"window", s.Window}, {"steps", s.Steps},
		{"eval-every", s.EvalEvery}, {"limit", s.TextLimit}} {
		if v.value < 1 {
			faults = append(faults, fmt.Errorf("-%s is %d; at least 1 is expected", v.name, v.value))
		}
	}
	if !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		faults = append(faults, fmt.Errorf("-rate is %v; a number above 0 is expected", s.Rate))
	}
	if !(s.Clip > 0) {
		faults = append(faults, fmt.Errorf("-clip is %v; a number above 0 is expected", s.Clip))
	}
	if !(s.Dropout >= 0 && s.Dropout < 1) {
		faults = append(faults, fmt.Errorf("-dropout is %v; 0 <= dropout < 1 is expected", s.Dropout))
	}
	if s.Cell != "gru" && s.Cell != "lstm" && s.Cell != "rnn" {
		faults = append(faults, fmt.Errorf("-cell is %q; gru, lstm or rnn is expected", s.Cell))
	}
	return errors.Join(faults...)
}
