#include "job/general_sort/general_destination.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace xxl {

void GeneralDestination::open(bool is_known, std::uint64_t bytes, bool follows_scratch) {
  if (shared_output() != nullptr) return;
  check_parts(job_, is_known);
  output_ = std::make_unique<Output>(job_, bytes, follows_scratch);
}

GeneralOutput& GeneralDestination::begin(std::uint64_t bytes, PartKey key, std::size_t record_bytes,
                                         GeneralMemory& memory, io::IoService& io) {
  const std::size_t block_bytes = memory.geometry().output_block_bytes;
  text_.reset();  // uses the sink
  tickets_ = {};
  if (SharedJob* const shared = shared_output()) {
    parts_ = &shared->parts();
    sink_ = shared->make_sink(block_bytes, io);
  } else {
    parts_ = output_->cut_parts(bytes, std::move(key), record_bytes);
    sink_ = output_->make_sink(block_bytes, memory.threads(), io, monitor_);
  }
  text_ = std::make_unique<GeneralOutput>(*sink_, memory.output_buffers(), block_bytes, monitor_,
                                          parts_);
  return *text_;
}

// On a disk, one file after the other keeps it busy.
std::size_t GeneralDestination::streams(std::uint64_t bytes, std::size_t runs,
                                        std::uint64_t cell_bytes, std::size_t threads) const {
  constexpr std::uint64_t kLeastCellsOfPart = 8;    // cutting takes about as long as sorting one
  constexpr std::size_t kMostCutBytes = 16 * kMiB;  // tables of where runs are cut
  if (output_ == nullptr || !output_->is_parts_in_memory() || parts_->have_key()) return 1;
  const std::uint64_t part_bytes = job_.parts != 0 ? bytes / job_.parts : job_.part_bytes;
  if (part_bytes < kLeastCellsOfPart * cell_bytes ||
      bytes / part_bytes * runs * sizeof(std::size_t) > kMostCutBytes) {
    return 1;
  }
  // Each worker may keep two blocks, and each stream one at both of its ends.
  const std::size_t blocks = text_->buffers(), kept = 2 * threads + 4;
  const std::size_t most = std::min<std::size_t>(threads, (blocks - std::min(blocks, kept)) / 2);
  return std::clamp<std::size_t>(bytes / part_bytes, 1, std::max<std::size_t>(most, 1));
}

std::vector<MultisetHash> GeneralDestination::sums(std::span<const MultisetHash> counted) const {
  if (shared_ != nullptr) return shared_->sums(counted);
  return {counted.begin(), counted.end()};
}

bool GeneralDestination::publish(io::IoService& io, PhaseMeter& meter,
                                 io::ReadBack::Reader reader) {
  if (SharedJob* const shared = shared_output()) {
    shared->publish();
    meter.end("finish");
    return false;
  }
  output_->publish(text_->bytes(), io, meter, WaitTimes(), std::move(reader));
  return output_->in_place();
}

}  // namespace xxl
