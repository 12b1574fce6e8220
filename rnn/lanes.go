package rnn

import (
	"runtime"
	"sync"

	"github.com/mpsrnn/mpsrnn/mlx"
)

// A recurrence is serial, and a CPU stream of MLX runs one operation at a time. So that a processor with several cores
// is of use, the rows of a batch are shared out to lanes, each with a stream of its own: rows do not depend on each
// other. With one lane the two directions of a layer run side by side instead.

// laneLimits say when lanes are worth their cost; tests change them.
var laneLimits = struct {
	cores func() int
	rows  int // rows that a lane has at least
	work  int // multiply-adds of a lane's recurrent product in one step: below, handing over costs more than it saves
}{
	cores: func() int { return min(runtime.GOMAXPROCS(0), 8) },
	rows:  4,
	work:  1 << 18,
}

var laneStreams struct {
	mu   sync.Mutex
	list []mlx.Stream
}

// lane gives the operations of lane i; lane 0 is the default stream.
func lane(i int) mlx.Ops {
	if i == 0 {
		return mlx.Ops{}
	}
	laneStreams.mu.Lock()
	defer laneStreams.mu.Unlock()
	for len(laneStreams.list) < i {
		s, err := mlx.NewStream(mlx.CPU)
		if err != nil {
			return mlx.Ops{}
		}
		laneStreams.list = append(laneStreams.list, s)
	}
	return mlx.On(laneStreams.list[i-1])
}

// lanes is the number of lanes for the rows of a call, and whether a layer's second direction gets the next one.
func (n *network) lanes(N int) (rows int, directions bool) {
	l := &laneLimits
	cores := l.cores()
	if cores < 2 || n.oneStep || mlx.DefaultDevice() != mlx.CPU {
		return 1, false
	}
	work := N * n.cfg.cell.Gates() * n.cfg.hidden * n.cfg.hidden
	rows = max(1, min(cores, N/l.rows, work/l.work))
	return rows, rows == 1 && n.cfg.direction == Bidirectional && work >= l.work/8
}

// shares cuts N into n parts whose sizes differ by at most one; it gives the ends of all but the last.
func shares(N, n int) []int {
	ends := make([]int, n-1)
	for i := range ends {
		ends[i] = (i + 1) * N / n
	}
	return ends
}
