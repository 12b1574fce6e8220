// Operations that misbehave on purpose, for the tests of the error path and of waiting.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>
#include "shim.hpp"

namespace {

class Throwing : public mx::UnaryPrimitive {
 public:
  Throwing(mx::Stream s, bool queued) : UnaryPrimitive(s), queued_(queued) {}
  void eval_cpu(const std::vector<mx::array>&, mx::array& out) override {
    if (!queued_) {
      throw std::runtime_error("[Throwing::eval_cpu] thrown at submission");
    }
    out.set_data(mx::allocator::malloc(out.nbytes()));
    mx::cpu::get_command_encoder(stream()).dispatch([] { throw std::runtime_error("[Throwing::eval_cpu] thrown in a task"); });
  }
  void eval_gpu(const std::vector<mx::array>&, mx::array&) override {
    throw std::runtime_error("[Throwing::eval_gpu] runs on the CPU only");
  }
  const char* name() const override {
    return "Throwing";
  }

 private:
  bool queued_;
};

// A gate that tasks wait at while it is closed.
std::mutex gate_mutex;
std::condition_variable gate_changed;
bool gate_open = true;

// Copies its input when the wait is over: some milliseconds, or, with a negative number, the gate.
class Late : public mx::UnaryPrimitive {
 public:
  Late(mx::Stream s, int milliseconds) : UnaryPrimitive(s), milliseconds_(milliseconds) {}
  void eval_cpu(const std::vector<mx::array>& in, mx::array& out) override {
    out.set_data(mx::allocator::malloc(out.nbytes()));
    auto* dst = out.data<char>();
    auto* src = in[0].data<char>();
    mx::cpu::get_command_encoder(stream()).dispatch([dst, src, n = out.nbytes(), ms = milliseconds_] {
      if (ms < 0) {
        std::unique_lock<std::mutex> lock(gate_mutex);
        gate_changed.wait(lock, [] { return gate_open; });
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      }
      memcpy(dst, src, n);
    });
  }
  void eval_gpu(const std::vector<mx::array>&, mx::array&) override {
    throw std::runtime_error("[Throwing::eval_gpu] runs on the CPU only");
  }
  const char* name() const override {
    return "Late";
  }

 private:
  int milliseconds_;
};

} // namespace

mlxg_result mlxg_test_throw(mlxg_array* a, int where, int stream) {
  return shim::one([&] {
    const auto& in = shim::get(a);
    return mx::array(
        in.shape(), in.dtype(), std::make_shared<Throwing>(shim::stream(stream), where == 0),
        {mx::contiguous(in, false, shim::stream(stream))});
  });
}

mlxg_result mlxg_test_sleep(mlxg_array* a, int milliseconds, int stream) {
  return shim::one([&] {
    const auto& in = shim::get(a);
    return mx::array(
        in.shape(), in.dtype(), std::make_shared<Late>(shim::stream(stream), milliseconds),
        {mx::contiguous(in, false, shim::stream(stream))});
  });
}

void mlxg_test_gate(bool open) {
  std::lock_guard<std::mutex> lock(gate_mutex);
  gate_open = open;
  gate_changed.notify_all();
}
