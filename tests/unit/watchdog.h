// Ends a test program that hangs.
#pragma once

#include <unistd.h>

namespace xxl::test {

// While it lives, the process dies of SIGALRM when `seconds` have passed: a test that waits for
// ever fails, under its name. The default leaves room for sanitizers on a busy machine.
class Watchdog {
 public:
  explicit Watchdog(unsigned seconds = 300) { alarm(seconds); }
  ~Watchdog() { alarm(0); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace xxl::test
