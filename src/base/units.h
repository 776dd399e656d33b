// Sizes: constants, rounding, and the text form of byte counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xxl {

inline constexpr std::size_t kKiB = std::size_t{1} << 10;
inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kGiB = std::size_t{1} << 30;

// Alignment of every buffer, file offset and length that goes to a disk directly (O_DIRECT).
inline constexpr std::size_t kSectorBytes = 4096;

template <class T>
constexpr T round_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

template <class T>
constexpr T round_down(T value, T unit) {
  return value / unit * unit;
}

template <class T>
constexpr T ceil_div(T value, T unit) {
  return (value + unit - 1) / unit;
}

// Reads a size: a number with a suffix b (bytes), K (default), M, G, T, P for powers of 1024, also
// as KiB or in lower case, KB, MB, ... for powers of 1000, or % of `physical_bytes` (0: % is
// refused). Throws Error{usage} naming `option` when it is not one, or is too large.
std::uint64_t parse_size(std::string_view text, std::string_view option,
                         std::uint64_t physical_bytes);

// Reads a plain decimal number in [low, high]. Throws Error{usage} naming `option` otherwise.
std::uint64_t parse_number(std::string_view text, std::string_view option, std::uint64_t low,
                           std::uint64_t high);

// "1000", "10k", "2M", "3G", "1T": powers of 1000, as records are counted. Throws Error{usage} that
// names `option`.
std::uint64_t parse_count(std::string_view text, std::string_view option);

// "512 B", "1.5 GiB": for people.
std::string format_bytes(std::uint64_t bytes);

// "1 row", "2 rows": `noun` in the singular.
std::string format_count(std::uint64_t count, std::string_view noun);

}  // namespace xxl
