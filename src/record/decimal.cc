#include "record/decimal.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "record/digits.h"

namespace xxl {
namespace {

constexpr std::int64_t kLimbDigits = 9;
constexpr std::uint32_t kLimb = 1000000000;
// Numbers of up to this many digits and decimals are summed in 128 bits: 10^18 x 10^18 < 2^127.
constexpr std::int64_t kSmallDigits = 18;

constexpr auto kPowers = [] {
  std::array<std::int64_t, kSmallDigits + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// Removes [+-]; true for -.
bool take_sign(std::string_view& text) {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return false;
  const bool negative = text[0] == '-';
  text.remove_prefix(1);
  return negative;
}

std::size_t strip_leading_zeros(std::string_view& digits) {
  std::size_t count = 0;
  while (count < digits.size() && digits[count] == '0') ++count;
  digits.remove_prefix(count);
  return count;
}

void strip_trailing_zeros(std::string_view& digits) {
  while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
}

// The number after the e.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  const bool negative = take_sign(text);
  std::string_view digits = take_digits(text);
  if (digits.empty() || !text.empty()) return {};
  strip_leading_zeros(digits);
  if (digits.size() > kSmallDigits) return {};
  std::int64_t value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return negative ? -value : value;
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  text = trim_blanks(text);
  Decimal number;
  number.negative = take_sign(text);
  number.whole = take_digits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    number.fraction = take_digits(text);
  }
  if (number.whole.empty() && number.fraction.empty()) return {};
  std::int64_t exponent = 0;
  if (!text.empty()) {
    if (text[0] != 'e' && text[0] != 'E') return {};
    const std::optional<std::int64_t> parsed = parse_exponent(text.substr(1));
    if (!parsed) return {};
    exponent = *parsed;
  }
  const auto size = [](std::string_view digits) {
    return static_cast<std::int64_t>(digits.size());
  };
  number.decimals = std::max<std::int64_t>(0, size(number.fraction) - exponent);
  strip_leading_zeros(number.whole);
  strip_trailing_zeros(number.fraction);
  number.point = exponent + size(number.whole);
  if (number.whole.empty()) {
    number.point -= static_cast<std::int64_t>(strip_leading_zeros(number.fraction));
  } else if (number.fraction.empty()) {
    strip_trailing_zeros(number.whole);
  }
  if (number.is_zero()) number.negative = false;
  return number;
}

void DecimalSum::Magnitude::set_fraction_limbs(std::size_t count) {
  limbs.insert(limbs.begin(), count - fraction_limbs, 0);
  fraction_limbs = count;
}

void DecimalSum::Magnitude::add_limb(std::size_t index, std::uint64_t value) {
  for (; value != 0; ++index) {
    if (index >= limbs.size()) limbs.resize(index + 1, 0);
    value += limbs[index];
    limbs[index] = static_cast<std::uint32_t>(value % kLimb);
    value /= kLimb;
  }
}

void DecimalSum::Magnitude::add(const Decimal& number) {
  // Power of ten that the last digit stands for.
  std::int64_t place = number.point - static_cast<std::int64_t>(number.digits());
  if (place < 0) {
    const auto needed = static_cast<std::size_t>((-place + kLimbDigits - 1) / kLimbDigits);
    if (needed > fraction_limbs) set_fraction_limbs(needed);
  }
  place += static_cast<std::int64_t>(fraction_limbs) * kLimbDigits;
  auto index = static_cast<std::size_t>(place / kLimbDigits);
  std::int64_t digit = place % kLimbDigits;
  std::uint64_t limb = 0;
  const auto add_digits = [&](std::string_view digits) {
    for (std::size_t i = digits.size(); i-- > 0;) {
      limb +=
          static_cast<std::uint64_t>((digits[i] - '0') * kPowers[static_cast<std::size_t>(digit)]);
      if (++digit == kLimbDigits) {
        add_limb(index++, limb);
        limb = 0;
        digit = 0;
      }
    }
  };
  add_digits(number.fraction);
  add_digits(number.whole);
  add_limb(index, limb);
}

bool DecimalSum::is_in_bounds(const Decimal& number) {
  return number.decimals <= kMaxPlaces && (number.is_zero() || number.point <= kMaxPlaces);
}

bool DecimalSum::add(const Decimal& number) {
  if (!is_in_bounds(number)) return false;
  decimals_ = std::max(decimals_, number.decimals);
  if (number.is_zero() || add_small(number)) return true;
  (number.negative ? negative_ : positive_).add(number);
  return true;
}

bool DecimalSum::add_small(const Decimal& number) {
  const auto digits = static_cast<std::int64_t>(number.digits());
  // Digits after the decimal point; negative if zeros precede it.
  std::int64_t behind = digits - number.point;
  if (digits > kSmallDigits || behind > kSmallDigits || number.point > kSmallDigits) return false;
  std::int64_t value = 0;
  for (const std::string_view part : {number.whole, number.fraction}) {
    for (const char c : part) value = value * 10 + (c - '0');
  }
  if (behind < 0) {
    value *= kPowers[static_cast<std::size_t>(-behind)];
    behind = 0;
  }
  if (behind > small_decimals_) {
    __int128 raised;
    if (__builtin_mul_overflow(small_, kPowers[static_cast<std::size_t>(behind - small_decimals_)],
                               &raised)) {
      spill();
      raised = 0;
    }
    small_ = raised;
    small_decimals_ = behind;
  }
  const __int128 scaled =
      __int128{value} * kPowers[static_cast<std::size_t>(small_decimals_ - behind)];
  __int128 sum;
  if (__builtin_add_overflow(small_, number.negative ? -scaled : scaled, &sum)) {
    spill();
    sum = number.negative ? -scaled : scaled;
  }
  small_ = sum;
  return true;
}

void DecimalSum::spill() {
  if (small_ == 0) return;
  const bool is_negative = small_ < 0;
  auto left = static_cast<unsigned __int128>(small_);
  if (is_negative) left = -left;
  std::string digits;
  for (; left != 0; left /= 10) digits.insert(digits.begin(), static_cast<char>('0' + left % 10));
  Decimal number;
  number.negative = is_negative;
  number.whole = digits;
  number.point = static_cast<std::int64_t>(digits.size()) - small_decimals_;
  (is_negative ? negative_ : positive_).add(number);
  small_ = 0;
}

std::string DecimalSum::text() const {
  DecimalSum sum = *this;
  sum.spill();
  Magnitude larger = std::move(sum.positive_);
  Magnitude smaller = std::move(sum.negative_);
  const std::size_t fraction_limbs =
      std::max({larger.fraction_limbs, smaller.fraction_limbs,
                static_cast<std::size_t>((decimals_ + kLimbDigits - 1) / kLimbDigits)});
  larger.set_fraction_limbs(fraction_limbs);
  smaller.set_fraction_limbs(fraction_limbs);
  const std::size_t limbs =
      std::max({larger.limbs.size(), smaller.limbs.size(), fraction_limbs + 1});
  larger.limbs.resize(limbs, 0);
  smaller.limbs.resize(limbs, 0);
  const bool is_negative = std::lexicographical_compare(
      larger.limbs.rbegin(), larger.limbs.rend(), smaller.limbs.rbegin(), smaller.limbs.rend());
  if (is_negative) std::swap(larger, smaller);
  bool borrow = false;
  std::string digits;  // the least significant first
  for (std::size_t i = 0; i < limbs; ++i) {
    std::int64_t limb = std::int64_t{larger.limbs[i]} - smaller.limbs[i] - (borrow ? 1 : 0);
    borrow = limb < 0;
    if (borrow) limb += kLimb;
    for (std::int64_t d = 0; d < kLimbDigits; ++d, limb /= 10) {
      digits.push_back(static_cast<char>('0' + limb % 10));
    }
  }
  XXL_CHECK(!borrow);
  const std::size_t point = fraction_limbs * static_cast<std::size_t>(kLimbDigits);
  while (digits.size() > point + 1 && digits.back() == '0') digits.pop_back();
  std::string out = is_negative ? "-" : "";
  out.append(digits.rbegin(), digits.rend() - static_cast<std::ptrdiff_t>(point));
  if (decimals_ > 0) {
    const auto fraction = digits.rend() - static_cast<std::ptrdiff_t>(point);
    out.push_back('.');
    out.append(fraction, fraction + static_cast<std::ptrdiff_t>(decimals_));
  }
  return out;
}

// Long division, in place.
std::string DecimalSum::mean(std::uint64_t count) const {
  std::string digits = text();
  const bool is_negative = digits.front() == '-';
  if (is_negative) digits.erase(0, 1);
  if (decimals_ == 0) digits.push_back('.');
  digits.append(kDecimalsOfMean, '0');
  unsigned __int128 left = 0;
  for (char& digit : digits) {
    if (digit == '.') continue;
    left = 10 * left + static_cast<unsigned>(digit - '0');
    digit = static_cast<char>('0' + static_cast<int>(left / count));
    left %= count;
  }
  if (2 * left > count || (2 * left == count && (digits.back() - '0') % 2 != 0)) {
    // The first digit of a quotient that is rounded is no 9.
    auto digit = digits.rbegin();
    for (; *digit == '9' || *digit == '.'; ++digit) {
      if (*digit == '9') *digit = '0';
    }
    ++*digit;
  }
  for (std::size_t i = 0; i < kDecimalsOfMean && digits.back() == '0'; ++i) digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  const std::size_t whole = std::min(digits.find('.'), digits.size());
  digits.erase(0, std::min(digits.find_first_not_of('0'), whole - 1));
  const bool is_zero = digits.find_first_not_of("0.") == digits.npos;
  return (is_negative && !is_zero ? "-" : "") + digits;
}

}  // namespace xxl
