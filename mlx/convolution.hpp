// Convolutions over any number of axes, with gradients that are right in every setting.
#pragma once

#include "shim.hpp"

namespace shim {

inline int fits_int(int64_t v) {
  if (v > INT32_MAX || v < INT32_MIN) {
    throw std::invalid_argument("a size of " + std::to_string(v) + " is too large");
  }
  return static_cast<int>(v);
}

// Puts d-1 zeros between the elements along an axis.
inline mx::array spread(const mx::array& a, int axis, int d, mx::Stream s) {
  int n = a.shape(axis);
  if (n == 0 || d == 1) {
    return a;
  }
  fits_int(static_cast<int64_t>(n) * d);
  auto wide = mx::pad(mx::expand_dims(a, axis + 1, s), {axis + 1}, {0}, {d - 1}, mx::array(0, a.dtype()), "constant", s);
  auto flat = mx::flatten(wide, axis, axis + 1, s);
  mx::Shape stop = flat.shape();
  stop[axis] = (n - 1) * d + 1;
  return mx::slice(flat, mx::Shape(flat.ndim(), 0), stop, s);
}

// libmlx gives a gradient of a wrong shape when the input is dilated and at the same time the stride is not 1 or a padding
// exceeds the reach of the kernel. In these settings the zeros are put in beforehand.
inline mx::array convolve(
    mx::array input, const mx::array& weight, const std::vector<int>& stride, const std::vector<int>& low, const std::vector<int>& high,
    const std::vector<int>& kernel_dilation, std::vector<int> input_dilation, int groups, bool flip, mx::Stream s) {
  if (input.ndim() < 3 || weight.ndim() != input.ndim()) {
    throw std::invalid_argument("input [N, ..., C] and weight [O, ..., C/groups] with the same number of dimensions, at least 3, are expected");
  }
  if (weight.size() == 0 || input.shape(-1) == 0) {
    throw std::invalid_argument("channels and a weight with elements are expected");
  }
  size_t n = input.ndim() - 2;
  for (auto* list : {&stride, &low, &high, &kernel_dilation, const_cast<const std::vector<int>*>(&input_dilation)}) {
    if (list->size() != n) {
      throw std::invalid_argument("one number for each of the " + std::to_string(n) + " axes is expected, given " + std::to_string(list->size()));
    }
  }
  for (size_t i = 0; i < n; i++) {
    if (stride[i] < 1 || kernel_dilation[i] < 1 || input_dilation[i] < 1) {
      throw std::invalid_argument("strides and dilations must be at least 1");
    }
  }
  if (groups < 1) {
    throw std::invalid_argument("at least one group is expected, given " + std::to_string(groups));
  }
  bool traced = input.is_tracer() || weight.is_tracer();
  for (size_t i = 0; traced && i < n; i++) {
    int64_t reach = static_cast<int64_t>(kernel_dilation[i]) * (weight.shape(i + 1) - 1);
    if (input_dilation[i] > 1 && (stride[i] > 1 || low[i] > reach || high[i] > reach)) {
      input = spread(input, static_cast<int>(i) + 1, input_dilation[i], s);
      input_dilation[i] = 1;
    }
  }
  return mx::conv_general(input, weight, stride, low, high, kernel_dilation, input_dilation, groups, flip, s);
}

inline mx::array convolve_axes(
    size_t axes, const mx::array& input, const mx::array& weight, const std::vector<int>& stride, const std::vector<int>& padding,
    const std::vector<int>& dilation, int groups, mx::Stream s) {
  if (input.ndim() != axes + 2 || weight.ndim() != axes + 2) {
    throw std::invalid_argument("input and weight with " + std::to_string(axes + 2) + " dimensions are expected");
  }
  return convolve(input, weight, stride, padding, padding, dilation, std::vector<int>(axes, 1), groups, false, s);
}

// The transpose of a convolution is a convolution of the input spread by the stride with the kernel turned around.
inline mx::array convolve_transposed(
    size_t n, const mx::array& input, const mx::array& weight, const std::vector<int>& stride, const std::vector<int>& padding,
    const std::vector<int>& dilation, const std::vector<int>& output_padding, int groups, mx::Stream s) {
  if (input.ndim() != n + 2 || weight.ndim() != n + 2) {
    throw std::invalid_argument("input and weight with " + std::to_string(n + 2) + " dimensions are expected");
  }
  if (padding.size() != n || dilation.size() != n || output_padding.size() != n) {
    throw std::invalid_argument("one number for each of the " + std::to_string(n) + " axes is expected");
  }
  std::vector<int> low(n), high(n);
  for (size_t i = 0; i < n; i++) {
    int64_t reach = static_cast<int64_t>(dilation[i]) * (weight.shape(i + 1) - 1);
    low[i] = fits_int(reach - padding[i]);
    high[i] = fits_int(reach - padding[i] + output_padding[i]);
  }
  return convolve(input, weight, std::vector<int>(n, 1), low, high, dilation, stride, groups, true, s);
}

} // namespace shim
