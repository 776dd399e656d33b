#include "job/small_sort.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/units.h"
#include "record/comparator_fault.h"
#include "sort/make_piece_sorter.h"
#include "sort/segment.h"

namespace xxl {
namespace {

constexpr std::size_t kFirstBytes = 4 * kKiB;  // of memory, doubled when it is full
constexpr std::size_t kScratchAlignment = 64;  // of a piece sorter

}  // namespace

SmallSort::SmallSort(const KeyLayout& layout, const Rules& rules, const JobOptions& job,
                     SortPlan plan, std::size_t most_bytes)
    : layout_(layout),
      rules_(rules),
      most_bytes_(round_down(most_bytes, layout.record_bytes())),
      meter_(report_, job) {
  report_.plan = std::move(plan);
  report_.plan.backend = "inline";
  report_.plan.device = "cpu";
  report_.plan.threads = 1;
}

std::span<std::byte> SmallSort::room() {
  bytes_ = memory_.span().size();
  if (bytes_ == most_bytes_) return {};
  const std::size_t record = layout_.record_bytes();
  const std::size_t first = round_down(std::max(kFirstBytes, record), record);
  AlignedBytes larger(std::min(most_bytes_, std::max(2 * bytes_, first)), kSectorBytes);
  std::copy_n(memory_.span().data(), bytes_, larger.span().data());
  memory_ = std::move(larger);
  return memory_.span().subspan(bytes_);
}

std::span<const std::byte> SmallSort::sorted() {
  if (!output_) sort();
  return *output_;
}

void SmallSort::sort() {
  meter_.begin(Phase::forming_runs, bytes_);
  const std::size_t record = layout_.record_bytes(), count = bytes_ / record;
  MultisetHash input, left_out, output;
  add_records(input, memory_.span().data(), count, record);
  std::size_t kept = 0;
  if (count > 0) {
    const AlignedBytes scratch(piece_scratch_bytes(layout_, count), kScratchAlignment);
    AlignedBytes sorted(bytes_, kSectorBytes);
    const auto sorter = make_piece_sorter(layout_, rules_.unique, count, scratch.span());
    const Segment all{memory_.span().data(), count};
    sorter->sort({&all, 1});
    kept = sorter->size();
    sorter->write(0, kept, sorted.span().data());
    left_out = sorter->removed();
    memory_ = std::move(sorted);
  }
  const std::byte* const records = memory_.span().data();
  const std::size_t first = std::min<std::uint64_t>(rules_.skip, kept);
  const std::size_t last =
      first + std::min<std::uint64_t>(kept - first, rules_.limit.value_or(kept));
  add_records(left_out, records, first, record);
  add_records(output, records + first * record, last - first, record);
  add_records(left_out, records + last * record, kept - last, record);
  report_.records_in = input.records;
  report_.records_out = output.records;
  report_.checksum = output.sum;
  left_out += output;
  check_permutation(input, left_out, std::nullopt,
                    layout_.labels() != nullptr ? kCheckComparator : kCheckMachine);
  output_ = memory_.span().subspan(first * record, (last - first) * record);
  meter_.end("sort in memory");
}

SortReport SmallSort::report() const {
  SortReport report = report_;
  report.peak_memory_bytes = peak_memory_bytes();
  for (const PhaseReport& phase : report.phases) report.seconds += phase.seconds;
  return report;
}

}  // namespace xxl
