package mlx

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGroupOfOne(t *testing.T) {
	g, err := InitDistributed(false, "any")
	require.NoError(t, err)
	require.Equal(t, 0, g.Rank())
	require.Equal(t, 1, g.Size())
	x := New([]float32{1, 2, 3})
	for _, y := range []*Array{g.AllSum(x), g.AllMax(x), g.AllMin(x), g.AllGather(x)} {
		v, err := Values[float32](y)
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2, 3}, v)
	}
	require.ErrorContains(t, g.Send(x, 0).Err(), "rank 0 is not another process of this group of 1")
	require.ErrorContains(t, g.Receive([]int{2}, Float32, 1).Err(), "rank 1")
	require.ErrorContains(t, g.AllSum(nil).Err(), "nil")
}

func TestInitDistributedErrors(t *testing.T) {
	_, err := InitDistributed(true, "ring")
	require.ErrorContains(t, err, "MLX_HOSTFILE")
	_, err = InitDistributed(true, "nonsense")
	require.Error(t, err)
	require.True(t, DistributedAvailable("ring"))
	require.False(t, DistributedAvailable("nccl"))
}

const ringChild = "MPSRNN_TEST_RING"

// TestRingOfTwo starts this test binary twice; each becomes one TestRingMember.
func TestRingOfTwo(t *testing.T) {
	hosts := make([][]string, 2)
	for i := range hosts {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		hosts[i] = []string{l.Addr().String()}
		require.NoError(t, l.Close())
	}
	text, err := json.Marshal(hosts)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "hosts.json")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	type result struct {
		out []byte
		err error
	}
	results := make(chan result, 2)
	for rank := range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRingMember$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), ringChild+"=1", fmt.Sprint("MLX_RANK=", rank), "MLX_HOSTFILE="+file)
		cmd.WaitDelay = time.Second
		go func() {
			out, err := cmd.CombinedOutput()
			results <- result{out, err}
		}()
	}
	for range 2 {
		r := <-results
		require.NoError(t, r.err, "%s", r.out)
		require.Contains(t, string(r.out), "ring member done")
	}
}

// TestRingMember is one process of TestRingOfTwo; alone it has nothing to do.
func TestRingMember(t *testing.T) {
	if os.Getenv(ringChild) == "" {
		return
	}
	g, err := InitDistributed(true, "ring")
	require.NoError(t, err)
	require.Equal(t, 2, g.Size())
	mine := float32(g.Rank() + 1)
	x := New([]float32{mine, 10 * mine})
	check := func(a *Array, want ...float32) {
		t.Helper()
		v, err := Values[float32](a)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	check(g.AllSum(x), 3, 30)
	check(g.AllMax(x), 2, 20)
	check(g.AllMin(x), 1, 10)
	check(g.AllGather(x), 1, 10, 2, 20)
	if g.Rank() == 0 {
		check(g.Send(x, 1), 1, 10)
	} else {
		check(g.Receive([]int{2}, Float32, 0), 1, 10)
	}
	check(g.AllSum(x), 3, 30)
	fmt.Println("ring member done")
}
