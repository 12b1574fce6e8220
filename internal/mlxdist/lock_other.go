//go:build !unix

package mlxdist

import "context"

// lockFile does nothing on systems for which MLX has no build.
func lockFile(context.Context, string, func()) (unlock func(), locked bool, err error) {
	return func() {}, false, nil
}
