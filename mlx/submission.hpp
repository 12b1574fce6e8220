// What is remembered of an evaluation until its outcome is known, and of failed ones as long as arrays need it.
#pragma once

#include "graph.hpp"
#include "work.hpp"

namespace shim {

struct Submission {
  std::shared_ptr<Work> work = std::make_shared<Work>();
  std::vector<Node> nodes; // what it runs, by id after sort()
  std::vector<Node> outputs; // what was asked for
  std::vector<Node> borrowed; // what it needs of submissions that are not finished
  std::vector<mx::Stream> streams;
  std::string refused; // what MLX threw when it was given the graph
  std::shared_ptr<const Failure> failure; // after settling

  // Nodes whose operation can fail in a task, and, where there are such or borrowed ones, which node needs which.
  struct Suspect {
    std::uintptr_t id;
    const char* name;
  };
  std::vector<Suspect> suspects;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> needs; // input, node

  void sort();
  bool ran(const mx::array& a) const;
  bool uses_gpu() const;
  void add(const mx::array& node);
  // After MLX threw: takes out what did not run and can be run again.
  void drop_unscheduled(const std::vector<mx::array>& roots);
};

// Records the failures of a submission that is finished, after those that it borrowed from.
void settle(Submission& s);

// Makes the outputs whose graph needs a failed array fail for ever too, and returns the first failure.
Failure spread_failure(const std::vector<mx::array>& outputs);

} // namespace shim
