#include "merge/merge_region.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "xxl/comparator.h"

namespace xxl {

void MergeRegion::extend(std::vector<std::uint64_t> ends) {
  XXL_CHECK(records_ == 0);
  ends_ = std::move(ends);
  for (std::size_t run = 0; run < runs_.size(); ++run) records_ += ends_[run] - positions_[run];
}

void MergeRegion::append(const std::vector<Segment>& segments) {
  for (const Segment& segment : segments) records_ += segment.count;
  appended_.insert(appended_.end(), segments.begin(), segments.end());
}

// Samples the region so that the pieces between chosen samples hold about `piece_records`, and
// never more than twice that: a piece of q samples has at most (q + runs) * stride records.
void MergeRegion::split(std::uint64_t piece_records) {
  if (records_ <= piece_records) return;
  std::size_t active = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    active += ends_[run] > positions_[run] ? 1 : 0;
  }
  const std::uint64_t stride = std::max<std::uint64_t>(1, piece_records / active);
  std::vector<Sample> samples;
  samples.reserve(records_ / stride);
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    for (std::uint64_t index = positions_[run] + stride; index < ends_[run]; index += stride) {
      const std::byte* sample = runs_[run].record(index);
      samples.push_back({layout_.word(sample, 0), sample, run, index});
    }
  }
  std::vector<Sample> spare(samples.size());
  const auto less = [this](const Sample& a, const Sample& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = !layout_.has_key_of_one_word() ? layout_.compare(a.record, b.record) : 0;
    if (order != 0) return order < 0;
    return a.run != b.run ? a.run < b.run : a.index < b.index;
  };
  // (std::sort would leave the array, if a comparator contradicts itself.)
  detail::merge_sort(samples.data(), samples.size(), spare.data(), false, less);
  const std::size_t every = std::max<std::size_t>(1, piece_records / stride);
  for (std::size_t i = every; i < samples.size(); i += every) splitters_.push_back(samples[i]);
  std::reverse(splitters_.begin(), splitters_.end());
}

// Records of `run` that come before `splitter`, as the end of a piece.
std::uint64_t MergeRegion::end_before(const Sample& splitter, std::uint32_t run) const {
  if (run == splitter.run) return splitter.index;
  const bool ties_before = run < splitter.run;
  const bool one_word = layout_.has_key_of_one_word();
  const auto before = [&](const std::byte* record) {
    const std::uint64_t prefix = layout_.word(record, 0);
    if (prefix != splitter.prefix) return prefix < splitter.prefix;
    const int order = one_word ? 0 : layout_.compare(record, splitter.record);
    return order != 0 ? order < 0 : ties_before;
  };
  return runs_[run].partition_point(positions_[run], ends_[run], before);
}

MergeRegion::RegionPiece MergeRegion::take_piece() {
  RegionPiece piece;
  const bool is_last = splitters_.empty();
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    // (The end of a piece lies before its begin only if a comparator contradicts itself.)
    const std::uint64_t end =
        is_last ? ends_[run] : std::max(end_before(splitters_.back(), run), positions_[run]);
    runs_[run].append_segments(positions_[run], end, piece.segments);
    positions_[run] = end;
  }
  piece.ends = positions_;
  if (is_last) {
    piece.segments.insert(piece.segments.end(), appended_.begin(), appended_.end());
    appended_.clear();
  } else {
    splitters_.pop_back();
  }
  for (const Segment& segment : piece.segments) piece.records += segment.count;
  records_ -= piece.records;
  return piece;
}

}  // namespace xxl
