// Quantised weights, with arguments checked that libmlx divides by.
#pragma once

#include "indexing.hpp"
#include "shim.hpp"

namespace shim {

struct Packing {
  std::optional<int> group, bits;
  std::string mode;

  void check() const {
    if ((group && *group < 1) || (bits && *bits < 1)) {
      throw std::invalid_argument("group size and bits must be at least 1");
    }
  }
};

inline const mx::array& with_elements(const mx::array& a, const char* name) {
  if (a.ndim() < 1 || a.size() == 0) {
    throw std::invalid_argument(std::string(name) + " has no elements");
  }
  return a;
}

// libmlx compares all axes but the last two without a look at how many there are.
inline const mx::array& packed_matrix(const mx::array& a, const char* name) {
  if (a.ndim() < 2) {
    throw std::invalid_argument(std::string(name) + " must have at least 2 axes, and has " + std::to_string(a.ndim()));
  }
  return with_elements(a, name);
}

inline void check_packed(const mx::array& weight, const mx::array& scales, const std::optional<mx::array>& biases) {
  packed_matrix(weight, "weight");
  packed_matrix(scales, "scales");
  if (biases) {
    packed_matrix(*biases, "biases");
  }
}

inline std::vector<mx::array> pack(const mx::array& a, const Packing& p, mx::Stream s) {
  p.check();
  return mx::quantize(with_elements(a, "the matrix"), p.group, p.bits, p.mode, std::nullopt, s);
}

inline mx::array unpack(
    const mx::array& weight, const mx::array& scales, const std::optional<mx::array>& biases, const Packing& p, mx::Stream s) {
  p.check();
  check_packed(weight, scales, biases);
  return mx::dequantize(
      weight, scales, biases, p.group, p.bits, p.mode, std::nullopt, std::nullopt, s);
}

inline mx::array packed_product(
    const mx::array& x, const mx::array& weight, const mx::array& scales, const std::optional<mx::array>& biases, bool transpose,
    const Packing& p, mx::Stream s) {
  p.check();
  check_packed(weight, scales, biases);
  if (x.ndim() > 0 && x.size() == 0) {
    auto full = unpack(weight, scales, biases, p, s);
    return mx::matmul(x, transpose ? mx::swapaxes(full, -1, -2, s) : full, s);
  }
  return mx::quantized_matmul(x, weight, scales, biases, transpose, p.group, p.bits, p.mode, s);
}

inline mx::array gathered_packed_product(
    const mx::array& x, const mx::array& weight, const mx::array& scales, const std::optional<mx::array>& biases,
    const std::optional<mx::array>& left, const std::optional<mx::array>& right, bool transpose, const Packing& p, mx::Stream s) {
  p.check();
  check_packed(weight, scales, biases);
  auto l = matrix_indices("left indices", "gatherquantizedmatmul", x, left, s);
  auto r = matrix_indices("right indices", "gatherquantizedmatmul", weight, right, s);
  return mx::gather_qmm(
      with_elements(x, "x"), weight, scales, biases, l, r, transpose, p.group, p.bits, p.mode,
      std::nullopt, false, s);
}

} // namespace shim
