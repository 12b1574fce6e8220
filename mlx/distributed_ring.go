package mlx

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	ringRank  = "MLX_RANK"
	ringHosts = "MLX_HOSTFILE"
)

// checkRingSettings checks what the environment says about a ring: libmlx takes a rank that is no number for 0,
// and does not survive a negative one or an empty list.
func checkRingSettings() error {
	rankText, hasRank := os.LookupEnv(ringRank)
	path, hasHosts := os.LookupEnv(ringHosts)
	if !hasRank || !hasHosts {
		return nil // there is no ring; libmlx says so when there must be one
	}
	rank, err := strconv.Atoi(rankText)
	if err != nil {
		return fmt.Errorf("%s is %q; a number is expected", ringRank, rankText)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s %s: %w", ringHosts, path, withoutPath(err))
	}
	var hosts [][]string
	if err := json.Unmarshal(text, &hosts); err != nil {
		return fmt.Errorf(`%s %s: a list of the form [["host0:port"], ["host1:port"]] is expected: %w`, ringHosts, path, err)
	}
	if len(hosts) < 2 {
		return fmt.Errorf("%s %s: a ring has two processes at least, and the file has %d", ringHosts, path, len(hosts))
	}
	if rank < 0 || rank >= len(hosts) {
		return fmt.Errorf("%s is %d; %s %s has the ranks 0 to %d", ringRank, rank, ringHosts, path, len(hosts)-1)
	}
	for i, addresses := range hosts {
		if len(addresses) == 0 || len(addresses) != len(hosts[0]) {
			return fmt.Errorf("%s %s: rank %d has %d addresses, rank 0 %d; each must have as many", ringHosts, path, i, len(addresses), len(hosts[0]))
		}
		for _, address := range addresses {
			host, port, _ := strings.Cut(address, ":")
			if n, err := strconv.Atoi(port); err != nil || host == "" || n < 1 || n > 65535 {
				return fmt.Errorf("%s %s: rank %d: address %q is not of the form host:port", ringHosts, path, i, address)
			}
		}
	}
	return nil
}
