#include "sort/classifier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"

namespace xxl {
namespace {

// Cells of the table for each splitter, so that few cells hold one; and a bound that keeps the
// table in the first-level cache.
constexpr std::size_t kCellsPerSplitter = 8;
constexpr std::size_t kMaxCells = std::size_t{1} << 14;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

SplitterKey splitter_key(const KeyLayout& layout, const std::byte* record) {
  SplitterKey key(std::min(layout.words(), kMaxSplitterWords));
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = layout.word(record, i);
  return key;
}

SplitterKey successor(const SplitterKey& key) {
  SplitterKey next = key;
  for (std::size_t i = next.size(); i-- > 0;) {
    if (++next[i] != 0) return next;
  }
  return {};
}

void Classifier::set_splitters(std::vector<SplitterKey> splitters) {
  splitters_ = std::move(splitters);
  XXL_CHECK(splitters_.size() < 0xffff);
  prefixes_.clear();
  for (const SplitterKey& splitter : splitters_) prefixes_.push_back(splitter.front());
  prefixes_.resize(splitters_.size() + 2, ~std::uint64_t{0});
  if (splitters_.empty()) {
    base_ = top_ = ~std::uint64_t{0};
    shift_ = 63;
    first_.assign(4, 0);
    return;
  }
  base_ = prefixes_.front();
  top_ = splitters_.back().front();
  const std::size_t cells =
      std::min(kMaxCells, std::bit_ceil(kCellsPerSplitter * splitters_.size()));
  const int range_bits = static_cast<int>(std::bit_width(top_ - base_));
  shift_ =
      static_cast<unsigned>(std::max(0, range_bits - static_cast<int>(std::bit_width(cells)) + 1));
  first_.clear();
  first_.push_back(0);
  std::size_t splitter = 0;
  for (std::size_t cell = 0; cell <= (top_ - base_) >> shift_; ++cell) {
    const std::uint64_t start = base_ + (static_cast<std::uint64_t>(cell) << shift_);
    while (splitter < splitters_.size() && prefixes_[splitter] < start) ++splitter;
    first_.push_back(static_cast<std::uint16_t>(splitter));
  }
  first_.push_back(static_cast<std::uint16_t>(splitters_.size()));
}

bool Classifier::above(std::size_t index, std::uint64_t prefix, const std::byte* record) const {
  if (prefixes_[index] != prefix) return prefixes_[index] > prefix;
  const SplitterKey& splitter = splitters_[index];
  for (std::size_t i = 1; i < splitter.size(); ++i) {
    const std::uint64_t word = layout_.word(record, i);
    if (splitter[i] != word) return splitter[i] > word;
  }
  return false;
}

// First splitter in [low, high] above the key; `high` when none below it is.
std::size_t Classifier::search(std::uint64_t prefix, const std::byte* record, std::size_t low,
                               std::size_t high) const {
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (above(middle, prefix, record)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::size_t Classifier::bucket_of(const std::byte* record) const {
  return search(layout_.word(record, 0), record, 0, splitters_.size());
}

// Most cells hold one splitter or none: the first one is passed without a branch.
template <bool kExact, class LoadPrefix>
void Classifier::classify_with(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts,
                               LoadPrefix load_prefix) const {
  const std::size_t record_bytes = layout_.record_bytes();
  const std::byte* record = segment.records;
  const std::uint64_t* prefixes = prefixes_.data();
  const std::uint16_t* first = first_.data();
  const std::size_t splitters = splitters_.size();
  for (std::size_t i = 0; i < segment.count; ++i, record += record_bytes) {
    const std::uint64_t prefix = load_prefix(record);
    const std::size_t cell = cell_of(std::min(prefix, top_));
    std::size_t bucket = first[cell];
    if constexpr (kExact) {
      bucket += prefixes[bucket] <= prefix ? 1 : 0;
      if (prefixes[bucket] <= prefix) [[unlikely]] {
        const std::uint64_t* end = prefixes + std::max<std::size_t>(bucket, first[cell + 1]);
        bucket =
            static_cast<std::size_t>(std::upper_bound(prefixes + bucket, end, prefix) - prefixes);
      }
      bucket =
          std::min(bucket, splitters);  // only the largest key passes the words behind the last
    } else {
      bucket += prefixes[bucket] < prefix ? 1 : 0;
      if (prefixes[bucket] <= prefix) [[unlikely]] {
        bucket = search(prefix, record, bucket, std::max<std::size_t>(bucket, first[cell + 1]));
      }
    }
    ids[i] = static_cast<std::uint16_t>(bucket);
    ++counts[bucket];
  }
}

void Classifier::classify(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts) const {
  const auto flip = layout_.transform().flip;
  const bool is_float = layout_.transform().is_float;
  const bool wide = layout_.kind() == RecordKind::key64 || layout_.kind() == RecordKind::pair64;
  const auto by_layout = [this](const std::byte* r) { return layout_.word(r, 0); };
  if (wide && !is_float) {
    classify_with<true>(segment, ids, counts,
                        [flip](const std::byte* r) { return load<std::uint64_t>(r) ^ flip; });
  } else if (wide) {
    classify_with<true>(segment, ids, counts, [flip](const std::byte* r) {
      const auto bits = load<std::int64_t>(r);
      const auto sign = static_cast<std::uint64_t>(bits >> 63) | (std::uint64_t{1} << 63);
      return (static_cast<std::uint64_t>(bits) ^ sign) ^ flip;
    });
  } else if (layout_.words() == 1) {
    classify_with<true>(segment, ids, counts, by_layout);
  } else {
    classify_with<false>(segment, ids, counts, by_layout);
  }
}

}  // namespace xxl
