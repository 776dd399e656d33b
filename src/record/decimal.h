// Decimal numbers as people write them, of any length, and exact sums of them. Never through
// floating point: 0.1 is a tenth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

// A number taken apart: (-1)^negative x 0.d1d2d3... x 10^point, where d1d2d3... are the digits of
// `whole` and then those of `fraction`, and neither the first nor the last of them is 0. Zero has
// no digits. The views point into the text.
//
//   -0012.50e3   negative, whole "12", fraction "5", point 5, decimals 0
struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  std::int64_t point = 0;
  std::int64_t decimals = 0;  // digits after the decimal point as written, the exponent applied

  bool is_zero() const { return whole.empty() && fraction.empty(); }
  std::size_t digits() const { return whole.size() + fraction.size(); }
};

// [+-] digits [. digits] [e [+-] digits], with at least one digit before the e; blanks around it
// are allowed. None if `text` is anything else, or its exponent has more than 18 digits.
std::optional<Decimal> parse_decimal(std::string_view text);

// Without the blanks and tabs around it.
std::string_view trim_blanks(std::string_view text);

// An exact sum. It is written with as many decimals as the number with most of them had, so that
// summing sums gives the same text, in whatever order.
class DecimalSum {
 public:
  // Digits that a number may have on either side of the decimal point, when written without
  // exponent.
  static constexpr std::int64_t kMaxPlaces = 10000;
  static constexpr std::size_t kDecimalsOfMean = 6;  // in addition to those of the sum

  // False, and nothing is added, if the number is out of bounds.
  [[nodiscard]] bool add(const Decimal& number);
  static bool is_in_bounds(const Decimal& number);

  // -?digits[.digits]
  std::string text() const;
  // The sum divided by `count` > 0: rounded to six decimals more than the sum has, to the nearest,
  // ties to even; of these six, zeros at the end are left out.
  std::string mean(std::uint64_t count) const;

 private:
  // A number that is not negative: limbs of nine digits, the least significant first, of which
  // fraction_limbs are after the decimal point.
  struct Magnitude {
    std::vector<std::uint32_t> limbs;
    std::size_t fraction_limbs = 0;

    void set_fraction_limbs(std::size_t count);  // at least as many as there are
    void add_limb(std::size_t index, std::uint64_t value);
    void add(const Decimal& number);
  };

  bool add_small(const Decimal& number);
  void spill();

  // What fits is summed here, in units of 10^-small_decimals_; the rest in magnitudes by sign.
  __int128 small_ = 0;
  std::int64_t small_decimals_ = 0;
  Magnitude positive_;
  Magnitude negative_;
  std::int64_t decimals_ = 0;
};

}  // namespace xxl
