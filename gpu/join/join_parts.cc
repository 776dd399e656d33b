#include "gpu/join/join_parts.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/partition_index.h"
#include "gpu/sort/chunk_geometry.h"

namespace xxl::gpu {
namespace {

// The first record of [low, high) whose key is not less than `key`, or with `or_equal` greater.
std::size_t bound(const Relation& side, std::size_t low, std::size_t high, std::uint64_t key,
                  bool or_equal) {
  return partition_index(low, high, [&](std::size_t number) {
    const std::uint64_t found = side.key(number);
    return found < key || (or_equal && found == key);
  });
}

}  // namespace

RecordShape joinable_shape(const KeyLayout& layout) {
  if (layout.kind() == RecordKind::generic) {
    throw Error(ErrorCode::usage, "arrays are joined only by a number at the start of each record");
  }
  return ChunkFormat::of(layout).shape;
}

void check_same_keys(const RecordShape& r, const RecordShape& s) {
  if (r.item.key_bytes != s.item.key_bytes || r.transform.flip != s.transform.flip ||
      r.transform.is_float != s.transform.is_float) {
    throw Error(ErrorCode::usage, "the keys of joined arrays must be of one type and order");
  }
}

std::uint64_t Relation::key(std::size_t i) const {
  const std::byte* const record = records + i * shape.record_bytes;
  std::uint64_t key = 0;
  if (shape.item.key_bytes == 4) {
    std::uint32_t word;
    std::memcpy(&word, record, sizeof word);
    key = word;
  } else {
    std::memcpy(&key, record, sizeof key);
  }
  if (shape.transform.is_float) key = KeyView::order_float(key, shape.item.key_bytes);
  return key ^ shape.transform.flip;
}

JoinCutter::JoinCutter(const Relation& r, const Relation& s, std::size_t distance)
    : r_(r), s_(s), distance_(distance) {
  XXL_CHECK(distance > 0);
}

std::optional<JoinPart> JoinCutter::next() {
  const CutPoint end{r_.count, s_.count};
  if (at_ == end) return std::nullopt;
  const CutPoint begin = at_;
  while (at_ == begin) {
    steps_ = std::min(steps_ + distance_, end.r + end.s);
    at_ = cut(steps_);
  }
  JoinPart part{begin.r, at_.r, begin.s, at_.s};
  if (part.r_count() + part.s_count() > 2 * distance_) {
    // The first group drew the cuts away.
    at_ = end_of_group(begin);
    part = {begin.r, at_.r, begin.s, at_.s, true};
  }
  return part;
}

JoinCutter::CutPoint JoinCutter::cut(std::size_t steps) const {
  if (steps == r_.count + s_.count) return {r_.count, s_.count};
  // Of the first `steps` records, those of R have smaller keys than what then remains of S; ties do
  // not matter, as the whole group is left out.
  std::size_t low = steps - std::min(steps, s_.count), high = std::min(steps, r_.count);
  while (low < high) {
    const std::size_t r = low + (high - low) / 2;
    if (r_.key(r) < s_.key(steps - r - 1)) {
      low = r + 1;
    } else {
      high = r;
    }
  }
  const std::size_t s = steps - low;
  std::uint64_t key = low < r_.count ? r_.key(low) : s_.key(s);
  if (s < s_.count) key = std::min(key, s_.key(s));
  return {bound(r_, at_.r, low, key, false), bound(s_, at_.s, s, key, false)};
}

JoinCutter::CutPoint JoinCutter::end_of_group(CutPoint place) const {
  std::uint64_t key = place.r < r_.count ? r_.key(place.r) : s_.key(place.s);
  if (place.s < s_.count) key = std::min(key, s_.key(place.s));
  return {bound(r_, place.r, r_.count, key, true), bound(s_, place.s, s_.count, key, true)};
}

}  // namespace xxl::gpu
