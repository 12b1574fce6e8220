// Groups of processes and their collective operations (MLX's own ring and MPI backends).
#include <mlx/distributed/distributed.h>
#include <mlx/distributed/ops.h>

#include "shim.hpp"

namespace md = mx::distributed;

struct mlxg_group {
  md::Group group;
};

namespace {

template <typename F>
mlxg_group_result describe(F&& make) {
  mlxg_group_result r{};
  r.err = shim::guard([&] {
    md::Group g = make();
    r.rank = g.rank();
    r.size = g.size();
    r.group = new mlxg_group{std::move(g)};
  });
  return r;
}

// A negative number leaves the choice to the backend.
mx::StreamOrDevice stream_for(int index) {
  return index < 0 ? mx::StreamOrDevice{} : mx::StreamOrDevice{shim::stream(index)};
}

} // namespace

bool mlxg_distributed_available(mlxg_string backend) {
  return backend.len == 0 ? md::is_available() : md::is_available(shim::text(backend));
}

mlxg_group_result mlxg_group_init(bool strict, mlxg_string backend) {
  return describe([&] { return md::init(strict, shim::text(backend)); });
}

mlxg_group_result mlxg_group_split(mlxg_group* g, int color, int key) {
  return describe([&] { return g->group.split(color, key); });
}

void mlxg_group_free(mlxg_group* g) {
  delete g;
}

mlxg_result mlxg_collective(int which, mlxg_array* a, mlxg_group* g, int stream) {
  return shim::one([&] {
    const auto& x = shim::get(a);
    auto s = stream_for(stream);
    switch (which) {
      case MLXG_ALL_SUM: return md::all_sum(x, g->group, s);
      case MLXG_ALL_MAX: return md::all_max(x, g->group, s);
      case MLXG_ALL_MIN: return md::all_min(x, g->group, s);
      case MLXG_ALL_GATHER: return md::all_gather(x, g->group, s);
      default: return md::sum_scatter(x, g->group, s);
    }
  });
}

mlxg_result mlxg_send(mlxg_array* a, int dst, mlxg_group* g, int stream) {
  return shim::one([&] { return md::send(shim::get(a), dst, g->group, stream_for(stream)); });
}

mlxg_result mlxg_recv(mlxg_ints dims, int dtype, int src, mlxg_group* g, int stream) {
  return shim::one([&] { return md::recv(shim::shape(dims), shim::dtype(dtype), src, g->group, stream_for(stream)); });
}
