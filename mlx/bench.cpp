// The work of the benchmarks in C++ alone, for comparison.
#include <dlfcn.h>

#include <chrono>

#include "shim.hpp"

namespace {

template <typename F>
double nanoseconds_each(int n, F&& f) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < n; i++) {
    f();
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / n;
}

} // namespace

double mlxg_bench_add(mlxg_array* a, mlxg_array* b, int n, bool evaluate, int stream) {
  double each = -1;
  mlxg_error_free(shim::guard([&] {
    auto s = shim::stream(stream);
    each = nanoseconds_each(n, [&] {
      auto c = mx::add(a->a, b->a, s);
      if (evaluate) {
        c.eval();
      }
    });
  }));
  return each;
}

double mlxg_bench_sgemm(const float* a, const float* b, float* c, int size, int n) {
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  auto sgemm = reinterpret_cast<Sgemm>(dlsym(RTLD_DEFAULT, "cblas_sgemm"));
  if (!sgemm) {
    return -1;
  }
  constexpr int row_major = 101, not_transposed = 111;
  return nanoseconds_each(n, [&] {
    sgemm(row_major, not_transposed, not_transposed, size, size, size, 1, a, size, b, size, 0, c, size);
  });
}
