// Forecast predicts the last years of a seasonal series from the years before, and compares itself with forecasts
// that need no model: the last year again, and the last year plus the usual growth.
//
//	go run ./examples/forecast
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "forecast:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("forecast", flag.ContinueOnError)
	folder := flags.String("out", "out/forecast", "folder for the picture")
	steps := flags.Int("steps", 400, "training steps")
	months := flags.Int("months", 36, "months to hold out and forecast")
	hidden := flags.Int("hidden", 16, "hidden units")
	seed := flags.Uint64("seed", 1, "the same seed gives the same forecast")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := readSeries(co2)
	if err != nil {
		return err
	}
	if *steps < 1 || *months < 1 || *hidden < 1 || *months > len(s.values)/2 {
		return fmt.Errorf("-steps and -hidden must be at least 1, -months 1 to %d", len(s.values)/2)
	}
	cut := len(s.values) - *months
	known, truth := s.values[:cut], s.values[cut:]
	fmt.Fprintf(out, "CO2 at Mauna Loa, monthly: learning from %s to %s, forecasting the %d months to %s\n",
		s.months[0], s.months[cut-1], *months, s.months[len(s.months)-1])

	f, err := newForecaster(*hidden, *seed)
	if err != nil {
		return err
	}
	err = f.train(known, *steps, *seed, func(step int, loss float64) {
		if step%max(*steps/8, 1) == 0 {
			fmt.Fprintf(out, "step %d/%d  loss %.4f\n", step, *steps, loss)
		}
	})
	if err != nil {
		return err
	}
	forecast, err := f.forecast(known, *months)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%-28s %8s %8s   (parts per million, %d held-out months)\n", "forecast", "RMSE", "MAE", *months)
	for _, row := range []struct {
		name   string
		values []float64
	}{{"GRU", forecast}, {"seasonal naive", seasonalNaive(known, *months)}, {"seasonal naive with growth", seasonalDrift(known, *months)}} {
		rmse, mae := errorsOf(row.values, truth)
		fmt.Fprintf(out, "%-28s %8.3f %8.3f\n", row.name, rmse, mae)
	}
	if err := os.MkdirAll(*folder, 0o755); err != nil {
		return err
	}
	picture := filepath.Join(*folder, "forecast.png")
	if err := draw(picture, s, cut, forecast, seasonalNaive(known, *months)); err != nil {
		return err
	}
	fmt.Fprintf(out, "\npicture  %s\n", picture)
	return nil
}
