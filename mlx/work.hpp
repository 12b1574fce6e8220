// What is still to be done of an evaluation, as the threads see it that do it and that wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shim {

struct Work {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> pending = 1; // one for the submitting itself; changed under mutex
  std::string error; // the first one
  std::vector<std::shared_ptr<Work>> dependents;

  void begin_one() {
    std::lock_guard<std::mutex> lock(mutex);
    pending++;
  }
  void fail(const std::string& message) {
    std::lock_guard<std::mutex> lock(mutex);
    if (error.empty()) {
      error = message;
    }
  }
  bool done() const {
    return pending == 0;
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return pending == 0; });
  }
};

// Ends one part of the work, and with the last part a part of all work that depends on it.
inline void finish_one(std::shared_ptr<Work> work) {
  std::vector<std::shared_ptr<Work>> finished{std::move(work)};
  while (!finished.empty()) {
    auto w = std::move(finished.back());
    finished.pop_back();
    std::lock_guard<std::mutex> lock(w->mutex);
    if (--w->pending == 0) {
      finished.insert(finished.end(), w->dependents.begin(), w->dependents.end());
      w->dependents.clear();
      w->changed.notify_all();
    }
  }
}

// Makes work end not before what it depends on.
inline void depend(const std::shared_ptr<Work>& work, const std::shared_ptr<Work>& on) {
  std::lock_guard<std::mutex> lock(on->mutex);
  if (on->pending > 0) {
    work->begin_one();
    on->dependents.push_back(work);
  }
}

} // namespace shim
