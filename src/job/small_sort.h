// The sort of few records of a fixed size: collected in memory that grows with them, then sorted as
// one piece, without threads, files or scratch space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/aligned_bytes.h"
#include "job/job.h"
#include "job/phase_meter.h"
#include "record/key_layout.h"
#include "xxl/sort.h"

namespace xxl {

class SmallSort {
 public:
  struct Rules {
    bool unique = false;  // only the first record of each key
    std::uint64_t skip = 0;
    std::optional<std::uint64_t> limit = {};
  };
  // Of at most `most_bytes`. `layout` must outlive it. `plan`: for the report.
  SmallSort(const KeyLayout& layout, const Rules& rules, const JobOptions& job, SortPlan plan,
            std::size_t most_bytes);

  // Memory for the next records. The memory before is full. Empty: there are too many for it.
  std::span<std::byte> room();
  // All records, if the last room() is full.
  std::span<const std::byte> collected() const { return memory_.span(); }
  // No more records: the last room() has `bytes`.
  void end(std::size_t bytes) { bytes_ += bytes; }

  // The output. The first call sorts. Throws Error{corrupt} if records were lost.
  std::span<const std::byte> sorted();
  // After sorted().
  SortReport report() const;

 private:
  void sort();

  const KeyLayout& layout_;
  const Rules rules_;
  const std::size_t most_bytes_;  // of whole records
  AlignedBytes memory_;           // the records, and once they are sorted, those
  std::size_t bytes_ = 0;         // of whole records, before the last room() until the end
  std::optional<std::span<const std::byte>> output_ = {};  // of memory_
  SortReport report_;
  PhaseMeter meter_;
};

}  // namespace xxl
