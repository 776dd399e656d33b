#include "sort/key_sorter.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/load.h"
#include "sort/radix_sort.h"

namespace xxl {
namespace {

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

// Items of records that are only a numeric key.
template <class Key, bool kFloat>
class Numbers {
 public:
  using Item = Key;

  explicit Numbers(const KeyLayout& layout) : order_{static_cast<Key>(layout.transform().flip)} {}

  std::size_t record_bytes() const { return sizeof(Key); }
  Item load(const std::byte* record) const { return order_.encode(xxl::load<Key>(record)); }
  void store(const Item* items, std::size_t count, std::byte* out) const {
    for (std::size_t i = 0; i < count; ++i) {
      xxl::store(out + i * sizeof(Key), order_.decode(items[i]));
    }
  }
  void sort(std::span<Item> items, std::span<Item> scratch) const {
    radix_sort(items, scratch, [](Key key) { return key; });
  }
  bool equal(Item a, Item b) const { return a == b; }

 private:
  Order<Key, kFloat> order_;
};

// Items of records of a numeric key and a value of the same size.
template <class Key, bool kFloat>
class Pairs {
 public:
  struct Item {
    Key key;
    Key value;
  };

  explicit Pairs(const KeyLayout& layout) : order_{static_cast<Key>(layout.transform().flip)} {}

  std::size_t record_bytes() const { return sizeof(Item); }
  Item load(const std::byte* record) const {
    return {order_.encode(xxl::load<Key>(record)), xxl::load<Key>(record + sizeof(Key))};
  }
  void store(const Item* items, std::size_t count, std::byte* out) const {
    for (std::size_t i = 0; i < count; ++i) {
      xxl::store(out + i * sizeof(Item), order_.decode(items[i].key));
      xxl::store(out + i * sizeof(Item) + sizeof(Key), items[i].value);
    }
  }
  void sort(std::span<Item> items, std::span<Item> scratch) const {
    radix_sort(items, scratch, [](const Item& item) { return item.key; });
  }
  bool equal(const Item& a, const Item& b) const { return a.key == b.key; }

 private:
  Order<Key, kFloat> order_;
};

// Items of any record: (prefix, pointer) pairs are sorted; equal prefixes are refined by the words
// of the key that follow; the records themselves move once, in store().
class Pointers {
 public:
  struct Item {
    std::uint64_t prefix;
    const std::byte* record;
  };

  explicit Pointers(const KeyLayout& layout) : layout_(layout) {}

  std::size_t record_bytes() const { return layout_.record_bytes(); }
  Item load(const std::byte* record) const { return {layout_.word(record, 0), record}; }
  void store(const Item* items, std::size_t count, std::byte* out) const {
    constexpr std::size_t kAhead = 12;
    const std::size_t record_bytes = layout_.record_bytes();
    for (std::size_t i = 0; i < count; ++i, out += record_bytes) {
      if (i + kAhead < count) {
        const std::byte* later = items[i + kAhead].record;
        __builtin_prefetch(later);
        if (record_bytes > 64) __builtin_prefetch(later + 64);
      }
      std::memcpy(out, items[i].record, record_bytes);
    }
  }
  void sort(std::span<Item> items, std::span<Item> scratch) const {
    radix_sort(items, scratch, prefix_of);
    if (layout_.words() > 1) refine(items, scratch, 1);
  }
  bool equal(const Item& a, const Item& b) const {
    return a.prefix == b.prefix && layout_.compare(a.record, b.record) == 0;
  }

 private:
  static constexpr std::size_t kSmallGroup = 24;
  static constexpr auto prefix_of = [](const Item& item) { return item.prefix; };

  // Orders every group of equal prefixes in `items` by key words `word` and following, stably.
  void refine(std::span<Item> items, std::span<Item> scratch, std::size_t word) const {
    for (std::size_t first = 0; first + 1 < items.size();) {
      const std::uint64_t prefix = items[first].prefix;
      std::size_t last = first + 1;
      while (last < items.size() && items[last].prefix == prefix) ++last;
      if (last - first > 1) {
        refine_group(items.subspan(first, last - first), scratch.subspan(first, last - first),
                     word);
      }
      first = last;
    }
  }

  void refine_group(std::span<Item> group, std::span<Item> scratch, std::size_t word) const {
    if (group.size() <= kSmallGroup) {
      insertion_sort(group, word);
      return;
    }
    const std::uint64_t prefix = group.front().prefix;
    // Words that are equal in all of the group are skipped here: each level of recursion has
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
    if (differ) radix_sort(group, scratch, prefix_of);
    if (word + 1 < layout_.words()) refine(group, scratch, word + 1);
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

  const KeyLayout& layout_;
};

// A sorter of the items that stand for records.
template <class Items>
class SorterOf final : public PieceSorter {
 public:
  using Item = typename Items::Item;

  SorterOf(const KeyLayout& layout, bool unique, std::size_t capacity, std::byte* scratch)
      : kind_(layout),
        unique_(unique),
        capacity_(capacity),
        items_(reinterpret_cast<Item*>(scratch)) {}

  static std::size_t scratch_bytes(std::size_t capacity) { return 2 * capacity * sizeof(Item); }

  void sort(std::span<const Segment> segments) override {
    removed_ = {};
    count_ = 0;
    const std::size_t record_bytes = kind_.record_bytes();
    for (const Segment& segment : segments) {
      XXL_CHECK(count_ + segment.count <= capacity_);
      Item* const out = items_ + count_;
      for (std::size_t i = 0; i < segment.count; ++i) {
        out[i] = kind_.load(segment.records + i * record_bytes);
      }
      count_ += segment.count;
    }
    kind_.sort({items_, count_}, {items_ + capacity_, count_});
    if (unique_) remove_duplicates();
  }

  std::size_t size() const override { return count_; }

  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    kind_.store(items_ + first, count, out);
  }

 private:
  void remove_duplicates() {
    std::vector<std::byte> record(kind_.record_bytes());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (kept > 0 && kind_.equal(items_[kept - 1], items_[i])) {
        kind_.store(items_ + i, 1, record.data());
        add_records(removed_, record.data(), 1, record.size());
      } else {
        items_[kept++] = items_[i];
      }
    }
    count_ = kept;
  }

  Items kind_;
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
      return is_float ? use(static_cast<SorterOf<Numbers<std::uint32_t, true>>*>(nullptr))
                      : use(static_cast<SorterOf<Numbers<std::uint32_t, false>>*>(nullptr));
    case RecordKind::key64:
      return is_float ? use(static_cast<SorterOf<Numbers<std::uint64_t, true>>*>(nullptr))
                      : use(static_cast<SorterOf<Numbers<std::uint64_t, false>>*>(nullptr));
    case RecordKind::pair32:
      return is_float ? use(static_cast<SorterOf<Pairs<std::uint32_t, true>>*>(nullptr))
                      : use(static_cast<SorterOf<Pairs<std::uint32_t, false>>*>(nullptr));
    case RecordKind::pair64:
      return is_float ? use(static_cast<SorterOf<Pairs<std::uint64_t, true>>*>(nullptr))
                      : use(static_cast<SorterOf<Pairs<std::uint64_t, false>>*>(nullptr));
    case RecordKind::generic:
      break;
  }
  return use(static_cast<SorterOf<Pointers>*>(nullptr));
}

}  // namespace

std::size_t key_sorter_bytes(const KeyLayout& layout, std::size_t capacity) {
  return with_sorter_type(layout,
                          [&]<class Sorter>(Sorter*) { return Sorter::scratch_bytes(capacity); });
}

std::unique_ptr<PieceSorter> make_key_sorter(const KeyLayout& layout, bool unique,
                                             std::size_t capacity, std::span<std::byte> scratch) {
  return with_sorter_type(layout, [&]<class Sorter>(Sorter*) -> std::unique_ptr<PieceSorter> {
    return std::make_unique<Sorter>(layout, unique, capacity, scratch.data());
  });
}

}  // namespace xxl
