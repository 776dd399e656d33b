// Dates and times of ISO 8601.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace xxl {

// A moment, in UTC.
struct Moment {
  std::int64_t seconds = 0;  // since 0000-01-01, Gregorian
  std::uint32_t nanoseconds = 0;
};

// A date, with or without time and zone (none: UTC): "2026-11-30", "20261130T0815", "2026-11-30
// 08:15:00.5 +01:00". Nothing if `text` is none, or continues after it.
std::optional<Moment> parse_iso_date(std::string_view text);

}  // namespace xxl
