// Joins sorted records of a program: from sorters, files, or any sorted ranges.
//
//   xxl::sorter<Order> orders(xxl::by(&Order::customer), resources);
//   xxl::sorter<Customer> customers(xxl::by(&Customer::id), resources);
//   ...
//   for (const auto& [customer, order] :
//        xxl::join(customers, orders, &Customer::id, &Order::customer)) {
//     for (const Customer& c : customer)
//       for (const Order& o : order) use(c, o);
//   }
//
// A row is a pair of a left (R) and a right (S) record with equal keys. Rows come in the order of
// their keys, in steps. A step has the records of R and those of S with one key. A key has one step
// if its records of both sides fit in join_options::memory_bytes. Otherwise it has several, which
// make each row once. A loop that computes something for each key checks for the last step:
//
//   for (const auto& step : xxl::join(customers, orders, &Customer::id, &Order::customer)) {
//     for (const Order& o : step.s) sum += o.amount;
//     if (step.last_of_key) report(step.r.front(), std::exchange(sum, 0));
//   }
//
// Sources: Maltenberger, "Efficiently Joining Large Relations on Multi-GPU Systems with Modern
// Interconnects" (2024), section 3.3; Graefe, "Query Evaluation Techniques for Large Databases"
// (1993), section 5.2, for groups that do not fit in memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/error.h"
#include "xxl/file.h"
#include "xxl/is_record.h"
#include "xxl/join_kind.h"
#include "xxl/pulling.h"
#include "xxl/room.h"

namespace xxl {

// Options of a join of sorted records.
struct join_options {
  JoinKind how = JoinKind::inner;                        // rows of the join
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;  // for the records of one key
  std::vector<std::string> scratch_dirs = {};            // see resource_options
};

// A step: records with one key. Valid until the next step. `const auto& [r, s] = step` names both
// sides.
template <class R, class S>
struct joined {
  std::span<const R> r;  // empty: no match (right and full joins)
  std::span<const S> s;  // empty: no match, or a semi join
  // False: the next step has the same key. True if the records of a key fit in memory.
  bool last_of_key = true;
};

// For structured bindings: the two sides.
template <std::size_t kSide, class R, class S>
auto get(const joined<R, S>& step) {
  if constexpr (kSide == 0) {
    return step.r;
  } else {
    return step.s;
  }
}

}  // namespace xxl

// A step has two parts for structured bindings, as get() has them.
template <class R, class S>
struct std::tuple_size<xxl::joined<R, S>> : std::integral_constant<std::size_t, 2> {};
// The type of one part.
template <std::size_t kSide, class R, class S>
struct std::tuple_element<kSide, xxl::joined<R, S>> {
  // The type of get<kSide>().
  using type = std::conditional_t<kSide == 0, std::span<const R>, std::span<const S>>;
};

namespace xxl {

namespace detail {

// Like std::less<>. A signed and an unsigned integer are compared by value.
struct KeyLess {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B> &&
                  std::is_signed_v<A> != std::is_signed_v<B>) {
      if constexpr (std::is_signed_v<A>) {
        return a < 0 || static_cast<std::make_unsigned_t<A>>(a) < b;
      } else {
        return b >= 0 && a < static_cast<std::make_unsigned_t<B>>(b);
      }
    } else {
      return std::less<>()(a, b);
    }
  }
};

template <class Source>
concept pulled = requires(Source& source) {
  { source.pull() } -> std::convertible_to<std::span<const typename Source::value_type>>;
};

// A sorter or file.
template <class Source>
class PulledSource {
 public:
  using value_type = typename Source::value_type;

  explicit PulledSource(Source& source) : source_(&source) {}
  std::span<const value_type> pull() { return source_->pull(); }

 private:
  Source* source_;
};

// A range, a few records at a time, or as a whole if they lie side by side.
template <class Range>
class RangeSource {
 public:
  using value_type = std::ranges::range_value_t<Range>;

  explicit RangeSource(Range& range)
      : at_(std::ranges::begin(range)), end_(std::ranges::end(range)) {}
  std::span<const value_type> pull() {
    if constexpr (std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>) {
      const auto count = static_cast<std::size_t>(end_ - at_);
      return {std::to_address(std::exchange(at_, end_)), count};
    } else {
      records_.clear();
      for (; at_ != end_ && records_.size() < kAtOnce; ++at_) records_.emplace_back(*at_);
      return records_;
    }
  }

 private:
  static constexpr std::size_t kAtOnce =
      std::max<std::size_t>(16, (std::size_t{64} << 10) / sizeof(value_type));

  std::ranges::iterator_t<Range> at_;
  std::ranges::sentinel_t<Range> end_;
  std::vector<value_type> records_;
};

template <class Source>
auto join_source(Source& source) {
  if constexpr (pulled<Source>) {
    return PulledSource<Source>(source);
  } else {
    return RangeSource<Source>(source);
  }
}

// Records with one key.
template <class T>
struct Held {
  std::span<const T> records = {};
  bool all = true;  // no more of them follow
};

// One side of a join: its records, key by key.
template <class Source, class Key, class Less>
class JoinInput {
 public:
  using value_type = typename Source::value_type;

  JoinInput(Source source, Key key, Less less, const char* name)
      : source_(std::move(source)), key_(std::move(key)), less_(std::move(less)), name_(name) {}

  // Records are left.
  bool any() {
    if (left_.empty()) left_ = source_.pull();
    return !left_.empty();
  }
  decltype(auto) key() const { return std::invoke(key_, left_.front()); }

  // The next key. REQUIRES: any(). Throws Error{bad_input} if it is below the one before.
  void begin_group() {
    if (group_ && less_(key(), std::invoke(key_, *group_))) {
      throw Error(ErrorCode::bad_input,
                  std::string("the records of ") + name_ +
                      " are not in order of the keys that they are joined by");
    }
    group_.emplace(left_.front());
  }
  // More records with the current key, as many as lie side by side, at most `most`. Empty at the
  // end of the key.
  std::span<const value_type> next_part(std::size_t most = ~std::size_t{0}) {
    if (!any()) return {};
    const auto some = left_.first(std::min(most, left_.size()));
    const auto end = std::ranges::find_if_not(
        some, [this](const value_type& record) { return is_of_group(record); });
    const auto part = left_.first(static_cast<std::size_t>(end - some.begin()));
    left_ = left_.subspan(part.size());
    return part;
  }
  void skip_group() {
    while (!next_part().empty()) {
    }
  }
  // More records with the current key, side by side: `most` of them, or all remaining ones. Valid
  // until the next call.
  Held<value_type> hold(std::size_t most) {
    const auto part = next_part(most);
    if (!left_.empty()) return {part, !goes_on()};  // stay where they are
    held_.assign(part.begin(), part.end());
    return hold_more({held_, false}, most);
  }
  // What is held, and what follows, up to `most` in all.
  Held<value_type> hold_more(Held<value_type> held, std::size_t most) {
    if (held.records.data() != held_.data()) {
      held_.assign(held.records.begin(), held.records.end());
    }
    while (held_.size() < most) {
      const auto part = next_part(most - held_.size());
      if (part.empty()) break;
      held_.insert(held_.end(), part.begin(), part.end());
    }
    return {held_, !goes_on()};
  }

 private:
  bool is_of_group(const value_type& record) {
    const auto& of_group = std::invoke(key_, *group_);
    const auto& of_record = std::invoke(key_, record);
    return !less_(of_group, of_record) && !less_(of_record, of_group);
  }
  // The group has more. (What was pulled before may be gone.)
  bool goes_on() { return any() && is_of_group(left_.front()); }

  Source source_;
  Key key_;
  Less less_;
  const char* name_;
  std::span<const value_type> left_ = {};  // rest of the pulled records
  std::optional<value_type> group_;        // a record of the group
  std::vector<value_type> held_;
};

// Records in scratch, read again and again.
template <class T>
class Spool {
 public:
  explicit Spool(const std::vector<std::string>& scratch_dirs)
      : file_(sizeof(T), {.scratch_dirs = scratch_dirs}) {}

  void push(std::span<const T> records) {
    room_.put_all(records.data(), records.size_bytes(), [this] { return file_.room(); });
  }
  void end() { file_.end(room_.close()); }
  void rewind() {
    file_.rewind();
    given_ = 0;
  }
  Held<T> next() {
    const std::span<const std::byte> bytes = file_.next();
    given_ += bytes.size();
    return {{reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)},
            given_ == room_.filled()};
  }

 private:
  ScratchFileCore file_;
  Room room_;
  std::uint64_t given_ = 0;  // in bytes
};

}  // namespace detail

// The result of join(): an input range of joined<R, S>, to be read once. One thread at a time may
// use it. Errors of the inputs are thrown here, and Error{bad_input} for unsorted ones. After an
// error it can only be destroyed.
template <class SourceR, class SourceS, class KeyR, class KeyS, class Less>
class join_range {
  using R = typename SourceR::value_type;
  using S = typename SourceS::value_type;

 public:
  using value_type = joined<R, S>;  // a step

  // See join().
  join_range(SourceR r, SourceS s, KeyR key_of_r, KeyS key_of_s, Less less, join_options options)
      : options_(std::move(options)),
        less_(less),
        r_(std::move(r), std::move(key_of_r), less, "R"),
        s_(std::move(s), std::move(key_of_s), less, "S") {}

  // One by one: for (; !joined.empty(); ++joined) use(*joined). Valid until the next one. At the
  // end a step has no records.
  [[nodiscard]] bool empty() {
    load();
    return now_.r.empty() && now_.s.empty();
  }
  const value_type& operator*() {
    load();
    return now_;
  }
  join_range& operator++() {
    load();
    loaded_ = false;
    return *this;
  }

  // The remaining steps, as an input range.
  using iterator = detail::PullIterator<join_range>;
  // The remaining steps. Moves on with the iterator.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }  // end of the range

 private:
  // Records that fit in `bytes`; at least one, whatever its size.
  template <class T>
  static std::size_t fitting(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::max<std::uint64_t>(1, bytes / sizeof(T)));
  }
  // Records that fit in addition to those.
  template <class T, class Other>
  std::size_t fitting_beside(const detail::Held<Other>& held) const {
    return fitting<T>(options_.memory_bytes -
                      std::min<std::uint64_t>(options_.memory_bytes, held.records.size_bytes()));
  }
  bool wants(JoinKind kind) const { return options_.how == kind; }

  // The next step, loaded if necessary.
  void load() {
    if (loaded_) return;
    if (!now_.last_of_key) {
      load_more();
      give();
    } else {
      spool_.reset();
      held_r_ = {};
      held_s_ = {};
      load_key();
      give();
    }
    loaded_ = true;
  }
  void give() { now_ = {held_r_.records, held_s_.records, held_r_.all && held_s_.all}; }

  // Within the same key: the next S with these R, or all S with the next R.
  void load_more() {
    if (!held_s_.all) {
      held_s_ = spool_ ? spool_->next() : s_.hold(fitting_beside<S>(held_r_));
    } else if (!spool_) {
      held_r_ = r_.hold(fitting_beside<R>(held_s_));
    } else {
      held_r_ = r_.hold(fitting<R>(options_.memory_bytes / 2));
      spool_->rewind();
      held_s_ = spool_->next();
    }
  }

  // The next key with rows. Nothing is held at the end.
  void load_key() {
    for (;;) {
      const bool any_r = r_.any(), any_s = s_.any();
      if (!any_r && !any_s) return;
      if (any_r && (!any_s || less_(r_.key(), s_.key()))) {
        if (!any_s && !keeps_lone_r()) return;
        r_.begin_group();
        if (keeps_lone_r()) return load_lone_r();
        r_.skip_group();
      } else if (any_s && (!any_r || less_(s_.key(), r_.key()))) {
        if (!any_r && !keeps_lone_s()) return;
        s_.begin_group();
        if (keeps_lone_s()) return load_lone_s();
        s_.skip_group();
      } else {
        r_.begin_group();
        s_.begin_group();
        if (wants(JoinKind::anti)) {
          r_.skip_group();
          s_.skip_group();
        } else if (wants(JoinKind::semi)) {
          s_.skip_group();
          return load_lone_r();
        } else {
          return load_match();
        }
      }
    }
  }
  void load_lone_r() { held_r_ = r_.hold(fitting_beside<R>(held_s_)); }
  void load_lone_s() { held_s_ = s_.hold(fitting_beside<S>(held_r_)); }

  // Both sides if they fit, otherwise one of them and a part of the other, otherwise parts of both.
  void load_match() {
    const std::uint64_t half = options_.memory_bytes / 2;
    held_r_ = r_.hold(fitting<R>(half));
    held_s_ = s_.hold(held_r_.all ? fitting_beside<S>(held_r_) : fitting<S>(half));
    if (held_r_.all) return;
    if (held_s_.all) {
      held_r_ = r_.hold_more(held_r_, fitting_beside<R>(held_s_));
    } else {
      store(held_s_.records);
      held_s_ = spool_->next();
    }
  }

  // All S of the key.
  void store(std::span<const S> first) {
    if constexpr (is_record_v<S>) {
      spool_.emplace(options_.scratch_dirs);
      for (auto part = first; !part.empty(); part = s_.next_part()) spool_->push(part);
      spool_->end();
    } else {
      throw Error(ErrorCode::no_space,
                  "records with one key do not fit into join_options::memory_bytes, and their type "
                  "cannot be stored: see xxl::is_record");
    }
  }

  bool keeps_lone_r() const {
    return wants(JoinKind::left) || wants(JoinKind::full) || wants(JoinKind::anti);
  }
  bool keeps_lone_s() const { return wants(JoinKind::right) || wants(JoinKind::full); }

  join_options options_;
  Less less_;
  detail::JoinInput<SourceR, KeyR, Less> r_;
  detail::JoinInput<SourceS, KeyS, Less> s_;
  value_type now_ = {};
  bool loaded_ = false;
  // The current step.
  detail::Held<R> held_r_;
  detail::Held<S> held_s_;
  std::optional<detail::Spool<S>> spool_;  // all S, if not even half of them fits
};

// Joins `r` and `s`, which are sorted by their keys, ascending by `less`. They are sorters,
// file_readers or ranges, and must live as long as the result. They are read to their ends if the
// kind of join needs that. `key_of_r`, `key_of_s`: members or functions that give the key of a
// record. `less` orders keys of both sides (std::greater<> for descending ones).
template <class SourceR, class SourceS, class KeyR, class KeyS, class Less = detail::KeyLess>
[[nodiscard]] auto join(SourceR& r, SourceS& s, KeyR key_of_r, KeyS key_of_s,
                        join_options options = {}, Less less = {}) {
  auto source_r = detail::join_source(r);
  auto source_s = detail::join_source(s);
  return join_range<decltype(source_r), decltype(source_s), KeyR, KeyS, Less>(
      std::move(source_r), std::move(source_s), std::move(key_of_r), std::move(key_of_s),
      std::move(less), std::move(options));
}

}  // namespace xxl
