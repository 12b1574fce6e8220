package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// draw writes the loss curves as a PNG.
func (h history) draw(path, title string) error {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = vg.Points(13)
	p.Title.Padding = vg.Points(8)
	p.X.Label.Text = "step"
	p.Y.Label.Text = "loss, nats a character"
	p.Add(plotter.NewGrid())
	train := make(plotter.XYs, len(h.Train))
	for i, v := range h.Train {
		train[i] = plotter.XY{X: float64(i + 1), Y: v}
	}
	held := make(plotter.XYs, len(h.HeldOut))
	for i, v := range h.HeldOut {
		held[i] = plotter.XY{X: float64(h.HeldStep[i]), Y: v}
	}
	line, err := plotter.NewLine(train)
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	line.Color = color.RGBA{R: 120, G: 160, B: 210, A: 255}
	p.Add(line)
	p.Legend.Add("training", line)
	if len(held) > 0 {
		heldLine, points, err := plotter.NewLinePoints(held)
		if err != nil {
			return fmt.Errorf("picture: %w", err)
		}
		heldLine.Color = color.RGBA{R: 200, G: 60, B: 40, A: 255}
		heldLine.Width = vg.Points(1.8)
		points.Color = heldLine.Color
		p.Add(heldLine, points)
		p.Legend.Add("held out", heldLine, points)
	}
	p.Legend.Top = true
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(8), -vg.Points(8)
	p.Legend.Padding = vg.Points(4)
	if err := p.Save(16*vg.Centimeter, 10*vg.Centimeter, path); err != nil {
		return fmt.Errorf("picture %s: %w", path, err)
	}
	return nil
}
