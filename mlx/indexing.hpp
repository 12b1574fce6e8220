// Taking and putting by index, with indices that are checked.
#pragma once

#include "checks.hpp"
#include "shim.hpp"

namespace shim {

inline int axis_of(const mx::array& a, int axis) {
  int ndim = static_cast<int>(a.ndim());
  if (axis < -ndim || axis >= ndim) {
    throw std::invalid_argument("axis " + std::to_string(axis) + " is not one of the " + std::to_string(ndim) + " axes");
  }
  return axis < 0 ? axis + ndim : axis;
}

inline mx::array along_axis(const char* operation, const mx::array& a, const mx::array& indices, int axis, mx::Stream s) {
  return checked_indices(indices, a.shape(axis_of(a, axis)), 1, {operation, "indices"}, s);
}

inline mx::array slice_axis(const mx::array& a, int axis, int start, int stop, mx::Stream s) {
  axis = axis_of(a, axis);
  mx::Shape from(a.ndim(), 0), to(a.shape());
  from[axis] = start;
  to[axis] = stop;
  return mx::slice(a, from, to, s);
}

inline mx::array select_axis(const mx::array& a, int axis, int index, mx::Stream s) {
  axis = axis_of(a, axis);
  int n = a.shape(axis);
  if (index < -n || index >= n) {
    throw std::invalid_argument(
        "index " + std::to_string(index) + " is outside of axis " + std::to_string(axis) + " of size " + std::to_string(n));
  }
  index = index < 0 ? index + n : index;
  return mx::squeeze(slice_axis(a, axis, index, index + 1, s), axis, s);
}

// The indices of a gather or scatter, one array for each of axes, checked for slices of the given sizes.
inline std::vector<mx::array> slice_starts(
    const char* operation, const mx::array& a, std::vector<mx::array> indices, const std::vector<int>& axes, const mx::Shape& sizes,
    mx::Stream s) {
  if (indices.size() != axes.size()) {
    throw std::invalid_argument(
        "one array of indices for each axis is expected, given " + std::to_string(indices.size()) + " for " + std::to_string(axes.size()) + " axes");
  }
  if (sizes.size() != a.ndim()) {
    throw std::invalid_argument("slices of " + std::to_string(a.ndim()) + " axes are expected, given " + std::to_string(sizes.size()));
  }
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] > a.shape(i)) {
      throw std::invalid_argument("slices of size " + std::to_string(sizes[i]) + " do not fit in axis " + std::to_string(i));
    }
  }
  for (size_t i = 0; i < axes.size(); i++) {
    int axis = axis_of(a, axes[i]);
    indices[i] = checked_indices(indices[i], a.shape(axis), sizes[axis], {operation, "indices"}, s);
  }
  return indices;
}

using Scattering = mx::array (*)(
    const mx::array&, const std::vector<mx::array>&, const mx::array&, const std::vector<int>&, mx::StreamOrDevice);

// updates has the axes of the indices first and those of the slices behind.
inline mx::array scatter_checked(
    const char* operation, Scattering f, const mx::array& a, const std::vector<mx::array>& indices, const mx::array& updates,
    const std::vector<int>& axes, mx::Stream s) {
  size_t lead = 0;
  for (auto& i : indices) {
    lead = std::max(lead, i.ndim());
  }
  if (updates.ndim() != lead + a.ndim()) {
    throw std::invalid_argument(
        "updates must have the axes of the indices and then those of the array, " + std::to_string(lead + a.ndim()) + " together");
  }
  mx::Shape sizes(updates.shape().begin() + lead, updates.shape().end());
  auto starts = slice_starts(operation, a, indices, axes, sizes, s);
  return updates.size() == 0 ? a : f(a, starts, updates, axes, s);
}

// Indices that choose matrices from all leading axes of a.
inline std::optional<mx::array> matrix_indices(
    const char* argument, const char* operation, const mx::array& a, const std::optional<mx::array>& indices, mx::Stream s) {
  if (!indices) {
    return indices;
  }
  int64_t n = 1;
  for (size_t i = 0; i + 2 < a.ndim(); i++) {
    n *= a.shape(i);
  }
  return checked_counts(*indices, n, {operation, argument}, s);
}

} // namespace shim
