// Start, streams and devices of the process.
#include <dlfcn.h>

#include <future>
#include <mutex>
#include <thread>

#include <mlx/scheduler.h>
#include "shim.hpp"

#ifdef __linux__
extern "C" void openblas_set_num_threads(int) __attribute__((weak));
#endif

namespace {

// Streams that any thread may use. Index 0 is the CPU's default, 1 the GPU's (when there is one).
std::vector<mx::Stream>& streams() {
  static auto* s = new std::vector<mx::Stream>;
  return *s;
}
std::mutex streams_mutex;

} // namespace

namespace shim {

char* copy_string(const std::string& s) {
  char* copy = static_cast<char*>(malloc(s.size() + 1));
  memcpy(copy, s.c_str(), s.size() + 1);
  return copy;
}

mlxg_error fault(const char* message, bool carried, uint64_t failure) {
  return {copy_string(message), carried, failure};
}

mx::Stream stream(int index) {
  std::lock_guard<std::mutex> lock(streams_mutex);
  if (index < 0 || index >= static_cast<int>(streams().size())) {
    throw std::invalid_argument("no such stream");
  }
  return streams()[index];
}

void enter_thread() {
  thread_local bool entered = false;
  if (entered) {
    return;
  }
  std::lock_guard<std::mutex> lock(streams_mutex);
  if (streams().empty()) {
    return;
  }
  for (size_t i = 0; i < std::min<size_t>(2, streams().size()); i++) {
    if (i == 0 || streams()[i].device == mx::Device::gpu) {
      mx::set_default_stream(streams()[i]);
    }
  }
  entered = true;
}

} // namespace shim

const char* mlxg_headers_version(void) {
#define MLXG_TEXT(x) #x
#define MLXG_VALUE(x) MLXG_TEXT(x)
  return MLXG_VALUE(MLX_VERSION_MAJOR) "." MLXG_VALUE(MLX_VERSION_MINOR) "." MLXG_VALUE(MLX_VERSION_PATCH);
}

const char* mlxg_library_version(void) {
  return mx::version();
}

char* mlxg_version_fault(const char* headers, const char* library) {
  if (!strcmp(headers, library)) {
    return nullptr;
  }
  return shim::copy_string(
      std::string("this program was compiled with the headers of MLX ") + headers + " but runs with libmlx " + library +
      "; build and run it with one version (see cmd/mlxsetup)");
}

mlxg_started mlxg_start(void) {
  mlxg_started started{};
  started.err = shim::guard([&] {
    // Layouts change between releases, so no other call is safe then.
    if (char* wrong = mlxg_version_fault(mlxg_headers_version(), mlxg_library_version())) {
      std::string text(wrong);
      free(wrong);
      throw std::runtime_error(text);
    }
    // MLX shows pending task errors to the first thread that touches its scheduler, at any call.
    // A thread that does nothing else takes that role, so that errors come only where we look for them.
    // It stays, as a later thread could get the identity of one that ended.
    std::promise<void> ready;
    std::thread([&ready] {
      mx::scheduler::scheduler();
      ready.set_value();
      std::promise<void>().get_future().wait();
    }).detach();
    ready.get_future().wait();
#ifdef __linux__
    // OpenBLAS's idle threads spin and would slow everything else down.
    if (openblas_set_num_threads) {
      openblas_set_num_threads(1);
    }
#endif
    started.gpu = mx::is_available(mx::Device::gpu);
    std::lock_guard<std::mutex> lock(streams_mutex);
    streams().push_back(mx::new_thread_unsafe_stream(mx::Device::cpu));
    if (started.gpu) {
      streams().push_back(mx::new_thread_unsafe_stream(mx::Device::gpu));
    }
  });
  // Fused CPU kernels would need a C++ compiler at run time; without fusion a compiled function
  // still keeps its simplified graph.
  if (!started.gpu) {
    mx::set_compile_mode(mx::CompileMode::no_fuse);
  }
  return started;
}

mlxg_error mlxg_stop(void) {
  return shim::guard([] {
    shim::finish_all();
    std::vector<mx::Stream> all;
    {
      std::lock_guard<std::mutex> lock(streams_mutex);
      all = streams();
    }
    for (auto& s : all) {
      mx::synchronize(s);
    }
  });
}

void mlxg_error_free(mlxg_error err) {
  free(err.message);
}

mlxg_new_stream_result mlxg_new_stream(bool gpu) {
  mlxg_new_stream_result r{};
  r.err = shim::guard([&] {
    auto device = gpu ? mx::Device::gpu : mx::Device::cpu;
    // Asking MLX for a stream on a missing device leaves a dead entry in its list each time.
    if (!mx::is_available(device)) {
      throw std::runtime_error("no GPU that MLX can use on this machine");
    }
    auto s = mx::new_thread_unsafe_stream(device);
    std::lock_guard<std::mutex> lock(streams_mutex);
    streams().push_back(s);
    r.stream = static_cast<int>(streams().size()) - 1;
  });
  return r;
}

void mlxg_set_default_device(bool gpu) {
  mx::set_default_device(gpu ? mx::Device::gpu : mx::Device::cpu);
}

int mlxg_stream_count(void) {
  return static_cast<int>(mx::get_streams().size());
}

char* mlxg_device_info(bool gpu) {
  std::string out;
  auto err = shim::guard([&] {
    auto& info = mx::device_info(gpu ? mx::Device::gpu : mx::Device::cpu);
    for (auto& [key, value] : info) {
      out += key + "\t";
      out += std::holds_alternative<std::string>(value) ? std::get<std::string>(value)
                                                        : std::to_string(std::get<size_t>(value));
      out += "\n";
    }
  });
  mlxg_error_free(err);
  return shim::copy_string(out);
}

bool mlxg_set_blas_threads(int n) {
#ifdef __linux__
  if (openblas_set_num_threads) {
    openblas_set_num_threads(n);
    return true;
  }
#endif
  return false;
}

char* mlxg_blas_file(void) {
  Dl_info info{};
  void* f = dlsym(RTLD_DEFAULT, "cblas_sgemm");
  if (f && dladdr(f, &info) && info.dli_fname) {
    return shim::copy_string(info.dli_fname);
  }
  return shim::copy_string("");
}
