#include "job/fixed_sort/merge_choice.h"

#include <algorithm>

namespace xxl {
namespace {

// Part of a stretch in which nothing could be done: above this, the disks are the bottleneck.
constexpr double kMaxWaiting = 0.15;
// Part of the workers' time: below this, something else is.
constexpr double kMinBusy = 0.8;
// The accelerator must be faster by this factor: its rate is what links carry if nothing hinders.
constexpr double kClearlyFaster = 1.5;
// What a piece costs beside its transfer: starting copies and kernels, and waiting for them.
constexpr double kPieceSeconds = 100e-6;
// To take memory of the accelerator, and to pin that of the host.
constexpr double kHandOverSeconds = 0.3;
// A stretch is this part of the merge, and long enough to say something.
constexpr std::uint64_t kStretches = 20;
constexpr double kMinStretchSeconds = 0.1;

}  // namespace

bool accelerator_pays_in_merge(const MergeStretch& stretch, const MergeLink& link) {
  if (stretch.seconds <= 0 || stretch.bytes == 0 || link.rate <= 0 || link.piece_bytes == 0) {
    return false;
  }
  if (stretch.wait_seconds > kMaxWaiting * stretch.seconds) return false;
  if (stretch.busy_seconds < kMinBusy * stretch.workers * stretch.seconds) return false;
  const auto piece_bytes = static_cast<double>(link.piece_bytes);
  const double seconds_a_byte = 1 / link.rate + kPieceSeconds / piece_bytes;
  const double cpu_seconds_a_byte = stretch.seconds / static_cast<double>(stretch.bytes);
  if (cpu_seconds_a_byte < kClearlyFaster * seconds_a_byte) return false;
  const auto left = static_cast<double>(stretch.bytes_left);
  return left * (cpu_seconds_a_byte - seconds_a_byte) > kHandOverSeconds;
}

bool MergeStretches::ends(const Totals& now, MergeStretch& stretch) {
  const std::uint64_t bytes = now.bytes - begin_.bytes;
  const double seconds = now.seconds - begin_.seconds;
  if (bytes < std::max<std::uint64_t>(total_bytes_ / kStretches, 1)) return false;
  if (started_ && seconds < kMinStretchSeconds) return false;
  bytes_before_ += bytes;
  stretch = {.seconds = seconds,
             .wait_seconds = now.wait_seconds - begin_.wait_seconds,
             .busy_seconds = now.busy_seconds - begin_.busy_seconds,
             .workers = workers_,
             .bytes = bytes,
             .bytes_left = total_bytes_ - std::min(total_bytes_, bytes_before_)};
  begin_ = now;
  const bool counts = started_;
  started_ = true;
  return counts;
}

}  // namespace xxl
