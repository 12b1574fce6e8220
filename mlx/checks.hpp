// Checks of values that libmlx trusts: an index that does not exist or a NaN in some solvers makes it read and write
// where it must not. An array that is computed already is checked at the call. Another one is checked when it is computed, on
// the CPU: the values that follow are made harmless and the evaluation fails.
#pragma once

#include "shim.hpp"

namespace shim {

// What an operation checks: messages name the operation and the argument.
struct Checking {
  std::string operation, argument;
};

// Valid are the starts of slices of the given extent along an axis of size n; a negative one counts from the end.
mx::array checked_indices(const mx::array& indices, int64_t n, int64_t extent, const Checking& who, mx::Stream s);

// Valid are 0 <= index < n.
mx::array checked_counts(const mx::array& indices, int64_t n, const Checking& who, mx::Stream s);

// Pairs [start, end) in the last axis with 0 <= start <= end <= n.
mx::array checked_segments(const mx::array& segments, int64_t n, const Checking& who, mx::Stream s);

// Neither NaN nor infinite.
mx::array checked_finite(const mx::array& a, const Checking& who, mx::Stream s);

// The Cholesky factor, after a look at its diagonal: LAPACK stops where a pivot is not positive and libmlx does not tell.
mx::array checked_factor(const mx::array& factor, const Checking& who, mx::Stream s);

} // namespace shim
