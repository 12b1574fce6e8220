// Memory counters and limits.
#include "shim.hpp"

int64_t mlxg_memory(int which) {
  switch (which) {
    case MLXG_ACTIVE: return static_cast<int64_t>(mx::get_active_memory());
    case MLXG_PEAK: return static_cast<int64_t>(mx::get_peak_memory());
    case MLXG_CACHE: return static_cast<int64_t>(mx::get_cache_memory());
    default: return static_cast<int64_t>(mx::get_memory_limit());
  }
}

void mlxg_reset_peak_memory(void) {
  mx::reset_peak_memory();
}

mlxg_error mlxg_clear_cache(void) {
  return shim::guard([] {
    shim::finish_all();
    mx::clear_cache();
  });
}

int64_t mlxg_set_memory_limit(int64_t bytes) {
  return static_cast<int64_t>(mx::set_memory_limit(static_cast<size_t>(bytes)));
}

mlxg_error mlxg_set_cache_limit(int64_t bytes, int64_t* previous) {
  return shim::guard([&] {
    shim::finish_all();
    *previous = static_cast<int64_t>(mx::set_cache_limit(static_cast<size_t>(bytes)));
  });
}
