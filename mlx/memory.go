package mlx

// #include "shim.h"
import "C"

// ActiveMemory is the number of bytes that arrays use now.
func ActiveMemory() int { return memory(C.MLXG_ACTIVE) }

// PeakMemory is the highest value of ActiveMemory since the start or since ResetPeakMemory.
func PeakMemory() int { return memory(C.MLXG_PEAK) }

// CacheMemory is the number of bytes that MLX keeps for reuse.
func CacheMemory() int { return memory(C.MLXG_CACHE) }

// MemoryLimit is the number of bytes beyond which an evaluation waits for others to free memory.
func MemoryLimit() int { return memory(C.MLXG_LIMIT) }

func memory(which C.int) int {
	enter()
	defer lock.Unlock()
	return int(C.mlxg_memory(which))
}

// LiveArrays is the number of native handles that are not yet given back.
func LiveArrays() int {
	enter()
	defer lock.Unlock()
	return int(C.mlxg_live_handles())
}

// ResetPeakMemory starts PeakMemory anew.
func ResetPeakMemory() {
	enter()
	defer lock.Unlock()
	C.mlxg_reset_peak_memory()
}

// ClearCache gives MLX's kept memory back to the system.
func ClearCache() error {
	err := enter()
	defer lock.Unlock()
	if err != nil {
		return err
	}
	return takeError(C.mlxg_clear_cache())
}

// SetMemoryLimit sets MemoryLimit and returns the one before.
func SetMemoryLimit(bytes int) int {
	enter()
	defer lock.Unlock()
	return int(C.mlxg_set_memory_limit(C.int64_t(max(bytes, 0))))
}

// SetCacheLimit sets how many bytes MLX keeps for reuse, and returns the limit before.
func SetCacheLimit(bytes int) (int, error) {
	err := enter()
	defer lock.Unlock()
	if err != nil {
		return 0, err
	}
	var previous C.int64_t
	e := C.mlxg_set_cache_limit(C.int64_t(max(bytes, 0)), &previous)
	return int(previous), takeError(e)
}
