// Evaluation with exact errors.
//
// MLX keeps the first error of a stream and gives it to whoever asks next, and an array whose task
// failed looks evaluated. So each submission here is followed up:
//  1. Before it, the graph is walked once: the nodes that it will run, and their streams.
//  2. After it, a marker task goes on each of those CPU streams. Streams run their tasks in order, so the
//     marker sees the errors of this submission and of no other, and takes them off the stream.
//  3. When it failed, the nodes that it spoiled (submission.cpp) and that are still referred to are recorded.
//     A recorded array gives its error for ever, is never read, and nothing that needs it is computed.
//  4. MLX takes a pending error off the stream, too, when it meets an array whose event is signalled.
//     So an array of an unfinished submission must not come before MLX with its event: work for the
//     same stream goes without (the stream's order suffices), other work waits until the outcome is known.
#include <chrono>
#include <deque>
#include <mutex>

#include <mlx/primitives.h>
#include <mlx/scheduler.h>
#include "submission.hpp"

struct mlxg_ticket {
  std::shared_ptr<shim::Submission> submission; // none: the ticket is only for waiting
  std::vector<std::shared_ptr<shim::Work>> works;
  std::vector<mx::Event> gpu_events;
};

namespace {

using shim::Submission;

// Submissions whose outcome is not known yet, oldest first.
std::deque<std::shared_ptr<Submission>>& open_submissions() {
  static auto* s = new std::deque<std::shared_ptr<Submission>>;
  return *s;
}

void settle_finished() {
  std::erase_if(open_submissions(), [](auto& s) {
    if (!s->work->done()) {
      return false;
    }
    shim::settle(*s);
    return true;
  });
}

// Whether the array only shows another array's memory.
bool is_view(const mx::array& a) {
  static const char* names[] = {"AsStrided", "Broadcast", "BroadcastAxes", "Copy", "CustomTransforms", "Depends",
                                "ExpandDims", "Slice", "Split", "Squeeze", "StopGradient", "Transpose"};
  return std::any_of(std::begin(names), std::end(names), [&](auto* name) { return !strcmp(name, a.primitive().name()); });
}

// MLX's CPU allocator answers a request that cannot be met with a null pointer, which the operation
// then writes to.
void check_size(const mx::array& a) {
  auto memory = shim::physical_memory();
  if (static_cast<double>(a.nbytes()) > memory && a.has_primitive() && !is_view(a)) {
    throw std::runtime_error(
        std::string(a.primitive().name()) + " needs " + std::to_string(a.nbytes()) + " bytes, more than this machine's " +
        std::to_string(static_cast<uint64_t>(memory)) + " bytes of memory");
  }
}

// An argument of a function that is being compiled or mapped has no values, and nothing may come to harm when they
// are asked for.
void check_computable(const mx::array& a) {
  if (!a.has_primitive()) {
    throw std::runtime_error("the array has no values yet: the function that it is in is being compiled or mapped");
  }
}

bool on_gpu(const mx::array& a) {
  return a.event().valid() && a.event().stream().device == mx::Device::gpu;
}

// An array that is needed, and the unfinished submission that computes it.
struct Unfinished {
  const mx::array* a;
  Submission* by;
};

// What is known of the graphs below outputs before they run.
struct Survey {
  std::shared_ptr<Submission> submission = std::make_shared<Submission>();
  std::vector<Unfinished> unfinished;
  bool failed = false; // needs a failed array
  bool tracing = false; // has arrays that a transform is at
};

Survey survey(const std::vector<mx::array>& outputs) {
  Survey r;
  auto& s = *r.submission;
  bool on_worker = mlxg_current_worker() != 0;
  shim::walk(
      outputs,
      [&](const mx::array& a) {
        check_computable(a);
        check_size(a);
        s.add(a);
        r.failed = r.failed || shim::failure_of(a);
        r.tracing = r.tracing || (on_worker && a.is_tracer());
      },
      [&](const mx::array& a) {
        r.failed = r.failed || shim::failure_of(a);
        for (auto& other : open_submissions()) {
          if (other->ran(a)) {
            r.unfinished.push_back({&a, other.get()});
            break;
          }
        }
      });
  if (!s.suspects.empty() || !r.unfinished.empty()) {
    shim::walk(
        outputs,
        [&](const mx::array& a) {
          for (auto& in : a.inputs()) {
            s.needs.emplace_back(in.id(), a.id());
          }
        },
        [](auto&) {});
  }
  for (auto& out : outputs) {
    s.outputs.emplace_back(out);
  }
  for (auto& u : r.unfinished) {
    s.borrowed.emplace_back(*u.a);
  }
  return r;
}

// Keeps a CPU stream waiting until all tasks of a small graph are on it: each task that comes to a sleeping
// stream wakes its thread, which takes longer than the task. MLX waits for the stream itself when an operation
// throws at submission; therefore the stream gives up after a time, long enough to cost no timer interrupt.
class Hold {
 public:
  explicit Hold(const Survey& survey) {
    constexpr size_t few = 16;
    auto& s = *survey.submission;
    if (s.nodes.size() <= few && s.suspects.empty() && !survey.tracing && s.streams.size() == 1 && s.streams[0].device == mx::Device::cpu) {
      gate_ = std::make_shared<std::timed_mutex>();
      gate_->lock();
      mx::scheduler::enqueue(s.streams[0], [gate = gate_] {
        std::unique_lock<std::timed_mutex> wait(*gate, std::chrono::milliseconds(100));
      });
    }
  }
  ~Hold() {
    if (gate_) {
      gate_->unlock();
    }
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  std::shared_ptr<std::timed_mutex> gate_;
};

// Hands the graph to MLX and puts the markers behind it.
void submit(const Survey& survey, const std::vector<mx::array>& outputs) {
  auto& s = survey.submission;
  Hold hold(survey);
  try {
    // MLX refuses to evaluate what is being transformed without waiting for it.
    survey.tracing ? mx::eval(outputs) : mx::async_eval(outputs);
  } catch (const std::exception& e) {
    auto scheduled = [](auto& out) { return out.status() != mx::array::unscheduled; };
    if (std::all_of(outputs.begin(), outputs.end(), scheduled)) {
      s->work->fail(e.what());
    } else {
      s->refused = e.what();
      s->drop_unscheduled(outputs);
    }
  }
  for (auto& stream : s->streams) {
    if (stream.device == mx::Device::gpu) {
      continue;
    }
    s->work->begin_one();
    mx::scheduler::enqueue(stream, [work = s->work, stream] {
      try {
        mx::scheduler::check_error(stream);
      } catch (const std::exception& e) {
        work->fail(e.what());
      }
      shim::finish_one(work);
    });
  }
}

void run(const Survey& survey, const std::vector<mx::array>& outputs, mlxg_ticket& ticket) {
  submit(survey, outputs);
  auto& s = survey.submission;
  // What nobody holds any more cannot be met again.
  std::erase_if(s->nodes, [](auto& node) { return node.alive.expired(); });
  s->sort();
  for (auto& out : outputs) {
    if (on_gpu(out)) {
      ticket.gpu_events.push_back(out.event());
    }
  }
  if (!ticket.gpu_events.empty()) {
    s->work->begin_one();
  }
  ticket.works.push_back(s->work);
  ticket.submission = s;
  open_submissions().push_back(s);
  shim::finish_one(s->work);
}

} // namespace

bool shim::computed(const mx::array& a) {
  if (a.status() == mx::array::unscheduled) {
    return false;
  }
  settle_finished();
  auto& open = open_submissions();
  return std::none_of(open.begin(), open.end(), [&](auto& s) { return s->ran(a); }) && !failure_of(a) && a.is_available();
}

void shim::finish_all() {
  for (auto& s : open_submissions()) {
    if (!s->uses_gpu()) {
      s->work->wait();
    }
  }
  settle_finished();
}

mlxg_submitted mlxg_submit(mlxg_array* const* handles, int n, bool async) {
  mlxg_submitted r{};
  settle_finished();
  r.err = shim::guard([&] {
    std::vector<mx::array> outputs;
    outputs.reserve(n);
    for (int i = 0; i < n; i++) {
      outputs.push_back(shim::get(handles[i]));
    }
    auto known = survey(outputs);
    if (known.failed) {
      throw shim::Carried(shim::spread_failure(outputs));
    }
    auto& s = *known.submission;
    if (s.nodes.empty() && (known.unfinished.empty() || async)) {
      return;
    }
    auto in_order = [&](const Submission& other) {
      return s.streams.size() == 1 && s.streams == other.streams && s.streams[0].device == mx::Device::cpu;
    };
    auto ticket = std::make_unique<mlxg_ticket>();
    for (auto& u : known.unfinished) {
      if (!in_order(*u.by) && !on_gpu(*u.a)) {
        ticket->works.push_back(u.by->work);
      }
    }
    r.again = !ticket->works.empty();
    if (!r.again) {
      for (auto& u : known.unfinished) {
        if (in_order(*u.by)) {
          u.a->attach_event(mx::Event{});
        }
        depend(s.work, u.by->work);
      }
      run(known, outputs, *ticket);
    }
    r.ticket = ticket.release();
  });
  r.active_bytes = static_cast<int64_t>(mx::get_active_memory());
  r.live_handles = mlxg_live_handles();
  return r;
}

mlxg_ticket* mlxg_unfinished(void) {
  settle_finished();
  if (open_submissions().empty()) {
    return nullptr;
  }
  auto* t = new mlxg_ticket;
  for (auto& s : open_submissions()) {
    t->works.push_back(s->work);
  }
  return t;
}

void mlxg_ticket_wait(mlxg_ticket* t) {
  for (auto& event : t->gpu_events) {
    // A private array with the same event: waiting on the real one would write to what others read.
    mx::array stand_in(0);
    stand_in.attach_event(event);
    stand_in.set_status(mx::array::evaluated);
    auto err = shim::guard([&] { stand_in.wait(); });
    if (err.message) {
      t->submission->work->fail(err.message);
      mlxg_error_free(err);
    }
  }
  if (!t->gpu_events.empty()) {
    t->gpu_events.clear();
    finish_one(t->submission->work);
  }
  for (auto& w : t->works) {
    w->wait();
  }
}

mlxg_error mlxg_ticket_settle(mlxg_ticket* t) {
  std::unique_ptr<mlxg_ticket> owned(t);
  settle_finished();
  if (t->submission && t->submission->failure) {
    auto& f = *t->submission->failure;
    return shim::fault(f.message.c_str(), false, f.number);
  }
  return {};
}
