// Groups of processes and their collective operations (MLX's own ring and MPI backends).
#include <mlx/distributed/distributed.h>
#include <mlx/distributed/ops.h>

#include "shim.hpp"

namespace md = mx::distributed;

struct mlxg_group {
  md::Group group;
};

namespace {

mlxg_group_result describe(md::Group g) {
  mlxg_group_result r{};
  r.rank = g.rank();
  r.size = g.size();
  r.group = new mlxg_group{std::move(g)};
  return r;
}

} // namespace

bool mlxg_distributed_available(mlxg_string backend) {
  return backend.len == 0 ? md::is_available() : md::is_available(shim::text(backend));
}

mlxg_group_result mlxg_group_init(bool strict, mlxg_string backend) {
  mlxg_group_result r{};
  auto err = shim::guard([&] { r = describe(md::init(strict, shim::text(backend))); });
  r.err = err;
  return r;
}

mlxg_group_result mlxg_group_split(mlxg_group* g, int color, int key) {
  mlxg_group_result r{};
  auto err = shim::guard([&] { r = describe(g->group.split(color, key)); });
  r.err = err;
  return r;
}

void mlxg_group_free(mlxg_group* g) {
  delete g;
}

mlxg_result mlxg_collective(int which, mlxg_array* a, mlxg_group* g, int stream) {
  return shim::one([&] {
    const auto& x = shim::get(a);
    auto s = shim::stream(stream);
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
  return shim::one([&] { return md::send(shim::get(a), dst, g->group, shim::stream(stream)); });
}

mlxg_result mlxg_recv(mlxg_ints dims, int dtype, int src, mlxg_group* g, int stream) {
  return shim::one([&] { return md::recv(shim::shape(dims), shim::dtype(dtype), src, g->group, shim::stream(stream)); });
}
