// What the program finds out about its machine: defaults for memory and scratch space, and the
// lines of `xxl info`.
#pragma once

#include <cstdint>
#include <string>

namespace xxl::cli {

// The maximum for -S: what this process may still take (base/machine_limits.h), less what it takes
// beside -S.
std::uint64_t usable_memory_bytes();

// With less than this, lines cannot be sorted, and hardly anything else works.
inline constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{4} << 20;

// Without -S: half of what this process may still take, or what is usable if that is less.
std::uint64_t default_memory_bytes();

// $TMPDIR, else /var/tmp, else /tmp: /tmp is often held in memory, which is what scratch saves.
std::string default_scratch_dir();

// Name of the processor, or "unknown".
std::string processor_name();

}  // namespace xxl::cli
