package main

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tiny are settings with which a step takes milliseconds.
func tiny(cell string) settings {
	s := usual
	s.TextLimit, s.Cell, s.Layers, s.Hidden, s.Embed, s.Dropout = 200_000, cell, 2, 12, 8, 0.2
	s.Rows, s.Window, s.Steps, s.EvalEvery = 4, 8, 12, 5
	return s
}

func newTiny(t *testing.T, s settings) *trainer {
	t.Helper()
	c, err := readCorpus(s.Text, s.TextLimit)
	require.NoError(t, err)
	tr, err := newTrainer(s, c)
	require.NoError(t, err)
	return tr
}

func nothing() error { return nil }

func TestResumedRunEqualsUnbroken(t *testing.T) {
	for _, cell := range []string{"gru", "lstm", "rnn"} {
		t.Run(cell, func(t *testing.T) {
			whole := newTiny(t, tiny(cell))
			require.NoError(t, whole.run(t.Context(), nothing))
			require.Len(t, whole.history.Train, 12)

			first := newTiny(t, tiny(cell))
			ctx, cancel := context.WithCancel(t.Context())
			require.NoError(t, first.run(ctx, func() error {
				if first.step == 7 {
					cancel()
				}
				return nil
			}))
			require.Equal(t, 7, first.step)
			path := filepath.Join(t.TempDir(), "model.safetensors")
			require.NoError(t, first.save(path))
			second, err := resume(path)
			require.NoError(t, err)
			require.Equal(t, 7, second.step)
			require.NoError(t, second.run(t.Context(), nothing))
			require.Equal(t, whole.history, second.history, "losses must be equal to the last bit")
		})
	}
}

func TestSeedDecidesTheLosses(t *testing.T) {
	losses := func(seed uint64) []float64 {
		s := tiny("gru")
		s.Steps, s.Seed = 4, seed
		tr := newTiny(t, s)
		require.NoError(t, tr.run(t.Context(), nothing))
		return tr.history.Train
	}
	require.Equal(t, losses(1), losses(1))
	require.NotEqual(t, losses(1), losses(2))
}

func TestTrainingLearns(t *testing.T) {
	s := tiny("gru")
	s.Steps, s.Layers, s.Dropout, s.Hidden, s.Rows, s.Window, s.Rate = 80, 1, 0, 48, 16, 16, 1e-2
	tr := newTiny(t, s)
	before, err := tr.heldOut(10_000)
	require.NoError(t, err)
	require.NoError(t, tr.run(t.Context(), nothing))
	after, err := tr.heldOut(10_000)
	require.NoError(t, err)
	require.Less(t, after, before-0.8, "nats a character")
}

func TestOutputWithoutTerminal(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	args := []string{"-quick", "-limit", "200000", "-steps", "6", "-eval-every", "3", "-out", dir, "-length", "50"}
	require.NoError(t, run(t.Context(), args, &out, false))
	text := out.String()
	require.NotContains(t, text, "\r")
	require.NotContains(t, text, "\x1b")
	for _, want := range []string{"step 6/6", "perplexity", "composed", "held-out loss", "written by the model"} {
		require.Contains(t, text, want)
	}
	f, err := os.Open(filepath.Join(dir, "loss.png"))
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	require.Greater(t, picture.Bounds().Dx(), 300)

	sampled := func(temperature string) string {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), []string{"-sample", "-out", dir, "-length", "80", "-temperature", temperature}, &out, false))
		return out.String()
	}
	require.Equal(t, sampled("0.9"), sampled("0.9"))
	require.NotEqual(t, sampled("0"), sampled("1"))
}

func TestProgressBarOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, true, 0, 3, 100)
	for i := 1; i <= 3; i++ {
		p.step(i, 2, 1.5)
	}
	p.close()
	require.Contains(t, out.String(), "held out 1.500")
	require.Contains(t, out.String(), "\r")
}

func TestDamagedCheckpointIsRefusedAndKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	tr := newTiny(t, tiny("gru"))
	require.NoError(t, tr.save(path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o644))
	for _, mode := range []string{"-resume", "-sample"} {
		err = run(t.Context(), []string{mode, "-out", dir}, &bytes.Buffer{}, false)
		require.ErrorContains(t, err, "model.safetensors")
		require.ErrorContains(t, err, "cut off")
	}
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, whole[:len(whole)/2], kept)
	require.ErrorContains(t, run(t.Context(), []string{"-resume", "-out", t.TempDir()}, &bytes.Buffer{}, false), "no such file")
}

func TestBadArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"no such file":  {"-text", "/no/such/file"},
		"-hidden is 0":  {"-hidden", "0"},
		"-cell is":      {"-cell", "gpt"},
		"-rate is -1":   {"-rate", "-1"},
		"too few":       {"-text", "go.mod"},
		"unknown argum": {"train"},
	} {
		if args[1%len(args)] == "go.mod" {
			small := filepath.Join(t.TempDir(), "small.txt")
			require.NoError(t, os.WriteFile(small, []byte("too short"), 0o644))
			args[1] = small
		}
		require.ErrorContains(t, run(t.Context(), append(args, "-out", t.TempDir()), &bytes.Buffer{}, false), want)
	}
	err := run(t.Context(), []string{"-hidden", "0", "-rows", "-2"}, &bytes.Buffer{}, false)
	require.ErrorContains(t, err, "-hidden is 0")
	require.ErrorContains(t, err, "-rows is -2")
}

// TestInterruptSaves sends an interrupt to a run of its own: this test binary, started again.
func TestInterruptSaves(t *testing.T) {
	if dir := os.Getenv("MPSRNN_TEST_INTERRUPTED"); dir != "" {
		os.Args = []string{"gru", "-quick", "-limit", "200000", "-steps", "1000000", "-out", dir}
		main()
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptSaves$")
	cmd.Env = append(os.Environ(), "MPSRNN_TEST_INTERRUPTED="+dir)
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Minute
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "held out") }, time.Minute, 10*time.Millisecond, "no step was made: %s", &out)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait(), "%s", &out)
	require.Contains(t, out.String(), "interrupted after step")
	require.Contains(t, out.String(), "-resume")
	tr, err := resume(filepath.Join(dir, "model.safetensors"))
	require.NoError(t, err)
	require.Positive(t, tr.step)
}
