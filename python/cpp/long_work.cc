#include "long_work.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
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
    const Told told{progress_.phase, progress_.pass, progress_.passes, progress_.phase_bytes_done,
                    progress_.phase_bytes_total};
    if (any_ && told == told_) return;
    any_ = true;
    told_ = told;
    callback_(phase_name(told.phase, told.pass, told.passes), told.done, told.total);
  }

 private:
  struct Told {
    Phase phase = Phase::starting;
    unsigned pass = 0, passes = 0;
    std::uint64_t done = 0, total = 0;

    bool operator==(const Told&) const = default;
  };

  const Progress& progress_;
  nb::handle callback_;
  bool any_ = false;
  Told told_;
};

}  // namespace

void LongWork::run(const std::function<void()>& body, nb::handle callback) {
  std::packaged_task<void()> task(body);
  std::future<void> ending = task.get_future();
  Teller teller(progress, callback);
  std::optional<nb::python_error> raised;
  // Whoever calls again and again may run no Python in between.
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  {
    // Producers of input run on it, so it has the stack that they are used to.
    Thread thread = Thread::try_start([&] { task(); }, Thread::kLargeStackBytes);
    if (!thread) {  // where the system refuses one, signals wait
      nb::gil_scoped_release release;
      task();
    }
    const auto ended = [&] {
      nb::gil_scoped_release release;
      return ending.wait_for(kStep) == std::future_status::ready;
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
  ending.get();
  teller.tell();
}

}  // namespace xxl::python
