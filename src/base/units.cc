#include "base/units.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/machine_limits.h"

namespace xxl {
namespace {

[[noreturn]] void throw_bad_value(std::string_view option, std::string_view text,
                                  const std::string& wanted) {
  throw Error(ErrorCode::usage, "invalid " + std::string(option) + " argument '" +
                                    std::string(text) + "': " + wanted);
}

// The kernel refuses a set that has no room for all the processors that it was built for.
unsigned processors_of_affinity() {
  constexpr int kMostProcessors = 1 << 20;
  for (int room = CPU_SETSIZE; room <= kMostProcessors; room *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    std::vector<cpu_set_t> set(ceil_div(bytes, sizeof(cpu_set_t)));
    if (sched_getaffinity(0, bytes, set.data()) == 0) {
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(bytes, set.data())));
    }
    if (errno != EINVAL) break;
  }
  return 1;
}

}  // namespace

std::uint64_t parse_size(std::string_view text, std::string_view option,
                         std::uint64_t physical_bytes) {
  const std::string wanted = "give a number with b, K, M, G, T, P or %";
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{}) throw_bad_value(option, text, wanted);
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix == "%") {
    if (value > 100) throw_bad_value(option, text, "a percentage is at most 100");
    return physical_bytes / 100 * value;
  }
  if (suffix.size() > 1 && (suffix.substr(1) == "iB" || suffix.substr(1) == "B")) {
    suffix = suffix.substr(0, 1);
  }
  int shift = 0;
  if (suffix.empty() || suffix == "K" || suffix == "k") {
    shift = 10;
  } else if (suffix == "b") {
    shift = 0;
  } else if (suffix == "M" || suffix == "m") {
    shift = 20;
  } else if (suffix == "G" || suffix == "g") {
    shift = 30;
  } else if (suffix == "T" || suffix == "t") {
    shift = 40;
  } else if (suffix == "P") {
    shift = 50;
  } else {
    throw_bad_value(option, text, wanted);
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    throw_bad_value(option, text, "too large");
  }
  return value << shift;
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

unsigned available_processors() {
  const std::uint64_t by_quota = ControlGroups().processors();
  return static_cast<unsigned>(std::min<std::uint64_t>(by_quota, processors_of_affinity()));
}

std::uint64_t physical_memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(pages * page_bytes, ControlGroups().memory_bytes());
}

}  // namespace xxl
