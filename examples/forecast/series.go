package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// co2 is the CO2 in the air at Mauna Loa, month by month; data/make_co2.py tells where it comes from.
//
//go:embed data/co2.csv
var co2 string

// period is the number of months after which the season repeats.
const period = 12

// series is a value for each month.
type series struct {
	months []string
	values []float64
}

func readSeries(text string) (series, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return series{}, err
	}
	var s series
	for i, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return series{}, fmt.Errorf("line %d: %w", i+2, err)
		}
		s.months = append(s.months, row[0])
		s.values = append(s.values, v)
	}
	return s, nil
}

// seasonalNaive repeats the last known year.
func seasonalNaive(known []float64, months int) []float64 {
	out := make([]float64, months)
	for i := range out {
		out[i] = known[len(known)-period+i%period]
	}
	return out
}

// seasonalDrift is seasonalNaive plus, each year, the mean yearly growth of the known values.
func seasonalDrift(known []float64, months int) []float64 {
	growth := 0.0
	for i := period; i < len(known); i++ {
		growth += (known[i] - known[i-period]) / float64(len(known)-period)
	}
	out := seasonalNaive(known, months)
	for i := range out {
		out[i] += growth * float64(i/period+1)
	}
	return out
}

// errorsOf gives the root mean square and the mean absolute error of a forecast.
func errorsOf(forecast, truth []float64) (rmse, mae float64) {
	for i, v := range truth {
		d := forecast[i] - v
		rmse += d * d / float64(len(truth))
		mae += math.Abs(d) / float64(len(truth))
	}
	return math.Sqrt(rmse), mae
}
