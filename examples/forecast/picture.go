package main

import (
	"fmt"
	"image/color"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// draw writes the last known years, the truth and the forecasts as a PNG.
func draw(path string, s series, cut int, forecast, naive []float64) error {
	p := plot.New()
	p.Title.Text = "CO2 at Mauna Loa: forecast of the held-out months"
	p.Title.Padding = vg.Points(8)
	p.Y.Label.Text = "parts per million"
	p.X.Tick.Marker = plot.TickerFunc(newYears)
	p.Add(plotter.NewGrid())
	const before = 48 // months of the known part that are shown
	for _, curve := range []struct {
		name   string
		start  int
		values []float64
		color  color.Color
		width  vg.Length
		dashes []vg.Length
	}{
		{"truth", cut - before, s.values[cut-before:], color.Gray{Y: 90}, 2.4, nil},
		{"seasonal naive", cut, naive, color.RGBA{R: 70, G: 120, B: 200, A: 255}, 1.4, []vg.Length{vg.Points(4), vg.Points(3)}},
		{"GRU", cut, forecast, color.RGBA{R: 210, G: 60, B: 40, A: 255}, 1.6, nil},
	} {
		points := make(plotter.XYs, len(curve.values))
		for i, v := range curve.values {
			at, err := time.Parse("2006-01", s.months[curve.start+i])
			if err != nil {
				return fmt.Errorf("picture: %w", err)
			}
			points[i] = plotter.XY{X: float64(at.Unix()), Y: v}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("picture: %w", err)
		}
		line.Color, line.Width, line.Dashes = curve.color, vg.Points(float64(curve.width)), curve.dashes
		p.Add(line)
		p.Legend.Add(curve.name, line)
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(4)
	if err := p.Save(18*vg.Centimeter, 10*vg.Centimeter, path); err != nil {
		return fmt.Errorf("picture %s: %w", path, err)
	}
	return nil
}

// newYears puts a tick at the beginning of each year.
func newYears(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for year := time.Unix(int64(low), 0).UTC().Year(); ; year++ {
		at := float64(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
		if at > high {
			return ticks
		}
		if at >= low {
			ticks = append(ticks, plot.Tick{Value: at, Label: strconv.Itoa(year)})
		}
	}
}
