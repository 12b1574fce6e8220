// Handles of arrays: making, describing, reading and freeing them; scalars as operands.
#include <unistd.h>

#include <array>

#include "shim.hpp"

namespace {

int live = 0;

// The order of mlx.Dtype in dtype.go.
const std::array<mx::Dtype, 14>& dtypes() {
  static const std::array<mx::Dtype, 14> all = {
      mx::bool_, mx::uint8, mx::uint16, mx::uint32, mx::uint64, mx::int8, mx::int16, mx::int32,
      mx::int64, mx::float16, mx::float32, mx::float64, mx::bfloat16, mx::complex64};
  return all;
}

template <size_t N>
void gather(const mx::array& a, const char* src, char* dst) {
  int ndim = static_cast<int>(a.ndim());
  std::vector<int32_t> index(ndim, 0);
  const auto& shape = a.shape();
  const auto& strides = a.strides();
  int64_t inner = shape[ndim - 1], inner_stride = strides[ndim - 1] * static_cast<int64_t>(N);
  int64_t offset = 0;
  for (size_t done = 0; done < a.size(); done += inner) {
    const char* from = src + offset * static_cast<int64_t>(N);
    for (int64_t i = 0; i < inner; i++, from += inner_stride, dst += N) {
      memcpy(dst, from, N);
    }
    for (int d = ndim - 2; d >= 0; d--) {
      offset += strides[d];
      if (++index[d] < shape[d]) {
        break;
      }
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

// An array whose elements are not set yet. MLX's allocator answers a request that it cannot meet with a null
// pointer and counts it as memory in use; what no machine can meet does not get that far.
mx::array allocate(mlxg_ints dims, int dtype) {
  auto shape = shim::shape(dims);
  auto d = shim::dtype(dtype);
  size_t bytes = mx::size_of(d);
  for (auto n : shape) {
    bytes *= n;
  }
  auto cannot = [&] { return std::runtime_error("cannot allocate " + std::to_string(bytes) + " bytes"); };
  if (static_cast<double>(bytes) > shim::physical_memory()) {
    throw cannot();
  }
  auto buffer = mx::allocator::malloc(bytes);
  if (bytes > 0 && buffer.buffer().raw_ptr() == nullptr) {
    throw cannot();
  }
  return mx::array(std::move(buffer), shape, d);
}

} // namespace

namespace shim {

double physical_memory() {
  static const auto bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return bytes;
}

mlxg_array* wrap(mx::array a) {
  // libmlx leaves the flags of an empty view unset, and a reduction over such a view need not end. Nothing has to be
  // computed for an empty array, so it is made anew.
  if (a.size() == 0 && a.has_primitive()) {
    a = mx::array(mx::allocator::malloc(0), a.shape(), a.dtype());
  }
  auto* h = new mlxg_array{std::move(a)};
  live++;
  return h;
}

mlxg_results wrap(std::vector<mx::array> arrays) {
  mlxg_results r{};
  r.out = new mlxg_vec;
  for (auto& a : arrays) {
    r.out->handles.push_back(wrap(std::move(a)));
  }
  r.n = static_cast<int>(arrays.size());
  return r;
}

const mx::array& get(mlxg_array* h) {
  if (auto* failure = failure_of(h->a)) {
    throw Carried(*failure);
  }
  return h->a;
}

std::vector<mx::array> list(mlxg_arrays v) {
  std::vector<mx::array> out;
  out.reserve(v.len);
  for (int i = 0; i < v.len; i++) {
    out.push_back(get(v.data[i]));
  }
  return out;
}

mx::Dtype dtype(int index) {
  if (index < 0 || index >= static_cast<int>(dtypes().size())) {
    throw std::invalid_argument("unknown dtype");
  }
  return dtypes()[index];
}

int dtype_index(mx::Dtype d) {
  for (size_t i = 0; i < dtypes().size(); i++) {
    if (dtypes()[i] == d) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

mx::array operand(const mlxg_operand& o, std::optional<mx::Dtype> like) {
  switch (o.kind) {
    case MLXG_ARRAY:
      return get(o.array);
    case MLXG_BOOL:
      return mx::array(o.i != 0, like.value_or(mx::bool_));
    case MLXG_INT: {
      auto small = o.i >= INT32_MIN && o.i <= INT32_MAX;
      auto t = like.value_or(small ? mx::int32 : mx::int64);
      return mx::array(o.i, t == mx::bool_ ? mx::int32 : t);
    }
    case MLXG_FLOAT: {
      auto t = like.value_or(mx::float32);
      return mx::array(o.re, mx::issubdtype(t, mx::inexact) ? t : mx::float32);
    }
    case MLXG_COMPLEX:
      return mx::array(std::complex<float>(static_cast<float>(o.re), static_cast<float>(o.im)), mx::complex64);
    default:
      throw std::invalid_argument("an operand is missing");
  }
}

std::pair<mx::array, mx::array> operands(const mlxg_operand& a, const mlxg_operand& b) {
  if (a.kind == MLXG_ARRAY) {
    const auto& left = get(a.array);
    return {left, operand(b, left.dtype())};
  }
  auto right = operand(b);
  auto left = b.kind == MLXG_ARRAY ? operand(a, right.dtype()) : operand(a);
  return {left, right};
}

} // namespace shim

mlxg_result mlxg_from_data(const void* data, mlxg_ints dims, int dtype) {
  return shim::one([&] {
    auto a = allocate(dims, dtype);
    if (a.nbytes() > 0) {
      memcpy(a.data<char>(), data, a.nbytes());
    }
    return a;
  });
}

mlxg_result mlxg_allocate(mlxg_ints dims, int dtype, void** data) {
  return shim::one([&] {
    auto a = allocate(dims, dtype);
    *data = a.data<char>();
    return a;
  });
}

mlxg_result mlxg_retain(mlxg_array* a) {
  return shim::one([&] { return shim::get(a); });
}

void mlxg_free_many(mlxg_array* const* handles, int n) {
  for (int i = 0; i < n; i++) {
    delete handles[i];
  }
  live -= n;
}

int mlxg_live_handles(void) {
  return live;
}

mlxg_description mlxg_describe(mlxg_array* h) {
  mlxg_description d{};
  d.ndim = static_cast<int>(h->a.ndim());
  d.dtype = shim::dtype_index(h->a.dtype());
  d.size = static_cast<int64_t>(h->a.size());
  for (int i = 0; i < d.ndim && i < 16; i++) {
    d.shape[i] = h->a.shape()[i];
  }
  return d;
}

void mlxg_shape(mlxg_array* h, int32_t* shape) {
  std::copy(h->a.shape().begin(), h->a.shape().end(), shape);
}

mlxg_error mlxg_failure(mlxg_array* h) {
  auto* f = shim::failure_of(h->a);
  return f ? shim::fault(f->message.c_str(), true, f->number) : mlxg_error{};
}

bool mlxg_is_tracer(mlxg_array* h) {
  return h->a.is_tracer();
}

mlxg_error mlxg_read(mlxg_array* h, void* dst, size_t bytes) {
  return shim::guard([&] {
    const auto& a = h->a;
    if (bytes != a.nbytes()) {
      throw std::runtime_error("the destination has another size than the array");
    }
    if (bytes == 0) {
      return;
    }
    if (!a.data_shared_ptr() || a.data<char>() == nullptr) {
      throw std::runtime_error("the array has no data");
    }
    if (a.ndim() == 0 || a.flags().row_contiguous) {
      memcpy(dst, a.data<char>(), bytes);
      return;
    }
    switch (a.itemsize()) {
      case 1: return gather<1>(a, a.data<char>(), static_cast<char*>(dst));
      case 2: return gather<2>(a, a.data<char>(), static_cast<char*>(dst));
      case 4: return gather<4>(a, a.data<char>(), static_cast<char*>(dst));
      default: return gather<8>(a, a.data<char>(), static_cast<char*>(dst));
    }
  });
}

int mlxg_vec_take(mlxg_vec* v, mlxg_array** dst) {
  std::copy(v->handles.begin(), v->handles.end(), dst);
  int n = static_cast<int>(v->handles.size());
  delete v;
  return n;
}

void mlxg_vec_free(mlxg_vec* v) {
  mlxg_free_many(v->handles.data(), static_cast<int>(v->handles.size()));
  delete v;
}

void mlxg_vec_push(mlxg_vec* v, mlxg_array* a) {
  v->handles.push_back(shim::wrap(a->a));
}
