// Looking at MLX's graphs without taking part in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim.hpp"

namespace shim {

// The weak reference to an array's description: it costs no donation, and as long as it stands no new
// array has the same id. MLX offers none; an explicit instantiation may name the private member.
std::weak_ptr<void> weak_reference(const mx::array& a);
template <auto Member>
struct Expose {
  friend std::weak_ptr<void> weak_reference(const mx::array& a) {
    return a.*Member;
  }
};
template struct Expose<&mx::array::array_desc_>;

struct Node {
  std::uintptr_t id;
  std::weak_ptr<void> alive;
  explicit Node(const mx::array& a) : id(a.id()), alive(weak_reference(a)) {}
};

// A set of addresses that keeps its memory between uses.
class AddressSet {
 public:
  void clear() {
    if (used_ * 8 < slots_.size() && slots_.size() > 4096) {
      slots_.assign(1024, 0);
      slots_.shrink_to_fit();
    } else {
      std::fill(slots_.begin(), slots_.end(), 0);
    }
    used_ = 0;
  }
  bool insert(std::uintptr_t key) {
    if (2 * (used_ + 1) > slots_.size()) {
      grow();
    }
    auto& slot = find(key);
    if (slot == key) {
      return false;
    }
    slot = key;
    used_++;
    return true;
  }

 private:
  std::uintptr_t& find(std::uintptr_t key) {
    size_t mask = slots_.size() - 1;
    size_t i = (key >> 4) * 0x9E3779B97F4A7C15ull >> 20 & mask;
    while (slots_[i] != 0 && slots_[i] != key) {
      i = (i + 1) & mask;
    }
    return slots_[i];
  }
  void grow() {
    std::vector<std::uintptr_t> old(std::max<size_t>(64, 2 * slots_.size()), 0);
    old.swap(slots_);
    for (auto key : old) {
      if (key != 0) {
        find(key) = key;
      }
    }
  }
  std::vector<std::uintptr_t> slots_;
  size_t used_ = 0;
};

// Calls visit(node) for each array of the graphs below roots that has not run, and leaf(node) for those that have.
template <typename Visit, typename Leaf>
void walk(const std::vector<mx::array>& roots, Visit&& visit, Leaf&& leaf) {
  static AddressSet seen;
  static std::vector<const mx::array*> stack;
  seen.clear();
  stack.clear();
  for (auto& r : roots) {
    stack.push_back(&r);
  }
  while (!stack.empty()) {
    const auto& a = *stack.back();
    stack.pop_back();
    if (!seen.insert(a.id())) {
      continue;
    }
    if (a.status() != mx::array::unscheduled) {
      leaf(a);
      continue;
    }
    visit(a);
    for (auto& s : a.siblings()) {
      if (seen.insert(s.id())) {
        visit(s);
      }
    }
    for (auto& in : a.inputs()) {
      stack.push_back(&in);
    }
  }
}

} // namespace shim
