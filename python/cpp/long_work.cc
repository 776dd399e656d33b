#include "long_work.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/thread.h"
#include "job/phase_name.h"
#include "text.h"

namespace xxl::python {
namespace {

constexpr std::chrono::milliseconds kStep{50};  // between two looks at signals

// Calls back when there is something new.
class Teller {
 public:
  Teller(const Progress& progress, nb::handle callback)
      : progress_(progress), callback_(callback) {}

  void tell() {
    if (callback_.is_none()) return;
    const State state{progress_.phase, progress_.pass, progress_.passes, progress_.phase_bytes_done,
                      progress_.phase_bytes_total};
    if (any_ && state == told_) return;
    any_ = true;
    told_ = state;
    callback_(phase_name(state.phase, state.pass, state.passes), state.done, state.total);
  }

 private:
  struct State {
    Phase phase = Phase::starting;
    unsigned pass = 0, passes = 0;
    std::uint64_t done = 0, total = 0;

    bool operator==(const State&) const = default;
  };

  const Progress& progress_;
  nb::handle callback_;
  bool any_ = false;
  State told_;
};

// The end of the body, seen from two threads.
class Ending {
 public:
  void run(const std::function<void()>& body) noexcept {
    std::exception_ptr failure;
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    ended_ = true;
    changed_.notify_all();  // within the lock: the other thread may destroy this at once
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return ended_; });
  }
  void throw_failure() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void LongWork::run(const std::function<void()>& body, nb::handle callback) {
  Ending ending;
  Teller teller(progress, callback);
  std::optional<nb::python_error> raised;
  // Whoever calls again and again may run no Python in between.
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  {
    // Producers of input run on it, so it has the stack that they are used to.
    Thread thread = Thread::try_start([&] { ending.run(body); }, Thread::kLargeStackBytes);
    if (!thread) {  // where the system refuses one, signals wait
      nb::gil_scoped_release release;
      ending.run(body);
    }
    const auto ended = [&] {
      nb::gil_scoped_release release;
      return ending.wait_for(kStep);
    };
    while (!ended()) {
      if (raised) continue;
      try {
        if (PyErr_CheckSignals() != 0) nb::raise_python_error();
        teller.tell();
      } catch (nb::python_error& error) {
        raised.emplace(std::move(error));
        nb::gil_scoped_release release;
        stop.request_stop();
      }
    }
    nb::gil_scoped_release release;
    thread.join();
  }
  if (raised) throw std::move(*raised);
  ending.throw_failure();
  teller.tell();
}

}  // namespace xxl::python
