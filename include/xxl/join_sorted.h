// Joins records of a program that are sorted: from sorters, files, or any sorted ranges.
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
// A row of the join is a pair of an R and an S with equal keys. They come in order of their keys,
// all pairs of a key at once: as the records of R and those of S that have it. Where neither fits
// in memory, they come in several parts, which make each pair once.
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
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/error.h"
#include "xxl/file.h"
#include "xxl/join_kind.h"
#include "xxl/pulling.h"
#include "xxl/room.h"

namespace xxl {

// Which rows a join of sorted records has, and with what.
struct join_options {
  JoinKind kind = JoinKind::inner;                       // which rows
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;  // for records with one key, of both sides
  std::vector<std::string> scratch_dirs = {};            // for more of them; as of resource_options
};

// Records with one key. Valid until the next ones.
template <class R, class S>
struct joined {
  std::span<const R> r;  // empty: these S have no partner (right and full joins)
  std::span<const S> s;  // empty: these R have none, or it is not asked for (semi joins)
};

namespace detail {

// As std::less<>, but by their values for integers of which one has a sign.
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

// A range, some records at a time, or as a whole if they lie side by side.
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

// One side of a join: its records, key by key.
template <class Source, class Key, class Less>
class JoinInput {
 public:
  using value_type = typename Source::value_type;

  JoinInput(Source source, Key key, Less less, const char* name, std::size_t most_held)
      : source_(std::move(source)),
        key_(std::move(key)),
        less_(std::move(less)),
        name_(name),
        most_held_(most_held) {}

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
  // Records with its key, as many as lie side by side, at most `most`. None if it has no more.
  std::span<const value_type> next_part(std::size_t most = ~std::size_t{0}) {
    if (!any()) return {};
    const auto& of_group = std::invoke(key_, *group_);
    const auto some = left_.first(std::min(most, left_.size()));
    const auto end = std::ranges::find_if(some, [&](const value_type& record) {
      const auto& of_record = std::invoke(key_, record);
      return less_(of_group, of_record) || less_(of_record, of_group);
    });
    const auto part = left_.first(static_cast<std::size_t>(end - some.begin()));
    left_ = left_.subspan(part.size());
    return part;
  }
  void skip_group() {
    while (!next_part().empty()) {
    }
  }
  // Records with its key, side by side: all that are left or, if that is too many, some. They stay
  // until the next call of this.
  struct Held {
    std::span<const value_type> records;
    bool all;
  };
  Held hold() {
    std::span<const value_type> part = next_part(most_held_);
    if (!left_.empty() && part.size() < most_held_) return {part, true};
    held_.assign(part.begin(), part.end());
    while (held_.size() < most_held_) {
      part = next_part(most_held_ - held_.size());
      if (part.empty()) return {held_, true};
      held_.insert(held_.end(), part.begin(), part.end());
    }
    return {held_, false};
  }

 private:
  Source source_;
  Key key_;
  Less less_;
  const char* name_;
  std::size_t most_held_;
  std::span<const value_type> left_ = {};  // of what was pulled
  std::optional<value_type> group_;        // a record of it
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
  void rewind() { file_.rewind(); }
  std::span<const T> next() {
    const std::span<const std::byte> bytes = file_.next();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  ScratchFileCore file_;
  Room room_;
};

}  // namespace detail

// What join() gives: an input range of joined<R, S>, to be read once. One thread at a time.
// What is read from throws through it; so does Error{bad_input}, if it is not in order.
template <class SourceR, class SourceS, class KeyR, class KeyS, class Less>
class join_range {
  using R = typename SourceR::value_type;
  using S = typename SourceS::value_type;

 public:
  using value_type = joined<R, S>;  // the records with one key

  // See join().
  join_range(SourceR r, SourceS s, KeyR key_of_r, KeyS key_of_s, Less less, join_options options)
      : options_(std::move(options)),
        less_(less),
        r_(std::move(r), std::move(key_of_r), less, "R", most_held(sizeof(R))),
        s_(std::move(s), std::move(key_of_s), less, "S", most_held(sizeof(S))) {}

  // One by one: for (; !joined.empty(); ++joined) use(*joined). Valid until the next one.
  bool empty() {
    if (!loaded_) load();
    return now_.r.empty() && now_.s.empty();
  }
  const value_type& operator*() const { return now_; }
  join_range& operator++() {
    loaded_ = false;
    return *this;
  }

  // What is left, as an input range.
  using iterator = detail::PullIterator<join_range>;
  // All that is left; moves on with the iterator.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }  // of begin()

 private:
  // What is given of the current key.
  enum class Step {
    none,        // nothing is left
    parts_of_r,  // alone, or each with the S that are held
    parts_of_s,
    blocks_of_s,  // of the spool, with the R that are held; then again with the next R
  };

  std::size_t most_held(std::size_t record_bytes) const {
    return static_cast<std::size_t>(
        std::max<std::uint64_t>(1, options_.memory_bytes / 2 / record_bytes));
  }
  bool wants(JoinKind kind) const { return options_.kind == kind; }

  void load() {
    loaded_ = true;
    do {
      if (step_ != Step::none && load_part()) return;
    } while (begin_key());
    now_ = {};
  }

  bool load_part() {
    switch (step_) {
      case Step::none:
        break;
      case Step::parts_of_r:
        now_ = {std::exchange(held_r_, {}), held_s_};
        if (now_.r.empty()) now_.r = r_.next_part();
        if (!now_.r.empty()) return true;
        break;
      case Step::parts_of_s:
        now_ = {held_r_, s_.next_part()};
        if (!now_.s.empty()) return true;
        break;
      case Step::blocks_of_s:
        now_ = {held_r_, spool_->next()};
        if (!now_.s.empty()) return true;
        held_r_ = r_.hold().records;
        if (held_r_.empty()) break;
        spool_->rewind();
        now_ = {held_r_, spool_->next()};
        return true;
    }
    step_ = Step::none;
    spool_.reset();
    held_r_ = {};
    held_s_ = {};
    return false;
  }

  // Goes on to the next key that has rows; says what comes of it. False if there is none.
  bool begin_key() {
    for (;;) {
      const bool any_r = r_.any(), any_s = s_.any();
      if (!any_r && !any_s) return false;
      if (any_r && (!any_s || less_(r_.key(), s_.key()))) {
        if (!any_s && !keeps_lone_r()) return false;
        r_.begin_group();
        if (keeps_lone_r()) return start(Step::parts_of_r);
        r_.skip_group();
      } else if (any_s && (!any_r || less_(s_.key(), r_.key()))) {
        if (!any_r && !keeps_lone_s()) return false;
        s_.begin_group();
        if (keeps_lone_s()) return start(Step::parts_of_s);
        s_.skip_group();
      } else {
        r_.begin_group();
        s_.begin_group();
        if (begin_match()) return true;
      }
    }
  }

  bool begin_match() {
    if (wants(JoinKind::semi) || wants(JoinKind::anti)) {
      s_.skip_group();
      if (wants(JoinKind::semi)) return start(Step::parts_of_r);
      r_.skip_group();
      return false;
    }
    const auto of_r = r_.hold();
    held_r_ = of_r.records;
    if (of_r.all) return start(Step::parts_of_s);
    const auto of_s = s_.hold();
    if (of_s.all) {
      held_s_ = of_s.records;
      return start(Step::parts_of_r);
    }
    store(of_s.records);
    return start(Step::blocks_of_s);
  }

  // All S of the key.
  void store(std::span<const S> first) {
    if constexpr (std::is_trivially_copyable_v<S>) {
      spool_.emplace(options_.scratch_dirs);
      for (auto part = first; !part.empty(); part = s_.next_part()) spool_->push(part);
      spool_->end();
    } else {
      throw Error(ErrorCode::no_space,
                  "records with one key do not fit into join_options::memory_bytes, and are no "
                  "trivially copyable types, which could be stored");
    }
  }

  bool start(Step step) {
    step_ = step;
    return true;
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
  Step step_ = Step::none;
  std::span<const R> held_r_ = {};
  std::span<const S> held_s_ = {};
  std::optional<detail::Spool<S>> spool_;
};

// Joins `r` and `s`, which are sorted by their keys, ascending by `less`: sorters, file_readers or
// ranges, which must last as long as the result, and are read to their ends where the kind of join
// needs that. `key_of_r`, `key_of_s`: members or functions that give the key of a record; `less`
// orders keys of both sides (std::greater<> for descending ones).
template <class SourceR, class SourceS, class KeyR, class KeyS, class Less = detail::KeyLess>
auto join(SourceR& r, SourceS& s, KeyR key_of_r, KeyS key_of_s, join_options options = {},
          Less less = {}) {
  auto source_r = detail::join_source(r);
  auto source_s = detail::join_source(s);
  return join_range<decltype(source_r), decltype(source_s), KeyR, KeyS, Less>(
      std::move(source_r), std::move(source_s), std::move(key_of_r), std::move(key_of_s),
      std::move(less), std::move(options));
}

}  // namespace xxl
