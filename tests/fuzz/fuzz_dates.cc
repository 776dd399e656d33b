// Any texts as dates: what is one, the moment that it is, and the order of keys.
#include <compare>
#include <cstdio>
#include <ctime>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "record/csv_keys.h"
#include "record/csv_rows.h"
#include "record/iso_date.h"

namespace xxl {
namespace {

using fuzz::require;

constexpr std::size_t kMostBytes = 100;  // std::regex recurs

// As docs/internals/csv.md says, by a regular expression and timegm(3).
std::optional<Moment> reference_date(const std::string& text) {
  static const std::string kZone = R"((?:[Zz]| ?([+-])(\d\d)(?::?(\d\d))?)?)";
  static const std::regex kExtended(
      R"((\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)" + kZone + ")?");
  static const std::regex kBasic(
      R"((\d{4})(\d\d)(\d\d)(?:[Tt ](\d\d)(\d\d)(?:(\d\d)(?:[.,](\d+))?)?)" + kZone + ")?");
  std::smatch match;
  if (!std::regex_match(text, match, kExtended) && !std::regex_match(text, match, kBasic)) {
    return {};
  }
  const auto number = [&](std::size_t i) {
    return match[i].matched && match[i].length() > 0 ? std::stoi(match[i].str()) : 0;
  };
  std::string fraction = match[7].str();
  if (fraction.find_first_not_of('0', 9) != fraction.npos && fraction.size() > 9) return {};
  fraction.resize(9, '0');
  Moment moment;
  moment.nanoseconds = static_cast<std::uint32_t>(std::stoul(fraction));
  const int hour = number(4), minute = number(5), second = number(6);
  const bool is_midnight = hour == 24 && minute == 0 && second == 0 && moment.nanoseconds == 0;
  if ((hour > 23 && !is_midnight) || minute > 59 || second > 60) return {};
  if (number(9) > 23 || number(10) > 59) return {};
  std::tm date{};
  date.tm_year = number(1) - 1900;
  date.tm_mon = number(2) - 1;
  date.tm_mday = number(3);
  const std::tm asked = date;
  const std::time_t day = timegm(&date);
  // A day that is not in the calendar is another one.
  if (date.tm_mon != asked.tm_mon || date.tm_mday != asked.tm_mday) return {};
  constexpr std::int64_t kFrom0To1970 = 62167219200;
  const int zone = number(9) * 3600 + number(10) * 60;
  moment.seconds = day + kFrom0To1970 + hour * 3600 + minute * 60 + second -
                   (match[8].str() == "-" ? -zone : zone);
  return moment;
}

bool same(const Moment& a, const Moment& b) {
  return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

// In UTC, for those within the years that can be written.
std::optional<std::string> print(const Moment& moment) {
  constexpr std::int64_t kFrom0To1970 = 62167219200, kEnd = 315569520000;
  if (moment.seconds < 0 || moment.seconds >= kEnd) return {};
  const std::time_t seconds = moment.seconds - kFrom0To1970;
  std::tm date{};
  gmtime_r(&seconds, &date);
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%09uZ", date.tm_year + 1900,
                date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec,
                moment.nanoseconds);
  return text;
}

std::string key_of(std::string_view text) {
  std::string key;
  RowFields fields;
  fields.parse(text, '\x1f');
  require(append_value_key(CsvType::date, fields[0], key));
  return key;
}

std::optional<Moment> check_date(std::string_view text) {
  const std::optional<Moment> moment = parse_iso_date(text);
  const std::optional<Moment> expected = reference_date(std::string(text));
  require(moment.has_value() == expected.has_value());
  if (!moment) return {};
  require(same(*moment, *expected));
  if (const auto printed = print(*moment)) {
    const std::optional<Moment> again = parse_iso_date(*printed);
    require(again && same(*again, *moment));
    require(key_of(*printed) == key_of(text));
  }
  return moment;
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  fuzz::Input input(data, size);
  const std::string_view a = input.take_until('\x1f'), b = input.take_until('\x1f');
  if (a.size() > kMostBytes || b.size() > kMostBytes) return 0;
  const std::optional<Moment> x = check_date(a), y = check_date(b);
  if (!x || !y) return 0;
  const auto expected =
      std::pair(x->seconds, x->nanoseconds) <=> std::pair(y->seconds, y->nanoseconds);
  fuzz::require((key_of(a) <=> key_of(b)) == expected);
  return 0;
}
