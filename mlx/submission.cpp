// Which arrays a failed evaluation spoiled.
//
// MLX tells the first error of a stream, not the array. Few operations can fail in a task, and they name
// themselves in the error. So what they and their dependents computed is spoiled, and what was merely
// computed together with them is not. An error that names none of them spoils all.
#include "submission.hpp"

#include <mlx/primitives.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace {

// The arrays that failed, by id.
class Failures {
 public:
  void add(const shim::Node& node, std::shared_ptr<const shim::Failure> failure) {
    if (by_id_.size() >= prune_at_) {
      std::erase_if(by_id_, [](auto& entry) { return entry.second.alive.expired(); });
      prune_at_ = 64 + 2 * by_id_.size();
    }
    if (!node.alive.expired()) {
      by_id_.try_emplace(node.id, Entry{node.alive, std::move(failure)});
    }
  }
  std::shared_ptr<const shim::Failure> find(std::uintptr_t id) const {
    if (by_id_.empty()) {
      return nullptr;
    }
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second.failure;
  }

 private:
  struct Entry {
    std::weak_ptr<void> alive;
    std::shared_ptr<const shim::Failure> failure;
  };
  std::unordered_map<std::uintptr_t, Entry> by_id_;
  size_t prune_at_ = 64;
};

Failures& failures() {
  static auto* f = new Failures;
  return *f;
}

bool can_fail(const char* operation) {
  static const char* names[] = {"AllGather", "AllReduce", "Checked", "Cholesky", "Eig", "Eigh", "Inverse", "LUF", "Load",
                                "MaskedScatter", "QRF", "Recv", "ReduceScatter", "SVD", "Send", "Throwing"};
  return std::any_of(std::begin(names), std::end(names), [&](auto* name) { return !strcmp(name, operation); });
}

// Whether the text starts with "[name::".
bool names(const std::string& text, const char* operation) {
  auto prefix = "[" + std::string(operation) + "::";
  return text.compare(0, prefix.size(), prefix) == 0;
}

std::unordered_set<std::uintptr_t> with_dependents(const shim::Submission& s, std::vector<std::uintptr_t> roots) {
  std::unordered_multimap<std::uintptr_t, std::uintptr_t> dependents(s.needs.begin(), s.needs.end());
  std::unordered_set<std::uintptr_t> found(roots.begin(), roots.end());
  while (!roots.empty()) {
    auto [begin, end] = dependents.equal_range(roots.back());
    roots.pop_back();
    for (auto it = begin; it != end; ++it) {
      if (found.insert(it->second).second) {
        roots.push_back(it->second);
      }
    }
  }
  return found;
}

std::shared_ptr<const shim::Failure> new_failure(const std::string& message) {
  static uint64_t count = 0;
  return std::make_shared<const shim::Failure>(shim::Failure{++count, message});
}

} // namespace

namespace shim {

const Failure* failure_of(const mx::array& a) {
  return failures().find(a.id()).get();
}

void Submission::sort() {
  std::sort(nodes.begin(), nodes.end(), [](auto& a, auto& b) { return a.id < b.id; });
}

bool Submission::ran(const mx::array& a) const {
  auto it = std::lower_bound(nodes.begin(), nodes.end(), a.id(), [](auto& node, auto id) { return node.id < id; });
  return it != nodes.end() && it->id == a.id();
}

bool Submission::uses_gpu() const {
  return std::any_of(streams.begin(), streams.end(), [](auto& s) { return s.device == mx::Device::gpu; });
}

void Submission::add(const mx::array& node) {
  nodes.emplace_back(node);
  if (!node.has_primitive()) {
    return;
  }
  auto& operation = node.primitive();
  if (std::find(streams.begin(), streams.end(), operation.stream()) == streams.end()) {
    streams.push_back(operation.stream());
  }
  if (can_fail(operation.name())) {
    suspects.push_back({node.id(), operation.name()});
  }
}

void Submission::drop_unscheduled(const std::vector<mx::array>& roots) {
  std::unordered_set<std::uintptr_t> left;
  walk(roots, [&](const mx::array& a) { left.insert(a.id()); }, [](auto&) {});
  std::erase_if(nodes, [&](auto& node) { return left.contains(node.id); });
}

void settle(Submission& s) {
  std::vector<std::uintptr_t> roots;
  bool all = false;
  if (auto& error = s.work->error; !error.empty()) {
    s.failure = new_failure(error);
    all = std::none_of(s.suspects.begin(), s.suspects.end(), [&](auto& suspect) { return names(error, suspect.name); });
  } else if (!s.refused.empty()) {
    // MLX waited for what it had started by then, and may have dropped an error of that.
    s.failure = new_failure(s.refused);
  }
  if (s.failure) {
    for (auto& suspect : s.suspects) {
      roots.push_back(suspect.id);
    }
  }
  for (auto& b : s.borrowed) {
    if (auto failure = failures().find(b.id)) {
      s.failure = s.failure ? s.failure : failure;
      roots.push_back(b.id);
    }
  }
  if (s.failure) {
    auto spoiled = with_dependents(s, std::move(roots));
    for (auto& node : s.nodes) {
      if (all || spoiled.contains(node.id)) {
        failures().add(node, s.failure);
      }
    }
    for (auto& out : s.outputs) {
      failures().add(out, s.failure);
    }
  }
  s.nodes.clear();
  s.outputs.clear();
  s.borrowed.clear();
  s.needs.clear();
}

Failure spread_failure(const std::vector<mx::array>& outputs) {
  std::shared_ptr<const Failure> first;
  for (auto& out : outputs) {
    std::shared_ptr<const Failure> found;
    auto look = [&](const mx::array& a) { found = found ? found : failures().find(a.id()); };
    walk({out}, look, look);
    if (found) {
      failures().add(Node(out), found);
      first = first ? first : found;
    }
  }
  return *first;
}

} // namespace shim
