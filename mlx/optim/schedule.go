package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Schedule is a learning rate that depends on the number of updates made before. The zero value is
// no schedule. A fault in a schedule's arguments is reported by the optimiser that is given it.
type Schedule struct {
	at  func(step int) float64
	err error
}

// At is the rate of the update number step, the first being 0; NaN for the zero value and a faulty schedule.
func (s Schedule) At(step int) float64 {
	if s.at == nil || s.err != nil {
		return math.NaN()
	}
	return s.at(step)
}

// Err is the fault in the arguments that the schedule was made of, nil for a good one.
func (s Schedule) Err() error { return s.err }

func (s Schedule) isZero() bool { return s.at == nil && s.err == nil }

func newSchedule(name string, at func(step int) float64, faults ...error) Schedule {
	if err := errors.Join(faults...); err != nil {
		return Schedule{err: fmt.Errorf("%s: %w", name, err)}
	}
	return Schedule{at: at}
}

func atLeastOne(name string, v int) error {
	if v < 1 {
		return fmt.Errorf("%s is %d; expected at least 1", name, v)
	}
	return nil
}

func finite(name string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%s is %v; expected a finite number", name, v)
	}
	return nil
}

// Func is a schedule of one's own.
func Func(at func(step int) float64) Schedule {
	if at == nil {
		return Schedule{err: errors.New("Func: the function is nil")}
	}
	return Schedule{at: at}
}

// Constant is the same rate for all updates.
func Constant(rate float64) Schedule {
	return newSchedule("Constant", func(int) float64 { return rate }, finite("rate", rate))
}

// ExponentialDecay is init rate^step.
func ExponentialDecay(init, rate float64) Schedule {
	return newSchedule("ExponentialDecay", func(step int) float64 { return init * math.Pow(rate, float64(step)) },
		finite("init", init), finite("rate", rate))
}

// StepDecay multiplies init by rate after each every updates.
func StepDecay(init, rate float64, every int) Schedule {
	return newSchedule("StepDecay", func(step int) float64 { return init * math.Pow(rate, float64(step/every)) },
		finite("init", init), finite("rate", rate), atLeastOne("every", every))
}

// CosineDecay goes from init to end along half a cosine in a number of steps and then stays at end.
func CosineDecay(init float64, steps int, end float64) Schedule {
	return newSchedule("CosineDecay", func(step int) float64 {
		s := float64(min(step, steps))
		return end + 0.5*(1+math.Cos(math.Pi/float64(steps)*s))*(init-end)
	}, finite("init", init), finite("end", end), atLeastOne("steps", steps))
}

// Linear goes from init to end in equal steps and then stays at end.
func Linear(init, end float64, steps int) Schedule {
	return newSchedule("Linear", func(step int) float64 {
		return float64(min(step, steps))*((end-init)/float64(steps)) + init
	}, finite("init", init), finite("end", end), atLeastOne("steps", steps))
}

// Join follows one schedule after another: schedule i+1 begins at step boundaries[i], and counts from there.
func Join(schedules []Schedule, boundaries []int) Schedule {
	var faults []error
	if len(schedules) == 0 || len(boundaries) != len(schedules)-1 {
		faults = append(faults, fmt.Errorf("%d schedules and %d boundaries; expected one boundary between each two schedules",
			len(schedules), len(boundaries)))
	}
	for i, s := range schedules {
		if s.err != nil {
			faults = append(faults, s.err)
		} else if s.isZero() {
			faults = append(faults, fmt.Errorf("schedule %d is empty", i))
		}
	}
	if !slices.IsSorted(boundaries) || len(boundaries) > 0 && boundaries[0] < 0 {
		faults = append(faults, fmt.Errorf("boundaries are %v; expected rising step numbers", boundaries))
	}
	schedules, boundaries = slices.Clone(schedules), slices.Clone(boundaries)
	return newSchedule("Join", func(step int) float64 {
		i, start := 0, 0
		for i < len(boundaries) && step >= boundaries[i] {
			start = boundaries[i]
			i++
		}
		return schedules[i].at(step - start)
	}, faults...)
}

// WarmUp rises from 0 to peak in a number of steps and goes on with then, which counts from there.
func WarmUp(peak float64, steps int, then Schedule) Schedule {
	return Join([]Schedule{Linear(0, peak, steps), then}, []int{steps})
}
