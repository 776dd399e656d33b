// Sorters of records of any length: strings, and whatever a program can write as bytes.
//
//   xxl::sorter<std::string> words;                          by bytes, as memcmp
//   xxl::sorter<std::string, std::greater<>> words({}, resources);
//
//   struct Person { std::string name; unsigned born; };
//   struct ByAge {
//     void append_record(const Person& p, std::string& to) const { ... }     what comes back
//     void append_key(const Person& p, std::string& to) const {              what it is sorted by
//       xxl::append_key(p.born, to);
//       xxl::append_key(p.name, to);
//     }
//     Person record(std::string_view bytes) const { ... }                    may be left out
//   };
//   xxl::sorter people(ByAge(), resources);
//
// A record and its key may have up to 4 GiB together. The memory must hold several of them:
// Error{no_space} says how much is needed.
//
// Sources: see xxl/sorter.h. The engine is the one for lines.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "xxl/append_key.h"
#include "xxl/error.h"
#include "xxl/groups.h"
#include "xxl/order.h"
#include "xxl/pulling.h"
#include "xxl/resources.h"
#include "xxl/sorter_core.h"
#include "xxl/std_parts.h"

namespace xxl {

// Strings by their bytes as unsigned numbers, a shorter one before a longer one that starts with
// it.
template <>
class order<std::string> {
 public:
  // Ascending, or descending.
  order() = default;
  order(std::less<>) {}
  order(std::less<std::string>) {}
  order(std::greater<>) : descending_(true) {}
  order(std::greater<std::string>) : descending_(true) {}
  static order descending() {
    order result;
    result.descending_ = true;
    return result;
  }
  // Whether it is descending.
  [[nodiscard]] bool is_descending() const { return descending_; }

 private:
  bool descending_ = false;
};

// How records T are written, and what they are sorted by. Keys compare as strings do. Both members
// append. The pushing thread calls them.
template <class F, class T>
concept record_format = requires(const F& format, const T& record, std::string& to) {
  format.append_record(record, to);
  format.append_key(record, to);
};

namespace detail {

template <class T, class Order>
concept string_order =
    std::same_as<T, std::string> && std::convertible_to<Order, order<std::string>>;
template <class T, class Order>
concept of_any_length = string_order<T, Order> || record_format<Order, T>;

template <class Order>
concept gives_records = requires(const Order& format, std::string_view bytes) {
  format.record(bytes);
};

// What a sorter gives, to be kept.
template <class Format>
struct PulledRecord {
  using type = std::string;
};
template <class Format>
requires gives_records<Format>
struct PulledRecord<Format> {
  using given =
      std::remove_cvref_t<decltype(std::declval<const Format&>().record(std::string_view()))>;
  using type = std::conditional_t<std::same_as<given, std::string_view>, std::string, given>;
};

}  // namespace detail

// Like the sorter of fixed-size records, without pull(), which would need records side by side.
// Equal records come out in the order in which they were pushed.
template <class T, class Format>
requires detail::of_any_length<T, Format>
class sorter<T, Format>
    : public group_interface<sorter<T, Format>, T, typename detail::PulledRecord<Format>::type> {
  static constexpr bool kIsString = detail::string_order<T, Format>;
  using RecordCount = detail::SorterBytes::RecordCount;
  using Grouped = group_interface<sorter, T, typename detail::PulledRecord<Format>::type>;
  friend Grouped;

 public:
  using value_type = typename detail::PulledRecord<Format>::type;  // a pulled record

  // Throws what a sorter of fixed-size records throws, and Error{usage} if expected_records is set.
  template <std::same_as<resources> Shared>
  explicit sorter(Format format, const Shared& shared, sorter_options options = {})
      : format_(std::move(format)), bytes_(shared, spec(format_, options)) {}
  // The same with resources of its own.
  explicit sorter(Format format = Format(), resource_options own = {}, sorter_options options = {})
      : sorter(std::move(format), resources(std::move(own)), options) {}

  // `other` is then empty, as after clear().
  sorter(sorter&& other) noexcept : format_(other.format_), bytes_(std::move(other.bytes_)) {
    take(other);
  }
  sorter& operator=(sorter&& other) noexcept {
    if (this == &other) return *this;
    format_ = other.format_;
    bytes_ = std::move(other.bytes_);
    take(other);
    return *this;
  }

  // Throws Error{usage} for a record of more than 4 GiB, and what `format` throws: then nothing was
  // pushed.
  void push(const T& record) requires(!kIsString) {
    key_.clear();
    record_.clear();
    format_.append_key(record, key_);
    format_.append_record(record, record_);
    const RecordCount key_bytes = count_of(key_.size());
    put_count(count_of(sizeof(key_bytes) + key_.size() + record_.size()));
    bytes_.put_all(&key_bytes, sizeof(key_bytes));
    bytes_.put_all(key_.data(), key_.size());
    bytes_.put_all(record_.data(), record_.size());
  }
  void push(std::string_view record) requires kIsString {
    const RecordCount bytes = count_of(record.size());
    if (bytes_.room() >= sizeof(bytes) + record.size()) {
      ++pushed_;
      bytes_.put(&bytes, sizeof(bytes));
      if (!record.empty()) bytes_.put(record.data(), record.size());
    } else {
      put_count(bytes);
      bytes_.put_all(record.data(), record.size());
    }
  }
  // Records that were pushed.
  [[nodiscard]] std::uint64_t size() const { return pushed_; }

  // No more records follow. Does not wait. Pulling does the same, but empty() does not.
  void sort() { bytes_.end(); }

  // There is nothing to pull. While records are pushed: nothing to pull yet. With unique and skip,
  // use sort() first: it throws Error{usage} before.
  [[nodiscard]] bool empty() {
    if (!bytes_.ended()) return detail::gives_nothing(pushed_, bytes_.options());
    if (!has_record_) load();
    return !has_record_;
  }
  // Pulling one by one: for (; !s.empty(); ++s) use(*s). Gives what format.record() makes of the
  // record, or its bytes as a std::string_view. The view is valid until the next record. At the
  // end, everything except empty() throws Error{usage}.
  decltype(auto) operator*() const {
    need();
    if constexpr (detail::gives_records<Format>) {
      return format_.record(bytes());
    } else {
      return bytes();
    }
  }
  // Goes on to the next record.
  sorter& operator++() {
    need();
    has_record_ = false;
    return *this;
  }
  // The key of the next record.
  [[nodiscard]] std::string_view key() const {
    need();
    if constexpr (kIsString) return current_;
    return current_.substr(sizeof(RecordCount), key_bytes());
  }

  // Pulls from the start again. Throws Error{usage} unless options.repeatable.
  void rewind() {
    forget();
    bytes_.rewind();
  }
  // How the records were sorted, and on which device (plan.device). Throws Error{usage} until the
  // last record was pulled. SortReport is defined in <xxl/sort.h>.
  [[nodiscard]] const SortReport& report() const { return bytes_.report(); }
  // Removes all records. The sorter can be filled again.
  void clear() noexcept {
    forget();
    bytes_.clear();
    pushed_ = 0;
  }

  // The remaining records, as an input range.
  using iterator = detail::PullIterator<sorter>;
  // The remaining records. Moves on with the iterator.
  iterator begin() {
    sort();
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }  // end of the range

 private:
  static detail::SorterSpec spec(const Format& format, const sorter_options& options) {
    detail::SorterSpec spec{.length = detail::RecordLength::any_with_key, .options = options};
    spec.any_length = &detail::any_length_engine();
    if constexpr (kIsString) {
      spec.length = detail::RecordLength::any;
      spec.descending = order<std::string>(format).is_descending();
    }
    return spec;
  }
  static RecordCount count_of(std::size_t bytes) {
    if (bytes > ~RecordCount{0}) {
      throw Error(ErrorCode::usage, "a record of a sorter takes at most 4 GiB with its key");
    }
    return static_cast<RecordCount>(bytes);
  }
  void put_count(RecordCount bytes) {
    bytes_.put_all(&bytes, sizeof(bytes));
    ++pushed_;
  }
  std::size_t key_bytes() const {
    RecordCount bytes;
    std::memcpy(&bytes, current_.data(), sizeof(bytes));
    return bytes;
  }
  std::string_view bytes() const {
    if constexpr (kIsString) return current_;
    return current_.substr(sizeof(RecordCount) + key_bytes());
  }

  // The next record, loaded if necessary.
  void need() const {
    if (!has_record_) const_cast<sorter*>(this)->load();
    if (!has_record_) detail::throw_at_end();
  }
  // The next record where it lies or, if it was cut, in record_.
  void load() {
    RecordCount bytes;
    if (block_.size() < sizeof(bytes)) {
      std::byte count[sizeof(bytes)];
      if (!take(count, sizeof(bytes))) return;
      std::memcpy(&bytes, count, sizeof(bytes));
    } else {
      std::memcpy(&bytes, block_.data(), sizeof(bytes));
      block_ = block_.subspan(sizeof(bytes));
    }
    if (bytes <= block_.size()) {
      current_ = {reinterpret_cast<const char*>(block_.data()), bytes};
      block_ = block_.subspan(bytes);
    } else {
      record_.resize(bytes);
      take(reinterpret_cast<std::byte*>(record_.data()), bytes);
      current_ = record_;
    }
    has_record_ = true;
  }
  // False at the end.
  bool take(std::byte* to, std::size_t bytes) {
    while (bytes > 0) {
      if (block_.empty()) {
        block_ = bytes_.next();
        if (block_.empty()) return false;
      }
      const std::size_t some = bytes < block_.size() ? bytes : block_.size();
      std::memcpy(to, block_.data(), some);
      block_ = block_.subspan(some);
      to += some;
      bytes -= some;
    }
    return true;
  }
  const std::string& group_key() { return key_ = key(); }
  bool is_of_group(std::string_view of_group) const { return key() == of_group; }
  void lose_group() {
    forget();
    bytes_.lose_group();
  }
  void forget() {
    has_record_ = false;
    block_ = {};
  }
  void take(sorter& other) noexcept {
    const bool was_cut = other.current_.data() == other.record_.data();
    pushed_ = std::exchange(other.pushed_, 0);
    record_ = std::exchange(other.record_, {});
    block_ = std::exchange(other.block_, {});
    current_ = was_cut ? record_ : other.current_;
    has_record_ = std::exchange(other.has_record_, false);
  }

  Format format_;
  detail::SorterBytes bytes_;
  std::uint64_t pushed_ = 0;
  std::string key_;  // key of the record being pushed, or of the pulled group
  std::string record_;
  std::span<const std::byte> block_ = {};  // rest of the pulled block
  std::string_view current_ = {};
  bool has_record_ = false;
};

}  // namespace xxl
