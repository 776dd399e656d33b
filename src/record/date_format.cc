#include "record/date_format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "record/digits.h"

namespace xxl {
namespace {

constexpr std::string_view kConversions = "YymbBhdejHIMSfpzaA%";
// Each group says one thing, which a format says once.
constexpr std::array<std::string_view, 10> kGroups = {"Yy", "mbBhj", "dej", "HI", "M",
                                                      "S",  "f",     "p",   "z",  "aA"};

constexpr std::array<std::pair<char, std::string_view>, 4> kShort = {
    {{'F', "%Y-%m-%d"}, {'D', "%m/%d/%y"}, {'T', "%H:%M:%S"}, {'R', "%H:%M"}}};

constexpr std::array<std::string_view, 12> kMonths = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> kWeekdays = {"sunday",   "monday", "tuesday", "wednesday",
                                                       "thursday", "friday", "saturday"};
constexpr std::size_t kShortName = 3;

std::string without_short_forms(std::string_view text) {
  std::string longer;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_conversion = text[i] == '%' && i + 1 < text.size();
    const auto found = std::find_if(kShort.begin(), kShort.end(), [&](const auto& form) {
      return is_conversion && form.first == text[i + 1];
    });
    if (found != kShort.end()) {
      longer += found->second;
      ++i;
    } else {
      longer += text[i];
      if (is_conversion) longer += text[++i];
    }
  }
  return longer;
}

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

// A date as it is read, before it is looked up in the calendar.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool read(std::string_view format) {
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (is_space(format[i])) {
        skip_blanks();
      } else if (format[i] == '%') {
        if (!read_conversion(format[++i])) return false;
      } else if (!take(format[i])) {
        return false;
      }
    }
    return text_.empty();
  }

  std::optional<Moment> moment() const {
    namespace chrono = std::chrono;
    const chrono::year year(static_cast<int>(year_));
    chrono::sys_days days = year / 1 / 1;
    if (day_of_year_ != 0) {
      if (day_of_year_ > (year.is_leap() ? 366 : 365)) return {};
      days += chrono::days(day_of_year_ - 1);
    } else {
      const chrono::year_month_day date{year, chrono::month(static_cast<unsigned>(month_)),
                                        chrono::day(static_cast<unsigned>(day_))};
      if (!date.ok()) return {};
      days = date;
    }
    if (weekday_ != kAnyWeekday && chrono::weekday(days).c_encoding() != weekday_) return {};
    std::int64_t hour = hour_;
    if (twelve_hours_) hour = hour % 12 + (is_afternoon_ ? 12 : 0);
    constexpr chrono::sys_days kFirstDay{chrono::year(0) / 1 / 1};
    return Moment{
        chrono::seconds(days - kFirstDay).count() + hour * 3600 + minute_ * 60 + second_ - offset_,
        nanoseconds_};
  }

 private:
  static constexpr unsigned kAnyWeekday = kWeekdays.size();

  bool take(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void skip_blanks() {
    while (!text_.empty() && is_space(text_[0])) text_.remove_prefix(1);
  }

  std::size_t take_digits(std::size_t most, std::int64_t& value) {
    std::size_t count = 0;
    value = 0;
    for (; count < most && count < text_.size() && is_digit(text_[count]); ++count) {
      value = value * 10 + (text_[count] - '0');
    }
    text_.remove_prefix(count);
    return count;
  }

  bool number(std::size_t most, std::int64_t low, std::int64_t high, std::int64_t& value) {
    return take_digits(most, value) > 0 && value >= low && value <= high;
  }

  // Whole, or its first three letters, in upper or lower case.
  template <std::size_t N>
  std::optional<unsigned> name(const std::array<std::string_view, N>& names) {
    const auto starts_with = [&](std::string_view word) {
      if (text_.size() < word.size()) return false;
      return std::equal(word.begin(), word.end(), text_.begin(), [](char a, char b) {
        return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
      });
    };
    for (const bool whole : {true, false}) {
      for (unsigned i = 0; i < N; ++i) {
        const std::string_view word = names[i].substr(0, whole ? names[i].npos : kShortName);
        if (!starts_with(word)) continue;
        text_.remove_prefix(word.size());
        return i;
      }
    }
    return {};
  }

  bool read_conversion(char conversion) {
    switch (conversion) {
      case 'Y':
        return take_digits(4, year_) == 4;
      case 'y':
        if (take_digits(2, year_) != 2) return false;
        year_ += year_ < 69 ? 2000 : 1900;
        return true;
      case 'm':
        return number(2, 1, 12, month_);
      case 'b':
      case 'B':
      case 'h': {
        const std::optional<unsigned> month = name(kMonths);
        month_ = month.value_or(0) + 1;
        return month.has_value();
      }
      case 'e':
        skip_blanks();
        return number(2, 1, 31, day_);
      case 'd':
        return number(2, 1, 31, day_);
      case 'j':
        return number(3, 1, 366, day_of_year_);
      case 'H':
        return number(2, 0, 23, hour_);
      case 'I':
        twelve_hours_ = true;
        return number(2, 1, 12, hour_);
      case 'M':
        return number(2, 0, 59, minute_);
      case 'S':
        return number(2, 0, 60, second_);
      case 'f':
        return read_fraction();
      case 'p':
        return read_half_of_day();
      case 'z':
        return read_zone();
      case 'a':
      case 'A':
        weekday_ = name(kWeekdays).value_or(kAnyWeekday);
        return weekday_ != kAnyWeekday;
      default:
        return take('%');
    }
  }

  bool read_fraction() {
    std::int64_t value = 0;
    std::size_t digits = take_digits(9, value);
    if (digits == 0) return false;
    for (; digits < 9; ++digits) value *= 10;
    nanoseconds_ = static_cast<std::uint32_t>(value);
    return true;
  }

  bool read_half_of_day() {
    if (text_.empty()) return false;
    const char half = text_[0];
    is_afternoon_ = half == 'P' || half == 'p';
    if (!is_afternoon_ && half != 'A' && half != 'a') return false;
    text_.remove_prefix(1);
    return take('M') || take('m');
  }

  bool read_zone() {
    if (take('Z') || take('z')) return true;
    const bool west = take('-');
    if (!west && !take('+')) return false;
    std::int64_t hours = 0, minutes = 0;
    if (take_digits(2, hours) != 2 || hours > 23) return false;
    take(':');
    if (take_digits(2, minutes) != 2 || minutes > 59) return false;
    offset_ = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
    return true;
  }

  std::string_view text_;
  std::int64_t year_ = 0;
  std::int64_t month_ = 1;
  std::int64_t day_ = 1;
  std::int64_t day_of_year_ = 0;  // 0: month and day say it
  std::int64_t hour_ = 0;
  bool twelve_hours_ = false;
  bool is_afternoon_ = false;
  std::int64_t minute_ = 0;
  std::int64_t second_ = 0;
  std::uint32_t nanoseconds_ = 0;
  std::int64_t offset_ = 0;
  unsigned weekday_ = kAnyWeekday;
};

}  // namespace

std::optional<std::string> DateFormat::fault_of(std::string_view text) {
  const std::string format = without_short_forms(text);
  std::string seen;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    const char conversion = i + 1 < format.size() ? format[++i] : '\0';
    if (conversion == '\0' || kConversions.find(conversion) == kConversions.npos) {
      return "'%" + (conversion == '\0' ? std::string() : std::string(1, conversion)) +
             "' is not known: use %Y %y %m %b %B %d %e %j %H %I %M %S %f %p %z %a %A %F %D %T %R "
             "or %%";
    }
    for (const std::string_view group : kGroups) {
      if (group.find(conversion) == group.npos) continue;
      const std::size_t other = seen.find_first_of(group);
      if (other == seen.npos) continue;
      return seen[other] == conversion ? "'%" + std::string(1, conversion) + "' is given twice"
                                       : "'%" + std::string(1, seen[other]) + "' and '%" +
                                             std::string(1, conversion) + "' exclude each other";
    }
    if (conversion != '%') seen.push_back(conversion);
  }
  const auto has = [&](char c) { return seen.find(c) != seen.npos; };
  if (seen.empty()) return "it has no part of a date, as in %d/%m/%Y";
  if (has('p') != has('I')) return "%I and %p go together, and %H needs neither";
  return {};
}

DateFormat::DateFormat(std::string_view text) : text_(without_short_forms(text)) {
  XXL_CHECK(!fault_of(text));
}

std::optional<Moment> DateFormat::read(std::string_view text) const {
  Reader reader(text);
  if (!reader.read(text_)) return {};
  return reader.moment();
}

}  // namespace xxl
