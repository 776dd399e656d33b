#include "gpu/array/item_merge.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "gpu/device/key_view.h"

namespace xxl::gpu {
namespace {

// Wherever they lie: records may be aligned to bytes.
template <class Word>
struct [[gnu::packed, gnu::may_alias]] Number {
  Word key;
};
template <class Word>
struct [[gnu::packed, gnu::may_alias]] Pair {
  Word key;
  Word value;
};

template <class Item, bool kFloat>
class Merge {
 public:
  using Word = decltype(Item::key);

  explicit Merge(const KeyTransform& transform) : flip_(static_cast<Word>(transform.flip)) {}

  // Of equal keys those of `a` first.
  void two(const Segment& left, const Segment& right, std::byte* to) const {
    const auto* a = reinterpret_cast<const Item*>(left.records);
    const auto* b = reinterpret_cast<const Item*>(right.records);
    const Item *a_end = a + left.count, *b_end = b + right.count;
    auto* out = reinterpret_cast<Item*>(to);
    Item* out_end = out + left.count + right.count;
    for (;;) {
      // So often either end can be taken from either side.
      const auto steps = std::min(a_end - a, b_end - b) / 2;
      if (steps == 0) break;
      for (auto step = steps; step > 0; --step) {
        const bool from_b = key(*b) < key(*a);
        *out++ = *(from_b ? b : a);
        b += from_b;
        a += !from_b;
        const bool from_a = key(b_end[-1]) < key(a_end[-1]);
        *--out_end = *((from_a ? a_end : b_end) - 1);
        a_end -= from_a;
        b_end -= !from_a;
      }
    }
    while (a < a_end && b < b_end) {
      const bool from_b = key(*b) < key(*a);
      *out++ = *(from_b ? b : a);
      b += from_b;
      a += !from_b;
    }
    std::memcpy(out, a, static_cast<std::size_t>(a_end - a) * sizeof(Item));
    out += a_end - a;
    std::memcpy(out, b, static_cast<std::size_t>(b_end - b) * sizeof(Item));
  }

 private:
  // An unsigned number of the same order.
  Word key(const Item& item) const {
    if constexpr (kFloat) {
      return static_cast<Word>(KeyView::order_float(item.key, sizeof(Word))) ^ flip_;
    } else {
      return item.key ^ flip_;
    }
  }

  Word flip_;
};

template <class Item>
void merge_two(const KeyTransform& transform, const Segment& a, const Segment& b, std::byte* to) {
  if (transform.is_float) {
    Merge<Item, true>(transform).two(a, b, to);
  } else {
    Merge<Item, false>(transform).two(a, b, to);
  }
}

void merge_two(const KeyLayout& layout, const Segment& a, const Segment& b, std::byte* to) {
  const KeyTransform transform = layout.transform();
  switch (layout.kind()) {
    case RecordKind::key32:
      return merge_two<Number<std::uint32_t>>(transform, a, b, to);
    case RecordKind::key64:
      return merge_two<Number<std::uint64_t>>(transform, a, b, to);
    case RecordKind::pair32:
      return merge_two<Pair<std::uint32_t>>(transform, a, b, to);
    case RecordKind::pair64:
      return merge_two<Pair<std::uint64_t>>(transform, a, b, to);
    case RecordKind::generic:
      break;
  }
  check_failed("records are items", __FILE__, __LINE__);
}

}  // namespace

ItemMerge::ItemMerge(const KeyLayout& layout, std::span<std::byte> scratch)
    : layout_(layout), scratch_(scratch) {
  XXL_CHECK(layout.kind() != RecordKind::generic);
}

void ItemMerge::merge(std::span<const Segment> segments, std::byte* to) const {
  XXL_CHECK(segments.size() >= 2 && segments.size() <= kMostSegments);
  if (segments.size() == 2) return merge_two(layout_, segments[0], segments[1], to);
  const Segment front{scratch_.data(), segments[0].count + segments[1].count};
  merge_two(layout_, segments[0], segments[1], scratch_.data());
  if (segments.size() == 3) return merge_two(layout_, front, segments[2], to);
  std::byte* const behind = scratch_.data() + front.count * layout_.record_bytes();
  merge_two(layout_, segments[2], segments[3], behind);
  merge_two(layout_, front, {behind, segments[2].count + segments[3].count}, to);
}

}  // namespace xxl::gpu
