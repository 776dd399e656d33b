#include "record/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.h"

namespace xxl {
namespace {

constexpr int kDigitBits = 32;
constexpr std::int64_t kDigitMask = 0xffffffff;
constexpr int kLowestExponent = -1074;  // of the lowest bit of digit 0
constexpr int kFractionBits = 52;       // of a double

}  // namespace

void ExactSum::add(double value) {
  if (!std::isfinite(value)) {
    special_ += value;
    return;
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<int>((bits >> kFractionBits) & 0x7ff);
  std::uint64_t fraction = bits & ((std::uint64_t{1} << kFractionBits) - 1);
  if (exponent != 0) fraction |= std::uint64_t{1} << kFractionBits;
  const int place = std::max(exponent, 1) - 1;  // of its lowest bit
  const auto shifted = static_cast<unsigned __int128>(fraction) << (place % kDigitBits);
  const auto digit = static_cast<std::size_t>(place / kDigitBits);
  const std::int64_t sign = std::signbit(value) ? -1 : 1;
  for (std::size_t i = 0; i < 3; ++i) {
    digits_[digit + i] +=
        sign * (static_cast<std::int64_t>(shifted >> (kDigitBits * i)) & kDigitMask);
  }
  if (++additions_ == kMostAdditions) carry();
}

void ExactSum::add(const ExactSum& other) {
  if (other.additions_ >= kMostAdditions - additions_) carry();
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += other.digits_[i];
  additions_ += other.additions_ + 1;
  if (additions_ >= kMostAdditions) carry();
  special_ += other.special_;
}

// Leaves digits of 32 bits, but for the last one, which has the sign.
void ExactSum::carry() {
  for (std::size_t i = 0; i + 1 < digits_.size(); ++i) {
    digits_[i + 1] += digits_[i] >> kDigitBits;
    digits_[i] &= kDigitMask;
  }
  additions_ = 1;
}

// Digits that are not negative move up by one: what is behind the quotient's last one is in its
// place, exact enough for any rounding, as its lowest bit says whether still more follows.
void ExactSum::divide(std::uint64_t divisor) {
  XXL_CHECK(digits_.back() == 0);
  std::copy_backward(digits_.begin(), digits_.end() - 1, digits_.end());
  digits_.front() = 0;
  unsigned __int128 rest = 0;
  for (auto digit = digits_.rbegin(); digit != digits_.rend(); ++digit) {
    rest = rest << kDigitBits | static_cast<std::uint64_t>(*digit);
    *digit = static_cast<std::int64_t>(rest / divisor);
    rest %= divisor;
  }
  if (rest != 0) digits_.front() |= 1;
}

// To `precision` bits, of which none is below bit `lowest_bit`.
double ExactSum::rounded(int precision, int lowest_bit, std::uint64_t divisor) const {
  // Which of several NaNs an addition gives depends on their order.
  if (is_special())
    return std::isnan(special_) ? std::numeric_limits<double>::quiet_NaN() : special_;
  ExactSum sum = *this;
  sum.carry();
  const bool negative = sum.digits_.back() < 0;
  if (negative) {
    for (std::int64_t& digit : sum.digits_) digit = -digit;
    sum.carry();
  }
  int lowest_exponent = kLowestExponent;
  if (divisor != 1) {
    sum.divide(divisor);
    lowest_exponent -= kDigitBits;
    lowest_bit += kDigitBits;
  }
  int top = kDigits - 1;
  while (top >= 0 && sum.digits_[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return 0;
  const auto leading = static_cast<std::uint64_t>(sum.digits_[static_cast<std::size_t>(top)]);
  const int bits = top * kDigitBits + static_cast<int>(std::bit_width(leading));
  const int lowest = std::max(bits - precision, lowest_bit);  // bit that is kept
  const auto bit = [&sum](int place) {
    return (sum.digits_[static_cast<std::size_t>(place / kDigitBits)] >> (place % kDigitBits)) & 1;
  };
  std::uint64_t kept = 0;
  for (int place = bits - 1; place >= lowest; --place) {
    kept = 2 * kept + static_cast<std::uint64_t>(bit(place));
  }
  if (lowest > 0 && bit(lowest - 1) != 0) {
    const auto whole =
        static_cast<std::size_t>((lowest - 1) / kDigitBits);  // digits below that bit
    const std::int64_t part = (std::int64_t{1} << ((lowest - 1) % kDigitBits)) - 1;
    const bool more = (sum.digits_[whole] & part) != 0 ||
                      std::any_of(sum.digits_.begin(), sum.digits_.begin() + whole,
                                  [](std::int64_t digit) { return digit != 0; });
    if (more || kept % 2 != 0) ++kept;
  }
  const double value = std::ldexp(static_cast<double>(kept), lowest + lowest_exponent);
  return negative ? -value : value;
}

}  // namespace xxl
