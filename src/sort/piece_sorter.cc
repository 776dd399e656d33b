#include "sort/piece_sorter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "sort/radix_sort.h"

namespace xxl {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Between the bits of a native number and an unsigned one of the same order.
template <class Key, bool kFloat>
struct Order {
  static constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  Key flip;

  Key encode(Key bits) const {
    if constexpr (kFloat) bits ^= (bits & kSign) != 0 ? ~Key{0} : kSign;
    return bits ^ flip;
  }
  Key decode(Key key) const {
    key ^= flip;
    if constexpr (kFloat) key ^= (key & kSign) != 0 ? kSign : ~Key{0};
    return key;
  }
};

// Records that are nothing but a numeric key.
template <class Key, bool kFloat>
class KeySorter final : public PieceSorter {
 public:
  KeySorter(const KeyLayout& layout, bool unique, std::size_t capacity, std::byte* scratch)
      : order_{static_cast<Key>(layout.transform().flip)},
        unique_(unique),
        capacity_(capacity),
        keys_(reinterpret_cast<Key*>(scratch)) {}

  static std::size_t scratch_bytes(std::size_t capacity) { return 2 * capacity * sizeof(Key); }

  void sort(std::span<const Segment> segments) override {
    removed_ = {};
    count_ = 0;
    for (const Segment& segment : segments) {
      XXL_CHECK(count_ + segment.count <= capacity_);
      Key* out = keys_ + count_;
      for (std::size_t i = 0; i < segment.count; ++i) {
        out[i] = order_.encode(load<Key>(segment.records + i * sizeof(Key)));
      }
      count_ += segment.count;
    }
    radix_sort(std::span<Key>(keys_, count_), std::span<Key>(keys_ + capacity_, count_),
               [](Key key) { return key; });
    if (unique_) remove_duplicates();
  }

  std::size_t size() const override { return count_; }

  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    for (std::size_t i = 0; i < count; ++i) {
      store(out + i * sizeof(Key), order_.decode(keys_[first + i]));
    }
  }

 private:
  void remove_duplicates() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (kept > 0 && keys_[kept - 1] == keys_[i]) {
        const Key bits = order_.decode(keys_[i]);
        add_records(removed_, reinterpret_cast<const std::byte*>(&bits), 1, sizeof bits);
      } else {
        keys_[kept++] = keys_[i];
      }
    }
    count_ = kept;
  }

  Order<Key, kFloat> order_;
  bool unique_;
  std::size_t capacity_;
  Key* keys_;
  std::size_t count_ = 0;
};

// Records of a numeric key and a value of the same size.
template <class Key, bool kFloat>
class PairSorter final : public PieceSorter {
 public:
  struct Item {
    Key key;
    Key value;
  };

  PairSorter(const KeyLayout& layout, bool unique, std::size_t capacity, std::byte* scratch)
      : order_{static_cast<Key>(layout.transform().flip)},
        unique_(unique),
        capacity_(capacity),
        items_(reinterpret_cast<Item*>(scratch)) {}

  static std::size_t scratch_bytes(std::size_t capacity) { return 2 * capacity * sizeof(Item); }

  void sort(std::span<const Segment> segments) override {
    removed_ = {};
    count_ = 0;
    for (const Segment& segment : segments) {
      XXL_CHECK(count_ + segment.count <= capacity_);
      Item* out = items_ + count_;
      for (std::size_t i = 0; i < segment.count; ++i) {
        const std::byte* record = segment.records + i * sizeof(Item);
        out[i] = {order_.encode(load<Key>(record)), load<Key>(record + sizeof(Key))};
      }
      count_ += segment.count;
    }
    radix_sort(std::span<Item>(items_, count_), std::span<Item>(items_ + capacity_, count_),
               [](const Item& item) { return item.key; });
    if (unique_) remove_duplicates();
  }

  std::size_t size() const override { return count_; }

  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    for (std::size_t i = 0; i < count; ++i) {
      const Item& item = items_[first + i];
      store(out + i * sizeof(Item), order_.decode(item.key));
      store(out + i * sizeof(Item) + sizeof(Key), item.value);
    }
  }

 private:
  void remove_duplicates() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (kept > 0 && items_[kept - 1].key == items_[i].key) {
        const Item record{order_.decode(items_[i].key), items_[i].value};
        add_records(removed_, reinterpret_cast<const std::byte*>(&record), 1, sizeof record);
      } else {
        items_[kept++] = items_[i];
      }
    }
    count_ = kept;
  }

  Order<Key, kFloat> order_;
  bool unique_;
  std::size_t capacity_;
  Item* items_;
  std::size_t count_ = 0;
};

// Any record: (prefix, pointer) pairs are sorted; equal prefixes are refined by the words of the
// key that follow; the records themselves move once, in write().
class PointerSorter final : public PieceSorter {
 public:
  struct Item {
    std::uint64_t prefix;
    const std::byte* record;
  };

  PointerSorter(const KeyLayout& layout, bool unique, std::size_t capacity, std::byte* scratch)
      : layout_(layout),
        unique_(unique),
        capacity_(capacity),
        items_(reinterpret_cast<Item*>(scratch)) {}

  static std::size_t scratch_bytes(std::size_t capacity) { return 2 * capacity * sizeof(Item); }

  void sort(std::span<const Segment> segments) override {
    removed_ = {};
    count_ = 0;
    const std::size_t record_bytes = layout_.record_bytes();
    for (const Segment& segment : segments) {
      XXL_CHECK(count_ + segment.count <= capacity_);
      const std::byte* record = segment.records;
      for (std::size_t i = 0; i < segment.count; ++i, record += record_bytes) {
        items_[count_ + i] = {layout_.word(record, 0), record};
      }
      count_ += segment.count;
    }
    const std::span<Item> items(items_, count_);
    radix_sort(items, scratch_for(items), prefix_of);
    if (layout_.words() > 1) refine(items, 1);
    if (unique_) remove_duplicates();
  }

  std::size_t size() const override { return count_; }

  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    constexpr std::size_t kAhead = 12;
    const std::size_t record_bytes = layout_.record_bytes();
    const Item* items = items_ + first;
    for (std::size_t i = 0; i < count; ++i, out += record_bytes) {
      if (i + kAhead < count) {
        const std::byte* later = items[i + kAhead].record;
        __builtin_prefetch(later);
        if (record_bytes > 64) __builtin_prefetch(later + 64);
      }
      std::memcpy(out, items[i].record, record_bytes);
    }
  }

 private:
  static constexpr std::size_t kSmallGroup = 24;
  static constexpr auto prefix_of = [](const Item& item) { return item.prefix; };

  std::span<Item> scratch_for(std::span<Item> items) const {
    return {items_ + capacity_ + (items.data() - items_), items.size()};
  }

  // Orders every group of equal prefixes in `items` by key words `word` and following, stably.
  void refine(std::span<Item> items, std::size_t word) {
    for (std::size_t first = 0; first + 1 < items.size();) {
      const std::uint64_t prefix = items[first].prefix;
      std::size_t last = first + 1;
      while (last < items.size() && items[last].prefix == prefix) ++last;
      if (last - first > 1) refine_group(items.subspan(first, last - first), word);
      first = last;
    }
  }

  void refine_group(std::span<Item> group, std::size_t word) {
    if (group.size() <= kSmallGroup) {
      insertion_sort(group, word);
      return;
    }
    const std::uint64_t prefix = group.front().prefix;
    // Words that are equal in all of the group are passed over here: each level of recursion has
    // smaller groups, so that its depth is bounded however long the key is.
    bool differ = false;
    for (;;) {
      for (Item& item : group) {
        item.prefix = layout_.word(item.record, word);
        differ |= item.prefix != group.front().prefix;
      }
      if (differ || word + 1 == layout_.words()) break;
      ++word;
    }
    if (differ) radix_sort(group, scratch_for(group), prefix_of);
    if (word + 1 < layout_.words()) refine(group, word + 1);
    for (Item& item : group) item.prefix = prefix;
  }

  void insertion_sort(std::span<Item> group, std::size_t word) const {
    for (std::size_t i = 1; i < group.size(); ++i) {
      const Item item = group[i];
      std::size_t place = i;
      while (place > 0 && less(item, group[place - 1], word)) {
        group[place] = group[place - 1];
        --place;
      }
      group[place] = item;
    }
  }

  bool less(const Item& a, const Item& b, std::size_t word) const {
    for (; word < layout_.words(); ++word) {
      const std::uint64_t x = layout_.word(a.record, word), y = layout_.word(b.record, word);
      if (x != y) return x < y;
    }
    return false;
  }

  void remove_duplicates() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (kept > 0 && items_[kept - 1].prefix == items_[i].prefix &&
          layout_.compare(items_[kept - 1].record, items_[i].record) == 0) {
        add_records(removed_, items_[i].record, 1, layout_.record_bytes());
      } else {
        items_[kept++] = items_[i];
      }
    }
    count_ = kept;
  }

  const KeyLayout& layout_;
  bool unique_;
  std::size_t capacity_;
  Item* items_;
  std::size_t count_ = 0;
};

// Calls `use` with a null pointer to the sorter type for `layout`.
template <class Use>
auto with_sorter_type(const KeyLayout& layout, Use use) {
  const bool is_float = layout.transform().is_float;
  switch (layout.kind()) {
    case RecordKind::key32:
      return is_float ? use(static_cast<KeySorter<std::uint32_t, true>*>(nullptr))
                      : use(static_cast<KeySorter<std::uint32_t, false>*>(nullptr));
    case RecordKind::key64:
      return is_float ? use(static_cast<KeySorter<std::uint64_t, true>*>(nullptr))
                      : use(static_cast<KeySorter<std::uint64_t, false>*>(nullptr));
    case RecordKind::pair32:
      return is_float ? use(static_cast<PairSorter<std::uint32_t, true>*>(nullptr))
                      : use(static_cast<PairSorter<std::uint32_t, false>*>(nullptr));
    case RecordKind::pair64:
      return is_float ? use(static_cast<PairSorter<std::uint64_t, true>*>(nullptr))
                      : use(static_cast<PairSorter<std::uint64_t, false>*>(nullptr));
    case RecordKind::generic:
      break;
  }
  return use(static_cast<PointerSorter*>(nullptr));
}

}  // namespace

UnsortedPiece::UnsortedPiece(std::vector<Segment> segments, std::size_t record_bytes)
    : segments_(std::move(segments)), record_bytes_(record_bytes) {
  for (const Segment& segment : segments_) records_ += segment.count;
}

void UnsortedPiece::write(std::size_t first, std::size_t count, std::byte* out) const {
  for (const Segment& segment : segments_) {
    if (first >= segment.count) {
      first -= segment.count;
      continue;
    }
    if (count == 0) return;
    const std::size_t part = std::min(count, segment.count - first);
    std::memcpy(out, segment.records + first * record_bytes_, part * record_bytes_);
    out += part * record_bytes_;
    count -= part;
    first = 0;
  }
}

std::size_t piece_scratch_bytes(const KeyLayout& layout, std::size_t capacity) {
  return with_sorter_type(layout,
                          [&]<class Sorter>(Sorter*) { return Sorter::scratch_bytes(capacity); });
}

std::unique_ptr<PieceSorter> make_piece_sorter(const KeyLayout& layout, bool unique,
                                               std::size_t capacity, std::span<std::byte> scratch) {
  XXL_CHECK(scratch.size() >= piece_scratch_bytes(layout, capacity));
  return with_sorter_type(layout, [&]<class Sorter>(Sorter*) -> std::unique_ptr<PieceSorter> {
    return std::make_unique<Sorter>(layout, unique, capacity, scratch.data());
  });
}

}  // namespace xxl
