#include "record/iso_date.h"

#include <chrono>

namespace xxl {
namespace {

// Reads ISO 8601 from the front of a text.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : text_(text) {}

  std::optional<Moment> read() {
    Moment moment;
    if (!read_date(moment)) return {};
    if (text_.empty()) return moment;
    if (!take('T') && !take('t') && !take(' ')) return {};
    if (!read_time(moment) || !read_zone(moment) || !text_.empty()) return {};
    return moment;
  }

 private:
  static constexpr std::chrono::sys_days kFirstDay{std::chrono::year(0) / 1 / 1};

  bool take(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  // A number of exactly `digits` digits, at most `high`.
  bool number(unsigned digits, std::int64_t high, std::int64_t& value) {
    if (text_.size() < digits) return false;
    value = 0;
    for (unsigned i = 0; i < digits; ++i) {
      const unsigned digit = static_cast<unsigned char>(text_[i] - '0');
      if (digit > 9) return false;
      value = value * 10 + digit;
    }
    text_.remove_prefix(digits);
    return value <= high;
  }

  bool read_date(Moment& moment) {
    std::int64_t year = 0, month = 0, day = 0;
    if (!number(4, 9999, year)) return false;
    extended_ = take('-');
    if (!number(2, 12, month)) return false;
    if (extended_ && !take('-')) return false;
    if (!number(2, 31, day)) return false;
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return false;
    moment.seconds = std::chrono::seconds(std::chrono::sys_days(date) - kFirstDay).count();
    return true;
  }

  bool read_time(Moment& moment) {
    std::int64_t hour = 0, minute = 0, second = 0;
    if (!number(2, 24, hour)) return false;
    if (extended_ && !take(':')) return false;
    if (!number(2, 59, minute)) return false;
    const bool has_seconds =
        extended_ ? take(':') : !text_.empty() && text_[0] >= '0' && text_[0] <= '9';
    if (has_seconds && !number(2, 60, second)) return false;
    if (has_seconds && (take('.') || take(','))) {
      if (!read_fraction(moment)) return false;
    }
    if (hour == 24 && (minute != 0 || second != 0 || moment.nanoseconds != 0)) return false;
    moment.seconds += hour * 3600 + minute * 60 + second;
    return true;
  }

  bool read_fraction(Moment& moment) {
    unsigned digits = 0;
    std::uint32_t value = 0;
    for (; !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; text_.remove_prefix(1)) {
      if (digits == 9) {
        if (text_[0] != '0') return false;
        continue;
      }
      value = value * 10 + static_cast<std::uint32_t>(text_[0] - '0');
      ++digits;
    }
    if (digits == 0) return false;
    for (; digits < 9; ++digits) value *= 10;
    moment.nanoseconds = value;
    return true;
  }

  bool read_zone(Moment& moment) {
    if (text_.empty() || take('Z') || take('z')) return true;
    take(' ');
    const bool west = take('-');
    if (!west && !take('+')) return false;
    std::int64_t hour = 0, minute = 0;
    if (!number(2, 23, hour)) return false;
    if (!text_.empty()) {
      take(':');
      if (!number(2, 59, minute)) return false;
    }
    const std::int64_t offset = hour * 3600 + minute * 60;
    moment.seconds += west ? offset : -offset;
    return true;
  }

  std::string_view text_;
  bool extended_ = false;  // with '-' in the date and ':' in the time
};

}  // namespace

std::optional<Moment> parse_iso_date(std::string_view text) {
  return DateReader(text).read();
}

}  // namespace xxl
