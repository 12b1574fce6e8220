// Arguments with which libmlx divides by zero, never ends or reads where it must not.
#pragma once

#include "checks.hpp"
#include "indexing.hpp"
#include "shim.hpp"

namespace shim {

// The matrices that a decomposition or solver gets; without elements LAPACK's workspace has no size.
inline const mx::array& matrices(const mx::array& a) {
  if (a.ndim() < 2 || a.size() == 0) {
    throw std::invalid_argument("matrices [..., N, M] with elements are expected");
  }
  return a;
}

// Some LAPACK solvers write out of bounds or end the process when they meet NaN or infinity.
inline mx::array finite_matrices(const char* operation, const mx::array& a, mx::Stream s) {
  return checked_finite(matrices(a), {operation, "the matrix"}, s);
}

// Norms by name or number. Those of matrices that need singular values are for finite numbers only.
template <typename Order>
mx::array norm_of_order(const mx::array& a, const Order& order, const std::vector<int>& axes, mx::Stream s) {
  bool singular = false;
  if constexpr (std::is_same_v<Order, std::string>) {
    singular = order == "nuc";
  } else {
    singular = order == 2 || order == -2;
  }
  bool matrix = axes.size() == 2 || (axes.empty() && a.ndim() == 2);
  auto given = axes.empty() ? std::nullopt : std::make_optional(axes);
  return mx::linalg::norm(singular && matrix ? checked_finite(a, {"norm", "the matrix"}, s) : a, order, given, false, s);
}

constexpr int most_parts = 1 << 20;

inline std::vector<mx::array> cut(const mx::array& a, int n, int axis, mx::Stream s) {
  axis_of(a, axis);
  if (n < 1 || n > most_parts) {
    throw std::invalid_argument("1 to " + std::to_string(most_parts) + " parts can be cut, asked for " + std::to_string(n));
  }
  return mx::split(a, n, axis, s);
}

inline std::vector<mx::array> split_key(const mx::array& key, int n, mx::Stream s) {
  if (n < 1 || n > most_parts) {
    throw std::invalid_argument("1 to " + std::to_string(most_parts) + " keys can be made, asked for " + std::to_string(n));
  }
  return mx::unstack(mx::random::split(key, n, s), 0, s);
}

// Nothing is left when differences are taken as often as there are elements.
inline mx::array differences(const mx::array& a, int n, int axis, mx::Stream s) {
  return mx::diff(a, std::min(n, a.shape(axis_of(a, axis))), axis, s);
}

inline mx::Shape steps(const std::vector<int>& strides) {
  for (int step : strides) {
    if (step == 0) {
      throw std::invalid_argument("a step is 0");
    }
  }
  return mx::Shape(strides.begin(), strides.end());
}

inline std::vector<mx::array> depend(const std::vector<mx::array>& inputs, const std::vector<mx::array>& dependencies) {
  if (inputs.empty() || dependencies.empty()) {
    return inputs;
  }
  return mx::depends(inputs, dependencies);
}

// A sum over an empty view need not end in libmlx.
inline mx::array diagonal_sum(const mx::array& a, int offset, int axis1, int axis2, mx::Stream s) {
  auto sum = mx::trace(a, offset, axis1, axis2, s);
  bool empty = mx::diagonal(a, offset, axis1, axis2, s).size() == 0;
  return empty ? mx::zeros(sum.shape(), sum.dtype(), s) : sum;
}

inline mx::array masked_scatter_checked(const mx::array& a, const mx::array& mask, const mx::array& source, mx::Stream s) {
  if (source.size() == 0) {
    throw std::invalid_argument("the source has no elements");
  }
  return mx::masked_scatter(a, mask, source, s);
}

inline mx::array segmented(const mx::array& a, const mx::array& b, const mx::array& segments, mx::Stream s) {
  if (a.ndim() != 2 || b.ndim() != 2 || a.size() == 0 || b.size() == 0 || a.shape(1) != b.shape(0)) {
    throw std::invalid_argument("matrices a [N, K] and b [K, M] with elements are expected");
  }
  return mx::segmented_mm(a, b, checked_segments(segments, a.shape(1), {"segmentedmm", "segments"}, s), s);
}

// The windows must lie inside of the signal, which center mirrors at its ends.
inline mx::array windowed_transform(
    const mx::array& x, int size, std::optional<int> hop, const std::optional<mx::array>& window, bool center, mx::Stream s) {
  if (x.ndim() < 1 || size < 1 || (hop && *hop < 1) || (center ? size / 2 >= x.shape(-1) : size > x.shape(-1))) {
    throw std::invalid_argument(
        "windows of " + std::to_string(size) + " points do not fit in the signal, or size or hop is less than 1");
  }
  return mx::fft::stft(x, size, hop, std::nullopt, window, center, "reflect", mx::fft::FFTNorm::Backward, std::nullopt, s);
}

inline mx::array gathered_product(
    const mx::array& a, const mx::array& b, const std::optional<mx::array>& left, const std::optional<mx::array>& right, mx::Stream s) {
  auto l = matrix_indices("left indices", "gathermm", a, left, s), r = matrix_indices("right indices", "gathermm", b, right, s);
  return mx::gather_mm(matrices(a), matrices(b), l, r, false, s);
}

inline void has_shape(const char* name, const mx::array& a, const mx::Shape& want) {
  if (a.shape() != want) {
    std::ostringstream text;
    text << name << " has shape " << a.shape() << ", expected " << want;
    throw std::invalid_argument(text.str());
  }
}

inline std::vector<mx::array> gated_delta(
    const mx::array& q, const mx::array& k, const mx::array& v, const mx::array& gates, const mx::array& beta,
    const std::optional<mx::array>& state, const std::optional<mx::array>& mask, mx::Stream s) {
  if (q.ndim() != 4 || v.ndim() != 4 || q.size() == 0 || v.size() == 0 || v.shape(2) % q.shape(2) != 0) {
    throw std::invalid_argument("q [B, T, Hk, Dk] and v [B, T, Hv, Dv] with elements and Hv a multiple of Hk are expected");
  }
  int b = q.shape(0), t = q.shape(1), heads = v.shape(2);
  has_shape("k", k, q.shape());
  has_shape("v", v, {b, t, heads, v.shape(3)});
  has_shape("gates", gates, {b, t, heads});
  has_shape("beta", beta, {b, t, heads});
  if (state) {
    has_shape("state", *state, {b, heads, v.shape(3), q.shape(3)});
  }
  if (mask) {
    has_shape("mask", *mask, {b, t});
  }
  return mx::fast::gated_delta_update(q, k, v, gates, beta, state, mask, s);
}

inline mx::array cross_entropy_checked(const mx::array& logits, const mx::array& targets, mx::Stream s) {
  if (logits.ndim() < 1) {
    throw std::invalid_argument("logits [..., C] are expected");
  }
  return mx::fast::cross_entropy(logits, checked_counts(targets, logits.shape(-1), {"softmaxcrossentropy", "targets"}, s), s);
}

} // namespace shim
