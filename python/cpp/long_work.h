// Work that takes long, while Python stays awake: it runs on a thread of its own, and the thread
// that called waits in small steps without the GIL, so that other threads of Python run, handlers
// of signals are called (Ctrl-C), and progress is told.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <stop_token>

#include "xxl/job.h"

namespace xxl::python {

namespace nb = nanobind;

// How work is stopped, and how far it is.
struct LongWork {
  std::stop_source stop;
  Progress progress;

  // Runs `body` to its end; it must not touch Python. Throws what `body` throws. If a handler of a
  // signal or `callback` raises, asks `body` to stop, waits until it has, and raises that instead.
  // `callback`: called with a phase, and the bytes done and in all; or None. With the GIL.
  void run(const std::function<void()>& body, nb::handle callback = nb::none());
};

}  // namespace xxl::python
