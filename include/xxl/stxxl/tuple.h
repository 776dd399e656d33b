// STXXL's tuples, whose members are first, second, ... sixth.
#pragma once

#include <limits>
#include <ostream>
#include <string_view>
#include <tuple>
#include <utility>

#include "xxl/stxxl/config.h"

namespace stxxl {

namespace detail {

struct no_member {};

// Functions that all tuples have. Self::members() is a std::tuple of references.
template <class Self>
struct tuple_operations {
  friend bool operator==(const Self& a, const Self& b) { return a.members() == b.members(); }
  friend std::ostream& operator<<(std::ostream& out, const Self& tuple) {
    std::string_view between = "(";
    std::apply(
        [&](const auto&... member) { ((out << std::exchange(between, ",") << member), ...); },
        tuple.members());
    return out << ')';
  }
  static Self min_value() {
    return of_limits([](auto limits) { return limits.min(); });
  }
  static Self max_value() {
    return of_limits([](auto limits) { return limits.max(); });
  }

 private:
  template <class Limit>
  static Self of_limits(Limit limit) {
    return [&]<class... Member>(std::tuple<const Member&...> (Self::*)() const) {
      return Self(limit(std::numeric_limits<Member>())...);
    }(&Self::members);
  }
};

}  // namespace detail

template <class T1, class T2 = detail::no_member, class T3 = detail::no_member,
          class T4 = detail::no_member, class T5 = detail::no_member, class T6 = detail::no_member>
struct tuple;

template <class T1>
struct tuple<T1> : detail::tuple_operations<tuple<T1>> {
  using first_type = T1;
  tuple() = default;  // members have no values
  tuple(const T1& a) : first(a) {}
  std::tuple<const T1&> members() const { return {first}; }

  T1 first;
};

template <class T1, class T2>
struct tuple<T1, T2> : detail::tuple_operations<tuple<T1, T2>> {
  using first_type = T1;
  using second_type = T2;
  tuple() = default;
  tuple(const T1& a, const T2& b) : first(a), second(b) {}
  std::tuple<const T1&, const T2&> members() const { return {first, second}; }

  T1 first;
  T2 second;
};

template <class T1, class T2, class T3>
struct tuple<T1, T2, T3> : detail::tuple_operations<tuple<T1, T2, T3>> {
  using first_type = T1;
  using second_type = T2;
  using third_type = T3;
  tuple() = default;
  tuple(const T1& a, const T2& b, const T3& c) : first(a), second(b), third(c) {}
  std::tuple<const T1&, const T2&, const T3&> members() const { return {first, second, third}; }

  T1 first;
  T2 second;
  T3 third;
};

template <class T1, class T2, class T3, class T4>
struct tuple<T1, T2, T3, T4> : detail::tuple_operations<tuple<T1, T2, T3, T4>> {
  using first_type = T1;
  using second_type = T2;
  using third_type = T3;
  using fourth_type = T4;
  tuple() = default;
  tuple(const T1& a, const T2& b, const T3& c, const T4& d)
      : first(a), second(b), third(c), fourth(d) {}
  std::tuple<const T1&, const T2&, const T3&, const T4&> members() const {
    return {first, second, third, fourth};
  }

  T1 first;
  T2 second;
  T3 third;
  T4 fourth;
};

template <class T1, class T2, class T3, class T4, class T5>
struct tuple<T1, T2, T3, T4, T5> : detail::tuple_operations<tuple<T1, T2, T3, T4, T5>> {
  using first_type = T1;
  using second_type = T2;
  using third_type = T3;
  using fourth_type = T4;
  using fifth_type = T5;
  tuple() = default;
  tuple(const T1& a, const T2& b, const T3& c, const T4& d, const T5& e)
      : first(a), second(b), third(c), fourth(d), fifth(e) {}
  std::tuple<const T1&, const T2&, const T3&, const T4&, const T5&> members() const {
    return {first, second, third, fourth, fifth};
  }

  T1 first;
  T2 second;
  T3 third;
  T4 fourth;
  T5 fifth;
};

template <class T1, class T2, class T3, class T4, class T5, class T6>
struct tuple : detail::tuple_operations<tuple<T1, T2, T3, T4, T5, T6>> {
  using first_type = T1;
  using second_type = T2;
  using third_type = T3;
  using fourth_type = T4;
  using fifth_type = T5;
  using sixth_type = T6;
  tuple() = default;
  tuple(const T1& a, const T2& b, const T3& c, const T4& d, const T5& e, const T6& f)
      : first(a), second(b), third(c), fourth(d), fifth(e), sixth(f) {}
  std::tuple<const T1&, const T2&, const T3&, const T4&, const T5&, const T6&> members() const {
    return {first, second, third, fourth, fifth, sixth};
  }

  T1 first;
  T2 second;
  T3 third;
  T4 fourth;
  T5 fifth;
  T6 sixth;
};

// Orders by members.
#define XXL_STXXL_TUPLE_ORDER(name, least, greatest, ...)                         \
  template <class Tuple>                                                          \
  struct name {                                                                   \
    using value_type = Tuple;                                                     \
    bool operator()(const Tuple& a, const Tuple& b) const { return __VA_ARGS__; } \
    static Tuple min_value() { return Tuple::least(); }                           \
    static Tuple max_value() { return Tuple::greatest(); }                        \
  }
XXL_STXXL_TUPLE_ORDER(tuple_less1st, min_value, max_value, a.first < b.first);
XXL_STXXL_TUPLE_ORDER(tuple_greater1st, max_value, min_value, b.first < a.first);
XXL_STXXL_TUPLE_ORDER(tuple_less2nd, min_value, max_value, a.second < b.second);
XXL_STXXL_TUPLE_ORDER(tuple_less1st_less2nd, min_value, max_value,
                      std::tie(a.first, a.second) < std::tie(b.first, b.second));
#undef XXL_STXXL_TUPLE_ORDER

}  // namespace stxxl
