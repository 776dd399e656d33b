// Groups of sorted records, and other calls that all sorters have in the same way.
//
//   for (auto [user, rows] : payments.groups(&Payment::user)) {
//     for (const Payment& payment : rows) use(user, payment);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/is_record.h"
#include "xxl/order.h"
#include "xxl/pulling.h"
#include "xxl/std_parts.h"

namespace xxl {

// A group: its key and its records (an input range). Valid until the next group.
template <class Key, class Rows>
struct record_group {
  const Key& key;  // the key
  Rows& rows;      // the records
};

namespace detail {

// A key to keep: what it refers to may be gone with its record.
template <class Key>
struct Kept {
  using type = Key;
};
template <class Key>
using KeptKey = typename Kept<std::decay_t<Key>>::type;
template <>
struct Kept<std::string_view> {
  using type = std::string;
};
template <template <class...> class Product, class... Parts>
requires(std::tuple_size<Product<Parts...>>::value == sizeof...(Parts))  // a pair or tuple
    struct Kept<Product<Parts...>> {
  using type = Product<KeptKey<Parts>...>;
};

}  // namespace detail

// Calls of a sorter (Self) of records T. It gives records as Given. Self has group_key(): the key
// of the next record. It has is_of_group(key), and lose_group() for an exception within a group.
template <class Self, class T, class Given = T>
class group_interface {
 public:
  // Pushes all records of a range.
  template <class Range>
  void push_range(Range&& range) {
    if constexpr (requires(Self & sorter) { sorter.push(std::span<const T>(range)); }) {
      self().push(std::span<const T>(range));
    } else {
      for (auto&& record : range) self().push(record);
    }
  }
  // Pushes a record made of `parts`.
  template <class... Parts>
  void emplace(Parts&&... parts) {
    self().push(detail::make_record<T>(std::forward<Parts>(parts)...));
  }

  // The next records, at most `most`. The option `limit` sorts no more than needed for them.
  [[nodiscard]] std::vector<Given> top(std::uint64_t most) {
    std::vector<Given> first;
    self().sort();
    for (; first.size() < most && !self().empty(); ++self()) first.emplace_back(*self());
    return first;
  }

  // The next group of records with equal keys as one. `sum` is its first record, and fold(sum,
  // next) was called with the others in order, where `next` is what operator* gives. False at the
  // end. If `fold` throws, the rest of its group is lost. The sorter can then only be rewound,
  // cleared or destroyed.
  template <class Fold>
  bool pull_reduced(Given& sum, Fold&& fold) {
    self().sort();
    if (self().empty()) return false;
    sum = *self();
    const auto& key = self().group_key();
    try {
      while (++self(), !self().empty() && self().is_of_group(key)) fold(sum, *self());
    } catch (...) {
      self().lose_group();
      throw;
    }
    return true;
  }

  // Groups of records with equal keys, as an input range of record_group. Groups may have any size.
  // The key is the first record of the group. For records of any length it is their key().
  // Unread records of a group are passed over when the loop goes on. The sorter must outlive the
  // range.
  [[nodiscard]] auto groups() { return Groups<WholeKey>(self(), WholeKey()); }
  // The same for keys that `key` gives: a member or function of what operator* gives. The order of
  // the sorter must begin with this key. Otherwise equal keys may be in several groups.
  template <class KeyOf>
  [[nodiscard]] auto groups(KeyOf key) {
    return Groups<KeyOf>(self(), std::move(key));
  }
  // One value for each group, as an input range of std::pair(key, value). The value begins as
  // `init`, and fold(value, record) changes it. An exception of `fold` is as in pull_reduced().
  template <class KeyOf, class Value, class Fold>
  [[nodiscard]] auto fold_by(KeyOf key, Value init, Fold fold) {
    return FoldedGroups<KeyOf, Value, Fold>(self(), std::move(key), std::move(init),
                                            std::move(fold));
  }

 protected:
  group_interface() = default;

 private:
  struct WholeKey {};

  // The groups as an input range. KeyOf: a projection, or the whole key of the sorter.
  template <class KeyOf>
  class Groups {
   public:
    static auto key_of(Self& sorter, const KeyOf& projection) {
      if constexpr (std::is_same_v<KeyOf, WholeKey>) {
        return sorter.group_key();
      } else {
        const auto& record = *sorter;
        using Key = decltype(detail::project(projection, record));
        return detail::KeptKey<Key>(detail::project(projection, record));
      }
    }
    using Key = decltype(key_of(std::declval<Self&>(), std::declval<const KeyOf&>()));
    static_assert(!std::is_pointer_v<Key>, "the key of groups is a value, not an array or pointer");

    // The records of the group, as an input range.
    class Rows {
     public:
      using value_type = Given;
      explicit Rows(Groups& groups) : groups_(&groups) {}
      bool empty() const { return !groups_->has_row(); }
      decltype(auto) operator*() const { return **groups_->sorter_; }
      Rows& operator++() {
        groups_->is_first_ = false;
        ++*groups_->sorter_;
        return *this;
      }
      auto begin() { return detail::PullIterator<Rows>(*this); }
      std::default_sentinel_t end() const { return {}; }

     private:
      Groups* groups_;
    };
    using value_type = record_group<Key, Rows>;

    Groups(Self& sorter, KeyOf projection) : sorter_(&sorter), projection_(std::move(projection)) {
      sorter.sort();
    }
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;

    bool empty() { return !key_ && sorter_->empty(); }
    value_type operator*() {
      load();
      return {*key_, rows_};
    }
    // Passes over the rest of the group.
    Groups& operator++() {
      load();
      while (has_row()) ++rows_;
      key_.reset();
      return *this;
    }
    auto begin() { return detail::PullIterator<Groups>(*this); }
    std::default_sentinel_t end() const { return {}; }

   private:
    void load() {
      if (key_) return;
      if (sorter_->empty()) detail::throw_at_end();
      key_.emplace(key_of(*sorter_, projection_));
      is_first_ = true;
    }
    bool has_row() {
      if (is_first_) return true;  // whatever its key is equal to
      if (!key_ || sorter_->empty()) return false;
      if constexpr (std::is_same_v<KeyOf, WholeKey>) {
        return sorter_->is_of_group(*key_);
      } else {
        const auto& record = **sorter_;
        const auto& key = detail::project(projection_, record);
        return detail::compare_values<std::remove_cvref_t<decltype(key)>>(*key_, key) == 0;
      }
    }

    Self* sorter_;
    KeyOf projection_;
    std::optional<Key> key_;  // key of the current group
    bool is_first_ = false;   // the first record of the group is next
    Rows rows_{*this};
  };

  // A value for each group, as an input range.
  template <class KeyOf, class Value, class Fold>
  class FoldedGroups {
   public:
    using value_type = std::pair<typename Groups<KeyOf>::Key, Value>;

    FoldedGroups(Self& sorter, KeyOf key, Value init, Fold fold)
        : sorter_(&sorter),
          groups_(sorter, std::move(key)),
          init_(std::move(init)),
          fold_(std::move(fold)) {}

    bool empty() { return !folded_ && groups_.empty(); }
    const value_type& operator*() {
      load();
      return *folded_;
    }
    FoldedGroups& operator++() {
      load();
      folded_.reset();
      return *this;
    }
    auto begin() { return detail::PullIterator<FoldedGroups>(*this); }
    std::default_sentinel_t end() const { return {}; }

   private:
    void load() {
      if (folded_) return;
      auto [key, rows] = *groups_;
      Value value = init_;
      try {
        for (auto&& record : rows) {
          static_assert(std::is_void_v<decltype(fold_(value, record))>,
                        "fold(value, record) changes the value and returns nothing");
          fold_(value, record);
        }
        folded_.emplace(key, std::move(value));
      } catch (...) {
        sorter_->lose_group();
        throw;
      }
      ++groups_;
    }

    Self* sorter_;
    Groups<KeyOf> groups_;
    Value init_;
    Fold fold_;
    std::optional<value_type> folded_;
  };

  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace xxl
