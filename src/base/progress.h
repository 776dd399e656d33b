// Progress of a sort or join while it runs: counters that any thread may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace xxl {

enum class Phase { starting, forming_runs, merging, joining, building_table, probing, finishing };

struct Progress {
  std::atomic<Phase> phase{Phase::starting};
  std::atomic<std::uint64_t> phase_bytes_total{0};  // 0 when unknown (a pipe)
  std::atomic<std::uint64_t> phase_bytes_done{0};
  std::atomic<unsigned> pass{0};  // of merging, from 1
  std::atomic<unsigned> passes{0};
};

}  // namespace xxl
