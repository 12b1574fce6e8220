package mlx

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Group is a number of processes that compute together. MLX's own backends connect them: "ring"
// over TCP, which reads the rank from MLX_RANK and the addresses from the JSON file MLX_HOSTFILE
// ([["host0:port"], ["host1:port"], ...] in the order of the ranks), and "mpi" where an MPI library is found.
//
// The operations are lazy like all others and run when they are evaluated; every process must
// evaluate the same ones in the same order. An operation holds up its stream until the other processes have come
// to it: [Group.On] chooses another one for them. When another process is lost, the evaluation fails.
type Group struct {
	handle     *groupHandle
	rank, size int
	stream     C.int // -1: the backend's choice
}

type groupHandle struct{ native *C.mlxg_group }

// connecting is held while a group is made: MLX keeps its groups in a table without a lock.
var connecting sync.Mutex

// DistributedAvailable tells whether a backend ("ring", "mpi", "nccl", "jaccl"; "" for any) can be used.
func DistributedAvailable(backend string) bool {
	enter()
	defer lock.Unlock()
	return bool(C.mlxg_distributed_available(cString(backend)))
}

// InitDistributed connects this process with the others of its group through a backend; "any" or ""
// takes the first that is set up. When none is set up it is an error if strict, else the group has this
// process alone. It blocks until the other processes have come; arrays can be used meanwhile.
func InitDistributed(strict bool, backend string) (*Group, error) {
	if backend == "" {
		backend = "any"
	}
	err := enter()
	lock.Unlock() // connecting can take long and touches no arrays
	if err == nil && (backend == "any" || backend == "ring") {
		err = checkRingSettings()
	}
	if err != nil {
		return nil, fmt.Errorf("init_distributed: %w", err)
	}
	connecting.Lock()
	defer connecting.Unlock()
	return newGroup("init_distributed", C.mlxg_group_init(C.bool(strict), cString(backend)), -1)
}

func newGroup(op string, r C.mlxg_group_result, stream C.int) (*Group, error) {
	if err := takeError(r.err); err != nil {
		return nil, fmt.Errorf("%s: %s", op, tidyMessage(err.Error()))
	}
	h := &groupHandle{r.group}
	runtime.AddCleanup(h, func(p *C.mlxg_group) { C.mlxg_group_free(p) }, r.group)
	return &Group{handle: h, rank: int(r.rank), size: int(r.size), stream: stream}, nil
}

// Rank is the number of this process in the group, from 0.
func (g *Group) Rank() int { return g.rank }

// Size is the number of processes in the group.
func (g *Group) Size() int { return g.size }

// On gives the group with its operations on stream s.
func (g *Group) On(s Stream) *Group {
	other := *g
	other.stream = C.int(s.resolve())
	return &other
}

// Split makes groups of the processes that give the same color, ordered by key; a negative key
// keeps the order. Every process of the group must call it. The ring backend cannot split.
func (g *Group) Split(color, key int) (*Group, error) {
	if err := g.fault(); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	if color < 0 || color > math.MaxInt32 || key > math.MaxInt32 {
		return nil, fmt.Errorf("split: color %d and key %d are not numbers from 0 to %d", color, key, math.MaxInt32)
	}
	defer runtime.KeepAlive(g.handle)
	connecting.Lock()
	defer connecting.Unlock()
	return newGroup("split", C.mlxg_group_split(g.handle.native, C.int(color), C.int(max(key, -1))), g.stream)
}

func (g *Group) fault() error {
	if g == nil || g.handle == nil {
		return errors.New("the group was not made by InitDistributed")
	}
	return nil
}

// AllSum is the sum of x over all processes.
func (g *Group) AllSum(x *Array) *Array { return g.collective("all_sum", C.MLXG_ALL_SUM, x) }

// AllMax is the largest of each element of x over all processes.
func (g *Group) AllMax(x *Array) *Array { return g.collective("all_max", C.MLXG_ALL_MAX, x) }

// AllMin is the smallest of each element of x over all processes.
func (g *Group) AllMin(x *Array) *Array { return g.collective("all_min", C.MLXG_ALL_MIN, x) }

// AllGather joins the x of all processes along the first axis, in the order of their ranks.
func (g *Group) AllGather(x *Array) *Array { return g.collective("all_gather", C.MLXG_ALL_GATHER, x) }

// SumScatter is the part of AllSum, along the first axis, that belongs to this process. The ring backend has none.
func (g *Group) SumScatter(x *Array) *Array {
	return g.collective("sum_scatter", C.MLXG_SUM_SCATTER, x)
}

// begin starts a call, which needs a group.
func (g *Group) begin(c *call, op string) {
	c.begin(op, Stream{})
	if err := g.fault(); err != nil {
		c.fail("%v", err)
	}
}

func (g *Group) collective(op string, which C.int, x *Array) *Array {
	defer runtime.KeepAlive(g)
	var c call
	g.begin(&c, op)
	h := c.array(x)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_collective(which, h, g.handle.native, g.stream))
}

// Send gives x, and sends it to the process with rank dst when it is evaluated. In a ring it must be a neighbour.
func (g *Group) Send(x *Array, dst int) *Array {
	defer runtime.KeepAlive(g)
	var c call
	g.begin(&c, "send")
	h := c.array(x)
	g.checkRank(&c, dst)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_send(h, C.int(dst), g.handle.native, g.stream))
}

// Receive is an array that the process with rank src sends; its shape and dtype must be known. In a ring it must be a neighbour.
func (g *Group) Receive(shape []int, d Dtype, src int) *Array {
	defer runtime.KeepAlive(g)
	var c call
	g.begin(&c, "recv")
	dims, dtype := c.shape("shape", shape), c.dtype(d)
	g.checkRank(&c, src)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_recv(dims, dtype, C.int(src), g.handle.native, g.stream))
}

func (g *Group) checkRank(c *call, rank int) {
	if c.err == nil && (rank < 0 || rank >= g.size || rank == g.rank) {
		c.fail("rank %d is not another process of this group of %d", rank, g.size)
	}
}
