#include "sort/classifier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/load.h"
#include "record/native_key.h"

namespace xxl {
namespace {

// Slots of the table for each splitter, so that moving one to an edge changes little, also where
// splitters lie closer than on average (floats); and a bound that keeps the table in the
// second-level cache.
constexpr std::size_t kSlotsPerSplitter = 16;
constexpr std::size_t kMaxSlots = std::size_t{1} << 15;
constexpr std::uint16_t kMixed = 0x8000;

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

std::vector<SplitterKey> pick_splitters(std::vector<SplitterKey> sample, std::size_t parts) {
  std::sort(sample.begin(), sample.end());
  std::vector<SplitterKey> splitters;
  for (std::size_t part = 1; part < parts; ++part) {
    const SplitterKey& key = sample[part * sample.size() / parts];
    if (splitters.empty() || splitters.back() < key) {
      splitters.push_back(key);
    } else if (splitters.back() == key) {
      SplitterKey next = successor(key);
      if (!next.empty()) splitters.push_back(std::move(next));
    }  // else the successor of this key is there already
  }
  return splitters;
}

Classifier::Table::Table(std::span<const SplitterKey> splitters) {
  if (splitters.empty()) return;
  base = splitters.front().front();
  top = splitters.back().front();
  const std::size_t slots =
      std::min(kMaxSlots, std::bit_ceil(kSlotsPerSplitter * splitters.size()));
  const int spare_bits =
      static_cast<int>(std::bit_width(top - base)) - static_cast<int>(std::bit_width(slots)) + 1;
  shift = static_cast<unsigned>(std::max(0, spare_bits));
}

void round_splitters(std::span<SplitterKey> splitters) {
  if (splitters.size() < 3) return;
  const Classifier::Table table(splitters);
  const std::uint64_t slot = std::uint64_t{1} << table.shift;
  std::uint64_t before = table.base;
  for (std::size_t i = 1; i + 1 < splitters.size(); ++i) {
    const std::uint64_t prefix = splitters[i].front();
    const std::uint64_t gap = std::min(prefix - before, splitters[i + 1].front() - prefix);
    before = prefix;
    if (gap / 2 < slot) continue;
    const std::uint64_t rounded = (prefix - table.base + slot / 2) & ~(slot - 1);
    splitters[i].assign(splitters[i].size(), 0);
    splitters[i].front() = table.base + rounded;
  }
  // Those inside of a slot, to edges of its own table.
  const auto slot_of = [&](std::size_t i) { return table.slot_of(splitters[i].front()); };
  for (std::size_t first = 0, last; first < splitters.size(); first = last) {
    for (last = first; last < splitters.size() && slot_of(last) == slot_of(first);) ++last;
    while (first < last && splitters[first].front() == table.start(slot_of(first))) ++first;
    round_splitters(splitters.subspan(first, last - first));
  }
}

void Classifier::set_splitters(std::vector<SplitterKey> splitters) {
  splitters_ = std::move(splitters);
  XXL_CHECK(splitters_.size() < kMixed);
  prefixes_.clear();
  for (const SplitterKey& splitter : splitters_) prefixes_.push_back(splitter.front());
  tables_.clear();
  slots_.clear();
  add_table(0, splitters_.size());
}

// Adds the table of the splitters [low, high) and those of its slots, and returns its place.
std::size_t Classifier::add_table(std::size_t low, std::size_t high) {
  const std::size_t place = tables_.size();
  if (place == kMixed) return 0;  // no room: all splitters are searched
  Table table{std::span<const SplitterKey>(splitters_).subspan(low, high - low)};
  table.low = low;
  table.high = high;
  table.first_slot = slots_.size();
  // A splitter whose first word is a slot's edge, but whose later words differ, lies inside.
  const auto edge_before = [this](std::size_t splitter, std::uint64_t start) {
    const SplitterKey& key = splitters_[splitter];
    return key.front() < start ||
           (key.front() == start &&
            std::all_of(key.begin() + 1, key.end(), [](std::uint64_t word) { return word == 0; }));
  };
  table.searched = low < high && table.base == table.top && !edge_before(high - 1, table.top);
  tables_.push_back(table);
  const std::size_t slots = table.slot_of(table.top) + 1;
  slots_.resize(table.first_slot + slots, static_cast<std::uint16_t>(place | kMixed));
  if (table.searched) return place;
  slots_[table.first_slot] = static_cast<std::uint16_t>(low);
  std::size_t first = low, last = low;  // splitters in a slot
  for (std::size_t slot = 1; slot < slots; ++slot) {
    while (first < high && edge_before(first, table.start(slot))) ++first;
    last = std::max(last, first);
    while (last < high && (slot + 1 == slots || prefixes_[last] < table.start(slot + 1))) ++last;
    const std::size_t content = first == last ? first : add_table(first, last) | kMixed;
    slots_[table.first_slot + slot] = static_cast<std::uint16_t>(content);
  }
  return place;
}

// The bucket of a key in a slot that is mixed.
std::size_t Classifier::descend(std::size_t slot, std::uint64_t prefix,
                                const std::byte* record) const {
  do {
    const std::size_t place = slot & ~std::size_t{kMixed};
    const Table& table = tables_[place];
    if (place == 0 || table.searched) return search(prefix, record, table.low, table.high);
    slot = slots_[table.first_slot + table.slot_of(prefix)];
  } while ((slot & kMixed) != 0);
  return slot;
}

// Compares the words after the first.
bool Classifier::above(std::size_t index, const std::byte* record) const {
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
  const auto begin = prefixes_.begin();
  low =
      static_cast<std::size_t>(std::lower_bound(begin + static_cast<std::ptrdiff_t>(low),
                                                begin + static_cast<std::ptrdiff_t>(high), prefix) -
                               begin);
  while (low < high && prefixes_[low] == prefix && !above(low, record)) ++low;
  return low;
}

template <class LoadPrefix>
void Classifier::classify_with(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts,
                               LoadPrefix load_prefix) const {
  const std::size_t record_bytes = layout_.record_bytes();
  const std::byte* record = segment.records;
  const std::uint16_t* slots = slots_.data();
  const Table table = tables_.front();
  for (std::size_t i = 0; i < segment.count; ++i, record += record_bytes) {
    const std::uint64_t prefix = load_prefix(record);
    std::size_t bucket = slots[table.slot_of(prefix)];
    if ((bucket & kMixed) != 0) [[unlikely]]
      bucket = descend(bucket, prefix, record);
    ids[i] = static_cast<std::uint16_t>(bucket);
    ++counts[bucket];
  }
}

void Classifier::classify(const Segment& segment, std::uint16_t* ids, std::uint32_t* counts) const {
  const auto flip = layout_.transform().flip;
  const bool is_float = layout_.transform().is_float;
  const bool wide = is_native64(layout_.kind());
  const bool narrow = is_native32(layout_.kind());
  const auto by_layout = [this](const std::byte* r) { return layout_.word(r, 0); };
  if (wide && !is_float) {
    classify_with(segment, ids, counts,
                  [flip](const std::byte* r) { return load<std::uint64_t>(r) ^ flip; });
  } else if (wide) {
    classify_with(segment, ids, counts, [flip](const std::byte* r) {
      const auto bits = load<std::int64_t>(r);
      const auto sign = static_cast<std::uint64_t>(bits >> 63) | (std::uint64_t{1} << 63);
      return (static_cast<std::uint64_t>(bits) ^ sign) ^ flip;
    });
  } else if (narrow && !is_float) {
    const auto flip32 = static_cast<std::uint32_t>(flip);
    classify_with(segment, ids, counts, [flip32](const std::byte* r) {
      return std::uint64_t{load<std::uint32_t>(r) ^ flip32} << 32;
    });
  } else if (narrow) {
    const auto flip32 = static_cast<std::uint32_t>(flip);
    classify_with(segment, ids, counts, [flip32](const std::byte* r) {
      const auto bits = load<std::int32_t>(r);
      const auto sign = static_cast<std::uint32_t>(bits >> 31) | (std::uint32_t{1} << 31);
      return std::uint64_t{(static_cast<std::uint32_t>(bits) ^ sign) ^ flip32} << 32;
    });
  } else {
    classify_with(segment, ids, counts, by_layout);
  }
}

}  // namespace xxl
