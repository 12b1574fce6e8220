// Helpers that only the generated operations use: operands that may be arrays or scalars.
#pragma once

#include "convolution.hpp"
#include "guards.hpp"
#include "indexing.hpp"
#include "quantised.hpp"
#include "shim.hpp"

namespace shim {

template <typename F>
mx::array pairwise(const mlxg_operand& x, const mlxg_operand& y, F&& f) {
  auto [a, b] = operands(x, y);
  return f(a, b);
}

template <typename F>
std::vector<mx::array> pairwise_all(const mlxg_operand& x, const mlxg_operand& y, F&& f) {
  auto [a, b] = operands(x, y);
  return all(f(a, b));
}

inline mx::array like(const mlxg_operand& o, const mx::array& a) {
  return operand(o, a.dtype());
}

inline std::optional<mx::array> optional_like(const mlxg_operand& o, const mx::array& a) {
  return o.kind == MLXG_NONE ? std::nullopt : std::make_optional(operand(o, a.dtype()));
}

inline std::optional<int> optional_int(const mlxg_operand& o) {
  if (o.kind == MLXG_NONE) {
    return std::nullopt;
  }
  if (o.kind != MLXG_INT) {
    throw std::invalid_argument("an optional size must be an int or nil");
  }
  return static_cast<int>(o.i);
}

inline std::optional<float> optional_float(const mlxg_operand& o) {
  switch (o.kind) {
    case MLXG_NONE: return std::nullopt;
    case MLXG_INT: return static_cast<float>(o.i);
    case MLXG_FLOAT: return static_cast<float>(o.re);
    default: throw std::invalid_argument("an optional number must be a float, an int or nil");
  }
}

// Random probabilities: whole numbers count as floats.
inline mx::array as_float(const mlxg_operand& o) {
  auto p = operand(o);
  return mx::issubdtype(p.dtype(), mx::floating) ? p : mx::astype(p, mx::float32);
}

inline int non_negative(int n) {
  if (n < 0) {
    throw std::invalid_argument("a size is negative: " + std::to_string(n));
  }
  return n;
}

inline mx::array count_nonzero_along(const mx::array& a, bool keepdims, mx::Stream s) {
  return mx::count_nonzero(a, keepdims, s);
}
inline mx::array count_nonzero_along(const mx::array& a, const std::vector<int>& axes, bool keepdims, mx::Stream s) {
  return mx::count_nonzero(a, axes, keepdims, s);
}

// The offset of a strided view, after a check that the view stays inside of the array.
inline size_t bounded_view(const mx::array& a, const mx::Shape& shape, const std::vector<int>& strides, int offset) {
  if (shape.size() != strides.size()) {
    throw std::invalid_argument("one stride for each axis is expected");
  }
  int64_t low = offset, high = offset;
  bool empty = false;
  for (size_t i = 0; i < shape.size(); i++) {
    empty = empty || shape[i] == 0;
    int64_t reach = static_cast<int64_t>(shape[i] - 1) * strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (!empty && (low < 0 || high >= static_cast<int64_t>(a.size()))) {
    throw std::invalid_argument("the view reaches outside of the array's " + std::to_string(a.size()) + " elements");
  }
  return static_cast<size_t>(offset);
}

// libmlx's own full multiplies the gradient by the value, which is wrong; a broadcast has the right one.
inline mx::array filled(const mx::Shape& shape, const mx::array& value, mx::Dtype dtype, mx::Stream s) {
  auto typed = mx::astype(value, dtype, s);
  return typed.size() == 1 && !typed.is_tracer() ? mx::full(shape, typed, dtype, s)
                                                  : mx::contiguous(mx::broadcast_to(typed, shape, s), false, s);
}

// libmlx's addmm forgets alpha and beta in its forward derivative.
inline mx::array add_mm(const mx::array& c, const mx::array& a, const mx::array& b, double alpha, double beta, mx::Stream s) {
  bool traced = c.is_tracer() || a.is_tracer() || b.is_tracer();
  if (!traced || (alpha == 1 && beta == 1)) {
    return mx::addmm(c, a, b, static_cast<float>(alpha), static_cast<float>(beta), s);
  }
  auto product = mx::matmul(a, b, s);
  auto scaled = mx::multiply(mx::array(alpha, product.dtype()), product, s);
  return mx::add(mx::multiply(mx::array(beta, c.dtype()), c, s), scaled, s);
}

// libmlx's pad reads beyond its own lists when a gradient by the value is asked for.
inline mx::array padded(
    const mx::array& a, const std::vector<int>& axes, const mx::Shape& low, const mx::Shape& high, const mx::array& value,
    const std::string& mode, mx::Stream s) {
  if (mode != "constant" || !value.is_tracer()) {
    return mx::pad(a, axes, low, high, value, mode, s);
  }
  auto inside = mx::pad(mx::full(a.shape(), true, s), axes, low, high, mx::array(false), mode, s);
  return mx::where(inside, mx::pad(a, axes, low, high, mx::array(0, a.dtype()), mode, s), mx::astype(value, a.dtype(), s), s);
}

inline mx::fft::FFTNorm fft_norm(const std::string& name) {
  if (name.empty() || name == "backward") {
    return mx::fft::FFTNorm::Backward;
  }
  if (name == "ortho") {
    return mx::fft::FFTNorm::Ortho;
  }
  if (name == "forward") {
    return mx::fft::FFTNorm::Forward;
  }
  throw std::invalid_argument("norm \"" + name + "\" is none of backward, ortho, forward");
}

} // namespace shim
