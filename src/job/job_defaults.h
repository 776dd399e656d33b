// Defaults of a job: memory and scratch space of this machine.
#pragma once

#include <cstdint>
#include <string>

#include "job/job.h"

namespace xxl {

// The maximum for -S: what this process may still take (base/machine_limits.h), less what it takes
// beside -S.
std::uint64_t usable_memory_bytes();

// With less than this, lines cannot be sorted, and hardly anything else works.
inline constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{4} << 20;

// What -S may be of `memory_bytes` that the user asks for: no more than is usable of all that the
// machine or the process's control groups have. The kernel kills a process that takes more.
std::uint64_t cut_to_machine(std::uint64_t memory_bytes);

// Without -S: half of what this process may still take, or what is usable if that is less.
std::uint64_t default_memory_bytes();

// $TMPDIR, else /var/tmp, else /tmp: /tmp is often held in memory, which is what scratch saves.
std::string default_scratch_dir();

// Sets what `job` leaves open.
void set_defaults(FileJob& job);

// Options of the engine for `job`, without what depends on the kind of records.
template <class Options>
Options engine_options(const FileJob& job, const JobMeans& means = {}) {
  Options options;
  static_cast<FileJob&>(options) = job;
  static_cast<JobMeans&>(options) = means;
  return options;
}

}  // namespace xxl
