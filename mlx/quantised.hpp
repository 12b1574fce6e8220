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

inline std::vector<mx::array> pack(const mx::array& a, const Packing& p, mx::Stream s) {
  p.check();
  return mx::quantize(with_elements(a, "the matrix"), p.group, p.bits, p.mode, std::nullopt, s);
}

inline mx::array unpack(
    const mx::array& weight, const mx::array& scales, const std::optional<mx::array>& biases, const Packing& p, mx::Stream s) {
  p.check();
  return mx::dequantize(
      with_elements(weight, "weight"), with_elements(scales, "scales"), biases, p.group, p.bits, p.mode, std::nullopt, std::nullopt, s);
}

inline mx::array packed_product(
    const mx::array& x, const mx::array& weight, const mx::array& scales, const std::optional<mx::array>& biases, bool transpose,
    const Packing& p, mx::Stream s) {
  p.check();
  with_elements(weight, "weight");
  if (x.ndim() > 0 && x.size() == 0) {
    auto full = unpack(weight, scales, biases, p, s);
    return mx::matmul(x, transpose ? mx::swapaxes(full, -1, -2, s) : full, s);
  }
  return mx::quantized_matmul(x, weight, with_elements(scales, "scales"), biases, transpose, p.group, p.bits, p.mode, s);
}

inline mx::array gathered_packed_product(
    const mx::array& x, const mx::array& weight, const mx::array& scales, const std::optional<mx::array>& biases,
    const std::optional<mx::array>& left, const std::optional<mx::array>& right, bool transpose, const Packing& p, mx::Stream s) {
  p.check();
  auto l = matrix_indices("left indices", "gatherquantizedmatmul", x, left, s);
  auto r = matrix_indices("right indices", "gatherquantizedmatmul", weight, right, s);
  return mx::gather_qmm(
      with_elements(x, "x"), with_elements(weight, "weight"), with_elements(scales, "scales"), biases, l, r, transpose, p.group, p.bits, p.mode,
      std::nullopt, false, s);
}

} // namespace shim
