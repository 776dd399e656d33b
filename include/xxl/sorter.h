// Sorts records of a program, however many: push, sort, pull.
//
//   xxl::sorter<Edge> edges(xxl::by(&Edge::to).then(&Edge::from), resources);
//   while (more()) edges.push(make_edge());
//   edges.sort();
//   for (const Edge& edge : edges) use(edge);
//
// Sources: as of xxl/sort.h, whose engine it is; Dementiev, Kettner and Sanders, "STXXL: standard
// template library for XXL data sets" (2008), section 3.4 (streams), for the interface.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/comparator.h"
#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/order.h"
#include "xxl/resources.h"

namespace xxl {

// What a sorter is to do beside sorting.
struct sorter_options {
  bool unique = false;  // of records with equal keys, the one that was pushed first
  std::optional<std::uint64_t> limit = {};  // only the first `limit` records in order
  bool repeatable = false;             // rewind() may be called; scratch space stays until clear()
  std::uint64_t memory_bytes = 0;      // 0: an equal part of the resources
  std::uint64_t expected_records = 0;  // if known: plans for so many, if that can be; any number
                                       // may come
};

namespace detail {

struct SorterSpec {
  std::size_t record_bytes = 0;
  std::vector<KeyPart> key;
  std::shared_ptr<const RecordOrder> order;  // if set, in place of the key
  sorter_options options;
};

// A sorter of bytes. Its job is done by threads of its own, from the first room() on.
class SorterCore {
 public:
  XXL_API SorterCore(const resources& shared, SorterSpec spec);
  XXL_API ~SorterCore();
  SorterCore(const SorterCore&) = delete;
  SorterCore& operator=(const SorterCore&) = delete;

  // Memory for the next records, to be filled from its start. The one before is full.
  XXL_API std::span<std::byte> room();
  // No more records: the last room() has `bytes` of them.
  XXL_API void end(std::size_t bytes);
  // The next bytes of the sorted records; the ones before are no longer needed. Empty at the end.
  XXL_API std::span<const std::byte> next();
  // From the start again.
  XXL_API void rewind();

 private:
  class Job;
  std::unique_ptr<Job> job_;
};

}  // namespace detail

// One thread at a time. Several sorters may be used at the same time. After an exception a sorter
// can be destroyed or cleared, and nothing else; scratch space is gone then.
//
// Order: order<T> (xxl/order.h), by which records are sorted as numbers, or any comparator: a
// strict weak order, called from many threads at once, which must not throw. Those of the standard
// library for numbers are the former.
//
// All members but clear() may throw Error: what failed on the way (a disk that is full, Error{io})
// is thrown by whichever call comes next.
template <class T, class Order = order<T>>
class sorter {
  static_assert(std::is_trivially_copyable_v<T>,
                "records are written to disk as they are: they must be trivially copyable");

 public:
  // The record.
  using value_type = T;

  // Equal records come out in the order in which they were pushed.
  // Throws Error{no_space} if less memory than wanted is free in `shared`, or too little to sort.
  explicit sorter(Order by = Order(), const resources& shared = resources(),
                  sorter_options options = {})
      : order_(std::move(by)), shared_(shared), options_(options) {
    start();
  }

  // The other one is as after clear().
  sorter(sorter&& other) noexcept
      : order_(other.order_), shared_(other.shared_), options_(other.options_) {
    take(other);
  }
  sorter& operator=(sorter&& other) noexcept {
    if (this == &other) return *this;
    order_ = other.order_;
    shared_ = other.shared_;
    options_ = other.options_;
    take(other);
    return *this;
  }

  // Adds records, which are copied.
  void push(const T& record) {
    if (at_ == end_) make_room();
    std::memcpy(at_, &record, sizeof(T));
    at_ += sizeof(T);
  }
  void push(std::span<const T> records) {
    while (!records.empty()) {
      if (at_ == end_) make_room();
      const std::size_t count =
          std::min(records.size(), static_cast<std::size_t>(end_ - at_) / sizeof(T));
      std::memcpy(at_, records.data(), count * sizeof(T));
      at_ += count * sizeof(T);
      records = records.subspan(count);
    }
  }
  // Records that were pushed.
  std::uint64_t size() const {
    return pushed_ + static_cast<std::size_t>(at_ - begin_) / sizeof(T);
  }

  // No more records follow. Does not wait. (What pulls does it as well.)
  void sort() {
    if (sorted_) return;
    pushed_ = size();
    core().end(static_cast<std::size_t>(at_ - begin_));
    sorted_ = true;
    begin_ = at_ = end_ = nullptr;
  }

  // Pulling one by one: for (; !s.empty(); ++s) use(*s). A record is valid until the next one.
  bool empty() {
    if (first_ == last_) load();
    return first_ == last_;
  }
  const T& operator*() const { return *first_; }
  const T* operator->() const { return first_; }
  sorter& operator++() {
    ++first_;
    return *this;
  }
  // The next records in order, of which there are some thousand as a rule; none at the end. Valid
  // until the next call.
  std::span<const T> pull() {
    if (first_ == last_) load();
    return {std::exchange(first_, last_), last_};
  }
  // The next group of records with equal keys as one: `sum` is its first one, and fold(sum, next)
  // was called with the others in order. False at the end.
  template <class Fold>
  bool pull_reduced(T& sum, Fold&& fold) {
    if (empty()) return false;
    sum = *first_;
    const T key = sum;
    while (++first_, !empty() && has_equal_key(key, *first_)) fold(sum, *first_);
    return true;
  }

  // Pulls from the start again. Throws Error{usage} unless options.repeatable.
  void rewind() {
    sort();
    first_ = last_ = nullptr;
    core().rewind();
  }
  // Forgets all records: can be filled again.
  void clear() noexcept {
    core_.reset();
    begin_ = at_ = end_ = nullptr;
    first_ = last_ = nullptr;
    pushed_ = 0;
    sorted_ = false;
  }

  // What is left to pull, as an input range.
  class iterator {
   public:
    // As std::input_iterator asks.
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    // What is left of a sorter, which must outlive it.
    iterator() = default;
    explicit iterator(sorter& of) : of_(&of) {}
    const T& operator*() const { return **of_; }
    const T* operator->() const { return &**of_; }
    iterator& operator++() {
      ++*of_;
      return *this;
    }
    void operator++(int) { ++*of_; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.of_->empty(); }

   private:
    sorter* of_ = nullptr;
  };

  // All that is left; moves on with the iterator.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  using Keyed = order<T>;
  static constexpr bool kHasKey =
      std::is_same_v<Order, Keyed> ||
      (detail::is_number<T> &&
       (std::is_same_v<Order, std::less<>> || std::is_same_v<Order, std::less<T>> ||
        std::is_same_v<Order, std::greater<>> || std::is_same_v<Order, std::greater<T>>));

  detail::SorterCore& core() {
    if (core_ == nullptr) start();
    return *core_;
  }
  void start() {
    detail::SorterSpec spec{sizeof(T), {}, nullptr, options_};
    if constexpr (kHasKey) {
      spec.key = Keyed(order_).parts();
    } else {
      spec.order = std::make_shared<detail::ComparedOrder<T, Order>>(order_);
    }
    core_ = std::make_unique<detail::SorterCore>(shared_, std::move(spec));
  }
  bool has_equal_key(const T& a, const T& b) const {
    if constexpr (kHasKey) {
      return Keyed(order_).equal(a, b);
    } else {
      return !order_(a, b) && !order_(b, a);
    }
  }
  void make_room() {
    pushed_ = size();
    begin_ = at_ = end_ = nullptr;
    const std::span<std::byte> room = core().room();
    begin_ = at_ = room.data();
    end_ = at_ + room.size();
  }
  void load() {
    sort();
    first_ = last_ = nullptr;
    const std::span<const std::byte> bytes = core().next();
    first_ = reinterpret_cast<const T*>(bytes.data());
    last_ = first_ + bytes.size() / sizeof(T);
  }
  void take(sorter& other) noexcept {
    core_ = std::move(other.core_);
    begin_ = std::exchange(other.begin_, nullptr);
    at_ = std::exchange(other.at_, nullptr);
    end_ = std::exchange(other.end_, nullptr);
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    pushed_ = std::exchange(other.pushed_, 0);
    sorted_ = std::exchange(other.sorted_, false);
  }

  Order order_;
  resources shared_;
  sorter_options options_;
  std::unique_ptr<detail::SorterCore> core_;
  std::byte* begin_ = nullptr;  // of the room for records
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  const T* first_ = nullptr;  // of those to be pulled
  const T* last_ = nullptr;
  std::uint64_t pushed_ = 0;  // before begin_
  bool sorted_ = false;
};

}  // namespace xxl
