#include "checks.hpp"

#include <cmath>

#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>

namespace {

enum class Rule { range, segments, finite, positive };

struct Check {
  Rule rule;
  int64_t low, high, extent; // valid are low <= v < high, but none between -extent and 0
  shim::Checking who;

  bool operator==(const Check& o) const {
    return rule == o.rule && low == o.low && high == o.high && extent == o.extent && who.operation == o.who.operation &&
        who.argument == o.who.argument;
  }

  template <typename T>
  bool valid(T v) const {
    if constexpr (std::is_signed_v<T>) {
      return v >= low && v < high && (v >= 0 || v <= -extent);
    } else {
      return low <= 0 && high > 0 && v < static_cast<uint64_t>(high);
    }
  }

  // Looks at n elements in row-major order and gives what is wrong, "" for nothing. fix(i) makes element i harmless.
  template <typename T, typename Fix>
  std::string run(const T* v, size_t n, Fix&& fix) const {
    std::string wrong;
    auto note = [&](size_t i, const std::string& text) {
      if (wrong.empty()) {
        wrong = who.argument + text;
      }
      fix(i);
    };
    if constexpr (std::is_integral_v<T>) {
      for (size_t i = 0; i < n; i++) {
        if (!valid(v[i])) {
          note(i, " have " + std::to_string(v[i]) + ", expected are " + std::to_string(low) + " to " + std::to_string(high - 1));
        } else if (rule == Rule::segments && i % 2 == 1 && v[i] < v[i - 1]) {
          note(i, " have one from " + std::to_string(v[i - 1]) + " to " + std::to_string(v[i]));
          fix(i - 1);
        }
      }
    } else {
      for (size_t i = 0; i < n; i++) {
        if (rule == Rule::finite && !std::isfinite(v[i])) {
          note(i, " has an element that is not a finite number");
        } else if (rule == Rule::positive && !(v[i] > 0)) {
          note(i, " is not positive definite");
        }
      }
    }
    return wrong;
  }
};

// Calls f with a pointer to the elements of a's type; complex numbers are two floats each.
template <typename F>
void typed(const mx::array& a, F&& f) {
  switch (a.dtype()) {
    case mx::uint8: return f(a.data<uint8_t>(), a.size());
    case mx::uint16: return f(a.data<uint16_t>(), a.size());
    case mx::uint32: return f(a.data<uint32_t>(), a.size());
    case mx::uint64: return f(a.data<uint64_t>(), a.size());
    case mx::int8: return f(a.data<int8_t>(), a.size());
    case mx::int16: return f(a.data<int16_t>(), a.size());
    case mx::int32: return f(a.data<int32_t>(), a.size());
    case mx::int64: return f(a.data<int64_t>(), a.size());
    case mx::float32: return f(a.data<float>(), a.size());
    case mx::float64: return f(a.data<double>(), a.size());
    case mx::complex64: return f(reinterpret_cast<const float*>(a.data<mx::complex64_t>()), 2 * a.size());
    default: throw std::invalid_argument("elements of this type cannot be checked");
  }
}

class Checked : public mx::UnaryPrimitive {
 public:
  Checked(mx::Stream s, Check check) : UnaryPrimitive(s), check_(std::move(check)) {}

  void eval_cpu(const std::vector<mx::array>& in, mx::array& out) override {
    out.set_data(mx::allocator::malloc(out.nbytes()));
    if (out.size() > 0 && out.data<char>() == nullptr) {
      throw std::runtime_error(check_.who.operation + ": cannot allocate " + std::to_string(out.nbytes()) + " bytes");
    }
    typed(in[0], [&](auto* src, size_t n) {
      auto* dst = const_cast<std::remove_const_t<std::remove_pointer_t<decltype(src)>>*>(
          reinterpret_cast<decltype(src)>(out.data<char>()));
      mx::cpu::get_command_encoder(stream()).dispatch([src, dst, n, check = check_] {
        std::copy(src, src + n, dst);
        auto wrong = check.run(src, n, [&](size_t i) { dst[i] = 0; });
        if (!wrong.empty()) {
          throw std::out_of_range("[Checked::eval_cpu] " + check.who.operation + ": " + wrong);
        }
      });
    });
  }
  void eval_gpu(const std::vector<mx::array>& in, mx::array& out) override {
    out.copy_shared_buffer(in[0]);
  }
  std::pair<std::vector<mx::array>, std::vector<int>> vmap(const std::vector<mx::array>& in, const std::vector<int>& axes) override {
    auto a = mx::contiguous(in[0], false, stream());
    return {{mx::array(a.shape(), a.dtype(), std::make_shared<Checked>(stream(), check_), {a})}, axes};
  }
  const char* name() const override {
    return "Checked";
  }
  bool is_equivalent(const Primitive& other) const override {
    auto* o = dynamic_cast<const Checked*>(&other);
    return o && check_ == o->check_;
  }
  std::vector<mx::Shape> output_shapes(const std::vector<mx::array>& in) override {
    return {in[0].shape()};
  }

 private:
  Check check_;
};

// Elements that the CPU may read at once.
bool readable(const mx::array& a) {
  return shim::computed(a) && a.data_shared_ptr() && a.flags().row_contiguous && !mx::cu::is_available();
}

mx::array checked(mx::array a, Check check, mx::Stream s) {
  // A check is no function with a derivative, and libmlx refuses to differentiate through indices.
  bool indices = check.rule == Rule::range || check.rule == Rule::segments;
  if (indices && a.is_tracer()) {
    a = mx::stop_gradient(a, s);
  }
  if (a.size() == 0) {
    return a;
  }
  if (readable(a)) {
    std::string wrong;
    typed(a, [&](auto* v, size_t n) { wrong = check.run(v, n, [](size_t) {}); });
    if (!wrong.empty()) {
      throw std::out_of_range(wrong);
    }
    return a;
  }
  if (s.device != mx::Device::cpu) {
    return a;
  }
  auto dense = mx::contiguous(a, false, s);
  return mx::array(dense.shape(), dense.dtype(), std::make_shared<Checked>(s, std::move(check)), {dense});
}

} // namespace

namespace shim {

mx::array checked_indices(const mx::array& indices, int64_t n, int64_t extent, const Checking& who, mx::Stream s) {
  if (!mx::issubdtype(indices.dtype(), mx::integer)) {
    throw std::invalid_argument(who.argument + " must be integers");
  }
  if (indices.size() > 0 && n < extent) {
    throw std::out_of_range(who.argument + ": no index into an axis of size " + std::to_string(n) + " is valid");
  }
  return checked(indices, {Rule::range, -n, n - extent + 1, extent, who}, s);
}

mx::array checked_counts(const mx::array& indices, int64_t n, const Checking& who, mx::Stream s) {
  if (!mx::issubdtype(indices.dtype(), mx::integer)) {
    throw std::invalid_argument(who.argument + " must be integers");
  }
  if (indices.size() > 0 && n < 1) {
    throw std::out_of_range(who.argument + ": there is nothing to choose from");
  }
  return checked(indices, {Rule::range, 0, n, 1, who}, s);
}

mx::array checked_segments(const mx::array& segments, int64_t n, const Checking& who, mx::Stream s) {
  if (!mx::issubdtype(segments.dtype(), mx::integer) || segments.ndim() < 1 || segments.shape(-1) != 2) {
    throw std::invalid_argument(who.argument + " must be integers [..., 2]");
  }
  return checked(segments, {Rule::segments, 0, n + 1, 1, who}, s);
}

mx::array checked_finite(const mx::array& a, const Checking& who, mx::Stream s) {
  bool checkable = a.dtype() == mx::float32 || a.dtype() == mx::float64 || a.dtype() == mx::complex64;
  return checkable ? checked(a, {Rule::finite, 0, 0, 1, who}, s) : a;
}

mx::array checked_factor(const mx::array& factor, const Checking& who, mx::Stream s) {
  auto pivots = mx::real(mx::diagonal(factor, 0, -2, -1, s), s);
  return mx::depends({factor}, {checked(pivots, {Rule::positive, 0, 0, 1, who}, s)})[0];
}

} // namespace shim
