package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeriesIsWhole(t *testing.T) {
	s, err := readSeries(co2)
	require.NoError(t, err)
	require.Len(t, s.values, 526)
	require.Equal(t, "1958-03", s.months[0])
	require.Equal(t, "2001-12", s.months[525])
	for i, v := range s.values {
		require.InDelta(t, 343, v, 35, s.months[i])
	}
	_, err = readSeries("month,ppm\n1958-03,many\n")
	require.ErrorContains(t, err, "line 2")
}

func TestSimpleForecasts(t *testing.T) {
	known := make([]float64, 36)
	for i := range known {
		known[i] = float64(i%period) + 2*float64(i/period)
	}
	require.Equal(t, []float64{4, 5, 6}, seasonalNaive(known, 3))
	require.InDeltaSlice(t, []float64{6, 7}, seasonalDrift(known, 2), 1e-9)
	require.InDelta(t, 8, seasonalDrift(known, 13)[12], 1e-12)
	rmse, mae := errorsOf([]float64{1, 5}, []float64{1, 2})
	require.InDelta(t, 2.1213, rmse, 1e-4)
	require.InDelta(t, 1.5, mae, 1e-12)
}

// The held-out years are never seen in training, so this cannot be learned by heart.
func TestModelBeatsSeasonalNaive(t *testing.T) {
	s, err := readSeries(co2)
	require.NoError(t, err)
	cut := len(s.values) - 36
	f, err := newForecaster(16, 1)
	require.NoError(t, err)
	require.NoError(t, f.train(s.values[:cut], 150, 1, func(int, float64) {}))
	forecast, err := f.forecast(s.values[:cut], 36)
	require.NoError(t, err)
	ours, _ := errorsOf(forecast, s.values[cut:])
	naive, _ := errorsOf(seasonalNaive(s.values[:cut], 36), s.values[cut:])
	require.Less(t, ours, naive/2)
	_, err = newForecaster(0, 1)
	require.Error(t, err)
	require.ErrorContains(t, f.train(s.values[:50], 1, 1, nil), "too few")
}

func TestRunDrawsAndTellsErrors(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-steps", "10", "-out", dir}, &out))
	for _, want := range []string{"seasonal naive with growth", "GRU", "RMSE", "forecast.png"} {
		require.Contains(t, out.String(), want)
	}
	f, err := os.Open(filepath.Join(dir, "forecast.png"))
	require.NoError(t, err)
	defer f.Close()
	_, err = png.Decode(f)
	require.NoError(t, err)
	require.ErrorContains(t, run([]string{"-steps", "0"}, &out), "-steps")
}
