// A few equal threads that share the chunks of one job: what gen, validate and sort -c run on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/machine_limits.h"
#include "base/thread.h"
#include "base/units.h"

namespace xxl {

inline constexpr unsigned kWaitingWorkers = 4;  // beyond the processors: these wait for the disk

// Threads for a job of `chunks` chunks: `parallel` of them (0: as many as processors that this
// process may run on) for the processors and `waiting` more that keep the disk busy meanwhile, but
// no more than there are chunks, or than `bytes_in_all` allows at `bytes_each`. At least 1.
inline unsigned thread_count(unsigned parallel, unsigned waiting, std::uint64_t chunks,
                             std::size_t bytes_each, std::size_t bytes_in_all) {
  if (parallel == 0) parallel = available_processors();
  const std::uint64_t most = std::min<std::uint64_t>(chunks, bytes_in_all / bytes_each);
  const std::uint64_t wanted = std::uint64_t{parallel} + waiting;
  return static_cast<unsigned>(std::max<std::uint64_t>(1, std::min(wanted, most)));
}

}  // namespace xxl
