#include "base/units.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"

namespace xxl {
namespace {

[[noreturn]] void throw_bad_value(std::string_view option, std::string_view text,
                                  const std::string& wanted) {
  throw Error(ErrorCode::usage, "invalid " + std::string(option) + " argument '" +
                                    std::string(text) + "': " + wanted);
}

}  // namespace

std::uint64_t parse_size(std::string_view text, std::string_view option,
                         std::uint64_t physical_bytes) {
  const bool takes_percent = physical_bytes != 0;
  const std::string wanted = std::string("give a number with K, M, G or T") +
                             (takes_percent ? ", or %" : "") +
                             ", as in 512M; K and KiB are 1024 bytes, KB is 1000, b is one";
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{}) throw_bad_value(option, text, wanted);
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix == "%" && takes_percent) {
    if (value > 100) throw_bad_value(option, text, "a percentage is at most 100");
    return physical_bytes / 100 * value;
  }
  if (suffix.empty()) suffix = "K";
  const std::string_view kind = suffix.substr(1);
  const bool is_decimal = kind == "B";
  constexpr std::string_view kUnits = "bKMGTP", kSmall = "?kmgt";
  const std::size_t unit = std::min(kUnits.find(suffix[0]), kSmall.find(suffix[0]));
  const bool is_unit = unit != kUnits.npos && suffix[0] != '?';
  if (!is_unit || !(kind.empty() || (unit > 0 && (is_decimal || kind == "iB")))) {
    throw_bad_value(option, text, wanted);
  }
  for (std::size_t i = 0; i < unit; ++i) {
    const std::uint64_t factor = is_decimal ? 1000 : 1024;
    if (value > std::numeric_limits<std::uint64_t>::max() / factor) {
      throw_bad_value(option, text, "too large");
    }
    value *= factor;
  }
  return value;
}

std::uint64_t parse_number(std::string_view text, std::string_view option, std::uint64_t low,
                           std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    throw_bad_value(option, text,
                    "give a number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

std::uint64_t parse_count(std::string_view text, std::string_view option) {
  constexpr std::string_view kSuffixes = "kMGT";
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::uint64_t factor = 1;
  std::size_t suffix = std::string_view::npos;
  if (end - rest == 1) suffix = kSuffixes.find(*rest == 'K' ? 'k' : *rest);
  if (suffix != std::string_view::npos) {
    for (std::size_t i = 0; i <= suffix; ++i) factor *= 1000;
  }
  const bool well_formed = rest == end || suffix != std::string_view::npos;
  if (error != std::errc{} || !well_formed ||
      value > std::numeric_limits<std::uint64_t>::max() / factor) {
    throw_bad_value(option, text, "give a number, with k, M, G or T for powers of 1000");
  }
  return value * factor;
}

std::string format_count(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  const bool is_whole = unit == 0 || value == static_cast<double>(static_cast<int>(value));
  char digits[32];  // the same in every locale
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed,
                                 is_whole ? 0 : 1);
  return std::string(digits, end.ptr) + " " + kUnits[unit];
}

}  // namespace xxl
