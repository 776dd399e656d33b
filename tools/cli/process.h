// What every program does first.
#pragma once

namespace xxl::cli {

inline constexpr const char* kOutOfMemory =
    "out of memory beside what -S is for: give a smaller -S, or allow more (ulimit -v, ulimit -d)";

// Prepares the process for jobs: standard descriptors, signals, limits, and what happens without
// memory. Returns whether SIGPIPE had its default action, which the parent process may have
// changed.
bool prepare_process();

}  // namespace xxl::cli
