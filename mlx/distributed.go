package mlx

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
)

// Group is a number of processes that compute together. MLX's own backends connect them: "ring"
// over TCP, which reads the rank from MLX_RANK and the addresses from the JSON file MLX_HOSTFILE,
// and "mpi" where an MPI library is found.
type Group struct {
	native     *C.mlxg_group
	rank, size int
	stream     Stream
}

// DistributedAvailable tells whether a backend ("ring", "mpi", "nccl", "jaccl"; "" for any) can be used.
func DistributedAvailable(backend string) bool {
	enter()
	defer lock.Unlock()
	return bool(C.mlxg_distributed_available(cString(backend)))
}

// InitDistributed connects this process with the others of its group through a backend; "any"
// takes the first that works. When none is set up it is an error if strict, else the group has this process alone.
// It blocks until the other processes have come. Collective operations run on the CPU stream.
func InitDistributed(strict bool, backend string) (*Group, error) {
	err := enter()
	lock.Unlock() // connecting can take long and touches no arrays
	if err != nil {
		return nil, fmt.Errorf("init_distributed: %w", err)
	}
	return newGroup(C.mlxg_group_init(C.bool(strict), cString(backend)))
}

func newGroup(r C.mlxg_group_result) (*Group, error) {
	if err := takeError(r.err); err != nil {
		return nil, fmt.Errorf("init_distributed: %s", tidyMessage(err.Error()))
	}
	g := &Group{native: r.group, rank: int(r.rank), size: int(r.size)}
	runtime.AddCleanup(g, func(p *C.mlxg_group) { C.mlxg_group_free(p) }, r.group)
	cpu, err := DeviceStream(CPU)
	g.stream = cpu
	return g, err
}

// Rank is the number of this process in the group, from 0.
func (g *Group) Rank() int { return g.rank }

// Size is the number of processes in the group.
func (g *Group) Size() int { return g.size }

// Split makes groups of the processes that give the same color, ordered by key; a negative key
// keeps the order. Every process of the group must call it.
func (g *Group) Split(color, key int) (*Group, error) {
	defer runtime.KeepAlive(g)
	return newGroup(C.mlxg_group_split(g.native, C.int(color), C.int(key)))
}

// AllSum is the sum of x over all processes.
func (g *Group) AllSum(x *Array) *Array { return g.collective("all_sum", C.MLXG_ALL_SUM, x) }

// AllMax is the largest of each element of x over all processes.
func (g *Group) AllMax(x *Array) *Array { return g.collective("all_max", C.MLXG_ALL_MAX, x) }

// AllMin is the smallest of each element of x over all processes.
func (g *Group) AllMin(x *Array) *Array { return g.collective("all_min", C.MLXG_ALL_MIN, x) }

// AllGather joins the x of all processes along the first axis, in the order of their ranks.
func (g *Group) AllGather(x *Array) *Array { return g.collective("all_gather", C.MLXG_ALL_GATHER, x) }

// SumScatter is the part of AllSum, along the first axis, that belongs to this process.
func (g *Group) SumScatter(x *Array) *Array {
	return g.collective("sum_scatter", C.MLXG_SUM_SCATTER, x)
}

func (g *Group) collective(op string, which C.int, x *Array) *Array {
	defer runtime.KeepAlive(g)
	var c call
	c.begin(op, g.stream)
	h := c.array(x)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_collective(which, h, g.native, c.stream))
}

// Send gives x, and sends it to the process with rank dst when it is evaluated.
func (g *Group) Send(x *Array, dst int) *Array {
	defer runtime.KeepAlive(g)
	var c call
	c.begin("send", g.stream)
	h := c.array(x)
	g.checkRank(&c, dst)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_send(h, C.int(dst), g.native, c.stream))
}

// Receive is an array that the process with rank src sends; its shape and dtype must be known.
func (g *Group) Receive(shape []int, d Dtype, src int) *Array {
	defer runtime.KeepAlive(g)
	var c call
	c.begin("recv", g.stream)
	dims, dtype := c.shape("shape", shape), c.dtype(d)
	g.checkRank(&c, src)
	if c.err != nil {
		return c.broken()
	}
	return c.end(C.mlxg_recv(dims, dtype, C.int(src), g.native, c.stream))
}

func (g *Group) checkRank(c *call, rank int) {
	if rank < 0 || rank >= g.size || rank == g.rank {
		c.fail("rank %d is not another process of this group of %d", rank, g.size)
	}
}
