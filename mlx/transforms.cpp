// Function transforms over Go closures. A Go function is a number; mlxgo_call runs it.
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <sstream>

#include <mlx/compile_impl.h>
#include <mlx/primitives.h>
#include "shim.hpp"

extern "C" {
// Runs Go function fn. The arrays are the arguments; for a vjp: primals, cotangents, outputs in turn.
// Results go to out. Returns 0, or 1 with a message that mlxgo_call allocated with malloc.
int mlxgo_call(uintptr_t fn, int kind, mlxg_array** args, int n, int n_primals, int n_cotangents, mlxg_vec* out, char** message);
void mlxgo_worker(uintptr_t id);
}

namespace {

using Arrays = std::vector<mx::array>;

std::mutex released_mutex;
std::vector<uintptr_t> released;

// Owns the number of a Go function. The last copy may go on any thread, so it only queues the number.
class GoFunction {
 public:
  explicit GoFunction(uintptr_t id) : id_(id, [](Id* p) {
    std::lock_guard<std::mutex> lock(released_mutex);
    released.push_back(p->value);
    delete p;
  }) {}

  Arrays operator()(const Arrays& args) const {
    return call(MLXG_CALL_FUNCTION, args, static_cast<int>(args.size()), 0);
  }
  Arrays vjp(const Arrays& primals, const Arrays& cotangents, const Arrays& outputs) const {
    Arrays all(primals);
    all.insert(all.end(), cotangents.begin(), cotangents.end());
    all.insert(all.end(), outputs.begin(), outputs.end());
    return call(MLXG_CALL_VJP, all, static_cast<int>(primals.size()), static_cast<int>(cotangents.size()));
  }

 private:
  struct Id {
    explicit Id(uintptr_t v) : value(v) {}
    uintptr_t value;
  };
  struct Shared {
    template <typename D>
    Shared(uintptr_t v, D d) : p(new Id(v), d) {}
    std::shared_ptr<Id> p;
  };

  Arrays call(int kind, const Arrays& args, int n_primals, int n_cotangents) const {
    std::vector<mlxg_array*> handles;
    for (auto& a : args) {
      handles.push_back(shim::wrap(a));
    }
    mlxg_vec out;
    char* message = nullptr;
    int code = mlxgo_call(
        id_.p->value, kind, handles.data(), static_cast<int>(handles.size()), n_primals, n_cotangents, &out, &message);
    Arrays results;
    for (auto* h : out.handles) {
      results.push_back(h->a);
    }
    mlxg_free_many(out.handles.data(), static_cast<int>(out.handles.size()));
    if (code != 0) {
      std::string text(message ? message : "the function failed");
      free(message);
      throw shim::Carried(text);
    }
    return results;
  }

  Shared id_;
};

Arrays join(std::pair<Arrays, Arrays> parts, int* first) {
  *first = static_cast<int>(parts.first.size());
  parts.first.insert(parts.first.end(), parts.second.begin(), parts.second.end());
  return parts.first;
}

thread_local uintptr_t worker_id = 0;

void* run_worker(void* arg) {
  worker_id = reinterpret_cast<uintptr_t>(arg) + 1;
  mlxgo_worker(worker_id - 1);
  return nullptr;
}

} // namespace

mlxg_results mlxg_vjp(uintptr_t fn, mlxg_arrays primals, mlxg_arrays cotangents, int* outputs) {
  return shim::many([&] {
    GoFunction f(fn);
    auto wanted = shim::list(cotangents);
    // MLX reads the cotangents after it called the function, and expects none for a stopped output.
    auto checked = [&](const Arrays& args) {
      auto outs = f(args);
      if (outs.size() != wanted.size()) {
        throw std::invalid_argument(
            "one cotangent for each output is expected; the function gave " + std::to_string(outs.size()) +
            " outputs for " + std::to_string(wanted.size()) + " cotangents");
      }
      for (size_t i = outs.size(); i-- > 0;) {
        if (outs[i].has_primitive() && !strcmp(outs[i].primitive().name(), "StopGradient")) {
          wanted.erase(wanted.begin() + i);
        }
      }
      return outs;
    };
    return join(mx::vjp(checked, shim::list(primals), wanted), outputs);
  });
}

mlxg_results mlxg_jvp(uintptr_t fn, mlxg_arrays primals, mlxg_arrays tangents, int* outputs) {
  return shim::many([&] {
    GoFunction f(fn);
    return join(mx::jvp(f, shim::list(primals), shim::list(tangents)), outputs);
  });
}

mlxg_results mlxg_value_and_grad(uintptr_t fn, mlxg_arrays args, mlxg_ints argnums, int* outputs) {
  return shim::many([&] {
    GoFunction f(fn);
    auto checked = [&](const Arrays& args) {
      auto outs = f(args);
      if (outs[0].ndim() != 0) {
        std::ostringstream shape;
        shape << outs[0].shape();
        throw std::invalid_argument("the function's first result must be a scalar, without axes; it has shape " + shape.str());
      }
      return outs;
    };
    auto wanted = shim::ints(argnums);
    auto [outs, grads] = mx::value_and_grad(checked, wanted)(shim::list(args));
    // MLX gives the gradients in the order of the arguments.
    auto sorted = wanted;
    std::sort(sorted.begin(), sorted.end());
    Arrays in_order;
    for (int n : wanted) {
      in_order.push_back(grads[std::lower_bound(sorted.begin(), sorted.end(), n) - sorted.begin()]);
    }
    return join({outs, in_order}, outputs);
  });
}

mlxg_results mlxg_vmap(uintptr_t fn, mlxg_arrays args, mlxg_ints in_axes, mlxg_ints out_axes) {
  return shim::many([&] {
    GoFunction f(fn);
    return mx::vmap(f, shim::ints(in_axes), shim::ints(out_axes))(shim::list(args));
  });
}

mlxg_results mlxg_checkpoint(uintptr_t fn, mlxg_arrays args) {
  return shim::many([&] { return mx::checkpoint(GoFunction(fn))(shim::list(args)); });
}

mlxg_results mlxg_custom_vjp(uintptr_t fn, uintptr_t vjp, mlxg_arrays args) {
  return shim::many([&] {
    GoFunction f(fn), g(vjp);
    return mx::custom_vjp(f, [g](const Arrays& primals, const Arrays& cotangents, const Arrays& outputs) {
      return g.vjp(primals, cotangents, outputs);
    })(shim::list(args));
  });
}

mlxg_results mlxg_compiled_call(uintptr_t fn, uintptr_t id, bool shapeless, mlxg_arrays args) {
  return shim::many([&] {
    GoFunction f(fn);
    return mx::detail::compile(std::function<Arrays(const Arrays&)>(f), id, shapeless)(shim::list(args));
  });
}

void mlxg_compiled_erase(uintptr_t id) {
  mlxg_error_free(shim::guard([&] { mx::detail::compile_erase(mx::detail::compile_cache(), id); }));
}

void mlxg_set_compile_mode(int mode) {
  mx::set_compile_mode(static_cast<mx::CompileMode>(mode));
}

int mlxg_released_functions(uintptr_t* dst, int n) {
  std::lock_guard<std::mutex> lock(released_mutex);
  int count = std::min<int>(n, static_cast<int>(released.size()));
  std::copy(released.end() - count, released.end(), dst);
  released.resize(released.size() - count);
  return count;
}

int mlxg_start_worker(uintptr_t id) {
  // MLX's reverse pass recurses once per node in a chain, so a long unrolled loop needs far more
  // than the usual 8 MiB. Only touched pages are ever committed. A system may allow less.
  int code = 0;
  for (size_t stack_bytes = size_t{1} << 30; stack_bytes >= size_t{8} << 20; stack_bytes /= 2) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    code = pthread_attr_setstacksize(&attr, stack_bytes);
    pthread_t thread;
    if (code == 0) {
      code = pthread_create(&thread, &attr, run_worker, reinterpret_cast<void*>(id));
    }
    pthread_attr_destroy(&attr);
    if (code == 0) {
      break;
    }
  }
  return code;
}

uintptr_t mlxg_current_worker(void) {
  return worker_id;
}
