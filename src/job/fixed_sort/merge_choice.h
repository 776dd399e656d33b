// Whether the rest of a merge goes to an accelerator.
//
// A merge starts on the CPU, and is measured in stretches. Where it waits for the processors, not
// for the disks, and an accelerator's links carry more than the processors merge, the accelerator
// takes over (RunMerger::hand_over). With disks slower than either, nothing would be gained.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xxl {

// What a stretch of a merge took on the CPU, and what is left to merge.
struct MergeStretch {
  double seconds = 0;
  double wait_seconds = 0;  // of it, waiting for disks only
  double busy_seconds = 0;  // of workers, summed
  unsigned workers = 1;
  std::uint64_t bytes = 0;  // merged in it
  std::uint64_t bytes_left = 0;
};

// What an accelerator offers.
struct MergeLink {
  double rate = 0;              // bytes a second, as Accelerator::merge_rate()
  std::size_t piece_bytes = 0;  // of a piece
};

// True if handing over saves more time than it takes.
bool accelerator_pays_in_merge(const MergeStretch& stretch, const MergeLink& link);

// Divides a merge into stretches. One thread.
class MergeStretches {
 public:
  // So far: of a merge that goes on, or sums of several merges.
  struct Totals {
    double seconds = 0;
    double wait_seconds = 0;
    double busy_seconds = 0;
    std::uint64_t bytes = 0;
  };
  // `begin`: when the merge of `total_bytes` begins.
  MergeStretches(const Totals& begin, std::uint64_t total_bytes, unsigned workers)
      : begin_(begin), total_bytes_(total_bytes), workers_(workers) {}

  // True if a stretch ends here; then it is in `stretch`, and the next one begins. The start of the
  // merge belongs to none: it fills the memory, at any speed of the disks.
  bool ends(const Totals& now, MergeStretch& stretch);

 private:
  Totals begin_;
  std::uint64_t total_bytes_;
  unsigned workers_;
  std::uint64_t bytes_before_ = 0;  // of stretches that have ended
  bool started_ = false;
};

}  // namespace xxl
