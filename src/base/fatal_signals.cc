#include "base/fatal_signals.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

#include "base/error.h"

namespace xxl {
namespace {

using Action = void (*)();
std::array<std::atomic<Action>, 4> actions;
static_assert(std::atomic<Action>::is_always_lock_free);

void handle(int signal_number) {
  for (const auto& action : actions) {
    if (const Action act = action; act != nullptr) act();
  }
  // The handler was installed with SA_RESETHAND: this time the signal ends the process.
  std::raise(signal_number);
}

// Signals that end a process from outside, or at a resource limit; sort(1) handles the same.
constexpr int kFatalSignals[] = {SIGALRM, SIGHUP,  SIGINT,    SIGPIPE, SIGQUIT, SIGTERM,
                                 SIGPOLL, SIGPROF, SIGVTALRM, SIGXCPU, SIGXFSZ};

void install_handlers() {
  for (const int number : kFatalSignals) {
    struct sigaction current {};
    if (sigaction(number, nullptr, &current) != 0) continue;
    if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = handle;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(number, &ours, nullptr);
  }
}

}  // namespace

void on_fatal_signal(void (*action)()) {
  static std::mutex mutex;
  static std::once_flag once;
  std::lock_guard lock(mutex);
  for (auto& place : actions) {
    if (place == action) return;
    if (place != nullptr) continue;
    place = action;
    std::call_once(once, install_handlers);
    return;
  }
  XXL_CHECK(!"there is room for all actions");
}

}  // namespace xxl
