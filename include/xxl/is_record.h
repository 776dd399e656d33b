// Which types records may have.
#pragma once

#include <type_traits>
#include <utility>

namespace xxl {

namespace detail {

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wdeprecated-builtins"
#endif
// Without regard to its destructor, unlike std::is_trivially_copy_constructible.
template <class T>
inline constexpr bool kCopiesBytes = __has_trivial_copy(T);
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace detail

// Records are written to disk as the bytes that they are, and read back as such. This is right for
// types whose copy constructor copies bytes: numbers, std::pair and std::tuple of them, structs of
// such. Assignment, if there is any, must copy all of them as well. Destructors may do anything. A
// program vouches for other types of its own by a specialization.
template <class T>
struct is_record : std::bool_constant<std::is_copy_constructible_v<T> && detail::kCopiesBytes<T>> {
};

// The same as a value.
template <class T>
inline constexpr bool is_record_v = is_record<T>::value;

namespace detail {

// A record made of `parts`: by a constructor, or member by member.
template <class T, class... Parts>
T make_record(Parts&&... parts) {
  if constexpr (std::is_constructible_v<T, Parts...>) {
    return T(std::forward<Parts>(parts)...);
  } else {
    return T{std::forward<Parts>(parts)...};
  }
}

}  // namespace detail

}  // namespace xxl
