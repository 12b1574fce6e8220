// What the C++ files of the shim share: the handle, its registry, conversions and the exception guard.
#pragma once

#include <mlx/mlx.h>
#include <mlx/version.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "shim.h"

namespace mx = mlx::core;

// One handle of Go's.
struct mlxg_array {
  mx::array a;
};

struct mlxg_vec {
  std::vector<mlxg_array*> handles;
};

namespace shim {

// A failed computation.
struct Failure {
  uint64_t number;
  std::string message;
};
const Failure* failure_of(const mx::array& a);

// The fault of an array that was made earlier.
struct Carried : std::runtime_error {
  explicit Carried(const std::string& message) : std::runtime_error(message) {}
  explicit Carried(const Failure& f) : std::runtime_error(f.message), failure(f.number) {}
  uint64_t failure = 0;
};

// In bytes.
double physical_memory();

mlxg_array* wrap(mx::array a);
mlxg_results wrap(std::vector<mx::array> arrays);
const mx::array& get(mlxg_array* h);
// Whether the elements of the array can be read. MLX's is_available must not be asked: it takes errors off the stream.
bool computed(const mx::array& a);

// Waits for all work on CPU streams. Calls that make MLX synchronise a stream need it before, or they
// would take the errors of others off the stream.
void finish_all();

// Sets the default streams of the calling OS thread. Some operations and all transforms put nodes
// on the thread's default stream although a stream was given.
void enter_thread();
mx::Stream stream(int index);
mlxg_error fault(const char* message, bool carried, uint64_t failure = 0);
char* copy_string(const std::string& s);

template <typename F>
mlxg_error guard(F&& f) {
  try {
    enter_thread();
    f();
    return {};
  } catch (const Carried& e) {
    return fault(e.what(), true, e.failure);
  } catch (const std::exception& e) {
    return fault(e.what(), false);
  } catch (...) {
    return fault("unknown native exception", false);
  }
}

template <typename F>
mlxg_result one(F&& f) {
  mlxg_result r{};
  r.err = guard([&] { r.out = wrap(f()); });
  return r;
}

template <typename F>
mlxg_results many(F&& f) {
  mlxg_results r{};
  r.err = guard([&] { r = wrap(f()); });
  return r;
}

mx::Dtype dtype(int index);
int dtype_index(mx::Dtype d);

inline std::string text(mlxg_string s) {
  return std::string(s.data, s.len);
}
inline std::vector<int> ints(mlxg_ints v) {
  return std::vector<int>(v.data, v.data + v.len);
}
inline mx::Shape shape(mlxg_ints v) {
  return mx::Shape(v.data, v.data + v.len);
}
inline std::optional<mx::array> optional(mlxg_array* h) {
  return h ? std::make_optional(get(h)) : std::nullopt;
}
std::vector<mx::array> list(mlxg_arrays v);
inline std::optional<mx::Dtype> optional_dtype(int index) {
  return index < 0 ? std::nullopt : std::make_optional(dtype(index));
}

// The results of operations that give several arrays, whatever MLX returns them in.
inline std::vector<mx::array> all(std::vector<mx::array> v) {
  return v;
}
inline std::vector<mx::array> all(std::pair<mx::array, mx::array> p) {
  return {p.first, p.second};
}
inline std::vector<mx::array> all(std::tuple<mx::array, mx::array> t) {
  return {std::get<0>(t), std::get<1>(t)};
}

// A scalar operand takes the other side's type where that can hold it, as in MLX's Python package.
mx::array operand(const mlxg_operand& o, std::optional<mx::Dtype> like = std::nullopt);
std::pair<mx::array, mx::array> operands(const mlxg_operand& a, const mlxg_operand& b);

} // namespace shim
