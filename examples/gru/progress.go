package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how a run goes: a bar on a terminal, else a line now and then.
type progress struct {
	out        io.Writer
	bar        *progressbar.ProgressBar // nil for plain lines
	total      int
	characters int // of one step
	started    time.Time
	first      int
	smooth     float64
	every      int
}

func newProgress(out io.Writer, terminal bool, done, total, characters int) *progress {
	p := &progress{out: out, total: total, characters: characters, started: time.Now(), first: done, every: max(total/20, 1)}
	if terminal {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetWidth(24),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}),
		)
		_ = p.bar.Set(done)
	}
	return p
}

// step tells of a finished step and, unless it is NaN, of a new loss on the held-out text.
func (p *progress) step(done int, loss, heldOut float64) {
	if p.smooth == 0 {
		p.smooth = loss
	}
	p.smooth = 0.9*p.smooth + 0.1*loss
	elapsed := time.Since(p.started)
	rate := float64((done-p.first)*p.characters) / elapsed.Seconds()
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("loss %.3f  ppl %5.2f  %4.1fk char/s", p.smooth, math.Exp(p.smooth), rate/1000))
		_ = p.bar.Set(done)
		if !math.IsNaN(heldOut) {
			_ = p.bar.Clear()
			fmt.Fprintf(p.out, "step %4d  held out %.3f  perplexity %.2f\n", done, heldOut, math.Exp(heldOut))
			_ = p.bar.RenderBlank()
		}
		return
	}
	if done%p.every != 0 && done != p.total && math.IsNaN(heldOut) {
		return
	}
	left := time.Duration(float64(elapsed) / float64(done-p.first) * float64(p.total-done)).Round(time.Second)
	line := fmt.Sprintf("step %d/%d  loss %.3f  perplexity %.2f  %.1fk characters/s  %s left", done, p.total, p.smooth, math.Exp(p.smooth), rate/1000, left)
	if !math.IsNaN(heldOut) {
		line += fmt.Sprintf("  held out %.3f  perplexity %.2f", heldOut, math.Exp(heldOut))
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Exit()
		fmt.Fprintln(p.out)
	}
}
