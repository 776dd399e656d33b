#include "merge/general_cells.h"

#include <algorithm>

namespace xxl {
namespace {

// A key gets a cell of its own if it would fill this many.
constexpr std::uint64_t kFrequentCells = 2;

}  // namespace

GeneralCells::GeneralCells(std::vector<CellSample> samples, std::uint64_t cell_bytes,
                           const KeyRange& range)
    : is_cut_below_(!range.lower.empty()), is_cut_above_(range.upper.has_value()) {
  std::erase_if(samples, [&](const CellSample& sample) {
    return sample.key < range.lower || (range.upper && sample.key >= *range.upper);
  });
  std::sort(samples.begin(), samples.end(),
            [](const CellSample& a, const CellSample& b) { return a.key < b.key; });
  std::uint64_t filled = 0;  // since the last boundary
  const auto add = [&](std::string boundary) {
    if (boundary.empty() || (!boundaries_.empty() && boundaries_.back() >= boundary)) return;
    boundaries_.push_back(std::move(boundary));
    filled = 0;
  };
  add(range.lower);
  for (std::size_t i = 0, end; i < samples.size(); i = end) {
    std::uint64_t bytes = 0;
    bool whole_key = false;
    for (end = i; end < samples.size() && samples[end].key == samples[i].key; ++end) {
      bytes += samples[end].bytes;
      whole_key |= samples[end].whole_key;
    }
    const bool frequent = bytes >= kFrequentCells * cell_bytes;
    if (frequent || filled + bytes / 2 >= cell_bytes) add(std::string(samples[i].key));
    filled += bytes;
    if (frequent && whole_key && samples[i].key.size() < kMaxTriggerBytes) {
      add(std::string(samples[i].key) + '\0');
    }
  }
  if (range.upper) add(*range.upper);
}

std::size_t GeneralCells::common_prefix(std::size_t cell) const {
  if (cell == 0 || !has_upper(cell)) return 0;
  const std::string_view a = lower(cell), b = upper(cell);
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t common = 0;
  while (common < most && a[common] == b[common]) ++common;
  return common;
}

std::size_t GeneralCells::cell_of(std::string_view key) const {
  return static_cast<std::size_t>(
      std::upper_bound(boundaries_.begin(), boundaries_.end(), key,
                       [](std::string_view k, const std::string& b) { return k < b; }) -
      boundaries_.begin());
}

std::size_t GeneralCells::cell_before(std::string_view key) const {
  return static_cast<std::size_t>(
      std::lower_bound(boundaries_.begin(), boundaries_.end(), key,
                       [](const std::string& b, std::string_view k) { return b < k; }) -
      boundaries_.begin());
}

std::vector<CellRange> cell_ranges(const GeneralCells& cells, const GeneralRun& run) {
  std::vector<CellRange> ranges(run.blocks.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].first = static_cast<std::uint32_t>(cells.cell_of(run.trigger(i)));
    std::size_t last;
    if (i + 1 == ranges.size()) {
      last = cells.cell_of(run.last_key);
    } else if (run.blocks[i + 1].separates) {
      last = cells.cell_before(run.trigger(i + 1));
    } else {
      last = cells.cell_of(run.trigger(i + 1));
    }
    ranges[i].last = std::max(ranges[i].first, static_cast<std::uint32_t>(last));
  }
  return ranges;
}

}  // namespace xxl
