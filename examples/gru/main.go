// Gru trains a character model on text: embedding, recurrent layer, linear layer.
//
//	go run ./examples/gru                     train on the Go standard library's source
//	go run ./examples/gru -text FILE          train on a text, or on all texts in a folder
//	go run ./examples/gru -resume             go on after an interruption
//	go run ./examples/gru -sample -temperature 0.7 -prompt "func "
//
// It writes a checkpoint and a picture of the losses to the folder that -out names. Ctrl-C saves and stops.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/term"

	"github.com/mpsrnn/mpsrnn/mlx"
	"github.com/mpsrnn/mpsrnn/mlx/nn"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, term.IsTerminal(int(os.Stdout.Fd()))); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "gru:", err)
		}
		os.Exit(1)
	}
}

// options are what the user asks for besides the settings of a run.
type options struct {
	out, prompt                string
	quick, resume, sample      bool
	threads, saveEvery, length int
	temperature                float64
}

func parse(args []string) (options, settings, error) {
	var o options
	s := usual
	flags := flag.NewFlagSet("gru", flag.ContinueOnError)
	flags.StringVar(&s.Text, "text", "", "text file or folder (default: the Go standard library)")
	flags.IntVar(&s.TextLimit, "limit", s.TextLimit, "read at most so many bytes of text")
	flags.StringVar(&s.Cell, "cell", s.Cell, "gru, lstm or rnn")
	flags.IntVar(&s.Layers, "layers", s.Layers, "recurrent layers")
	flags.IntVar(&s.Hidden, "hidden", s.Hidden, "hidden units of a layer")
	flags.IntVar(&s.Embed, "embed", s.Embed, "numbers for a character")
	flags.Float64Var(&s.Dropout, "dropout", s.Dropout, "dropout between layers")
	flags.IntVar(&s.Rows, "rows", s.Rows, "rows of text that are read side by side")
	flags.IntVar(&s.Window, "window", s.Window, "characters through which gradients flow")
	flags.IntVar(&s.Steps, "steps", s.Steps, "training steps")
	flags.Float64Var(&s.Rate, "rate", s.Rate, "highest learning rate")
	flags.Float64Var(&s.Clip, "clip", s.Clip, "highest norm of the gradients")
	flags.IntVar(&s.EvalEvery, "eval-every", s.EvalEvery, "steps between looks at the held-out text")
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "the same seed gives the same losses")
	flags.StringVar(&o.out, "out", "out/gru", "folder for the checkpoint and the picture")
	flags.BoolVar(&o.quick, "quick", false, "a run of seconds")
	flags.BoolVar(&o.resume, "resume", false, "go on from the checkpoint in -out, with its settings")
	flags.BoolVar(&o.sample, "sample", false, "only write text with the model in -out")
	flags.StringVar(&o.prompt, "prompt", "func ", "start of the text that is written")
	flags.IntVar(&o.length, "length", 400, "characters to write")
	flags.Float64Var(&o.temperature, "temperature", 0.6, "0: always the likeliest character; 1: by the model's probabilities")
	flags.IntVar(&o.threads, "threads", 1, "threads for one matrix product; the layers use all cores without. Other numbers change the last bits")
	flags.IntVar(&o.saveEvery, "save-every", 100, "steps between checkpoints")
	if err := flags.Parse(args); err != nil {
		return o, s, flag.ErrHelp // the flag package has told why
	}
	if flags.NArg() > 0 {
		return o, s, fmt.Errorf("unknown argument %q (see -help)", flags.Arg(0))
	}
	if o.quick {
		s.quick()
		// What was asked for in so many words stands.
		_ = flags.Parse(args)
	}
	if o.length < 0 || o.temperature < 0 || math.IsNaN(o.temperature) || o.threads < 1 || o.saveEvery < 1 {
		return o, s, errors.New("-length and -temperature must not be negative, -threads and -save-every at least 1")
	}
	return o, s, s.check()
}

func run(ctx context.Context, args []string, out io.Writer, terminal bool) error {
	o, s, err := parse(args)
	if err != nil {
		return err
	}
	mlx.SetBLASThreads(o.threads)
	// Without room for a step's arrays MLX would fetch them from the system anew at each step.
	if _, err := mlx.SetCacheLimit(1 << 30); err != nil {
		return err
	}
	checkpoint := filepath.Join(o.out, "model.safetensors")
	if o.sample {
		m, c, err := loadModel(checkpoint)
		if err != nil {
			return err
		}
		return writeSample(out, m, c, o, s.Seed)
	}
	t, err := begin(o, s, checkpoint)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	describe(out, t, o)
	return t.train(ctx, out, terminal, o, checkpoint)
}

func begin(o options, s settings, checkpoint string) (*trainer, error) {
	if o.resume {
		return resume(checkpoint)
	}
	c, err := readCorpus(s.Text, s.TextLimit)
	if err != nil {
		return nil, err
	}
	return newTrainer(s, c)
}

// train runs to the end or to an interruption, and leaves a checkpoint and a picture in both cases.
func (t *trainer) train(ctx context.Context, out io.Writer, terminal bool, o options, checkpoint string) error {
	s := t.settings
	p := newProgress(out, terminal, t.step, s.Steps, s.Rows*s.Window)
	err := t.run(ctx, func() error {
		heldOut := math.NaN()
		if n := len(t.history.HeldStep); n > 0 && t.history.HeldStep[n-1] == t.step {
			heldOut = t.history.HeldOut[n-1]
		}
		p.step(t.step, t.history.Train[t.step-1], heldOut)
		if t.step%o.saveEvery == 0 {
			return t.save(checkpoint)
		}
		return nil
	})
	p.close()
	if err != nil {
		return err
	}
	if err := t.save(checkpoint); err != nil {
		return err
	}
	picture := filepath.Join(o.out, "loss.png")
	if t.step > 0 {
		if err := t.history.draw(picture, fmt.Sprintf("%s, %d x %d, on %s", s.Cell, s.Layers, s.Hidden, t.corpus.source)); err != nil {
			return err
		}
	}
	if t.step < s.Steps {
		fmt.Fprintf(out, "interrupted after step %d of %d; saved to %s. Go on with -resume -out %s\n", t.step, s.Steps, checkpoint, o.out)
		return nil
	}
	loss, err := t.heldOut(400_000)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "held-out loss %.3f nats a character, perplexity %.2f\n\n", loss, math.Exp(loss))
	if err := writeSample(out, t.model, t.corpus, o, s.Seed); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nmodel    %s\npicture  %s\nmore     make run ARGS='-sample -out %s -prompt \"type \" -temperature 0.8'\n", checkpoint, picture, o.out)
	return nil
}

func writeSample(out io.Writer, m *charModel, c *corpus, o options, seed uint64) error {
	text, err := sample(m, c, o.prompt, o.length, o.temperature, seed)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "--- written by the model, temperature %g ---\n%s%s\n---\n", o.temperature, o.prompt, text)
	return err
}

// describe tells what is about to happen, and on what.
func describe(out io.Writer, t *trainer, o options) {
	s, c := t.settings, t.corpus
	parameters, _ := nn.Count(t.model)
	blas := filepath.Base(mlx.BLAS())
	fmt.Fprintf(out, "text     %s: %d files, %.1f M characters to train on, %.1f M held out, %d different\n",
		c.source, c.files, float64(len(c.train))/1e6, float64(len(c.heldOut))/1e6, len(c.vocabulary))
	fmt.Fprintf(out, "model    embedding %d, %s %d x %d, linear: %d parameters\n", s.Embed, s.Cell, s.Layers, s.Hidden, parameters)
	fmt.Fprintf(out, "training %d steps of %d rows x %d characters, AdamW up to %g, seed %d\n", s.Steps, s.Rows, s.Window, s.Rate, s.Seed)
	fmt.Fprintf(out, "machine  MLX %s on %v, %s, threads for products: %d\n", mlx.Version(), mlx.DefaultDevice(), blas, o.threads)
	fmt.Fprintf(out, "%v\n\n", t.model.RNN.Plan([]int{s.Rows, s.Window, s.Embed}))
	if t.step > 0 {
		fmt.Fprintf(out, "going on after step %d\n", t.step)
	}
}
