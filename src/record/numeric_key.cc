#include "record/numeric_key.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "record/digits.h"

namespace xxl {
namespace {

bool is_byte(char c, int byte) {
  return static_cast<unsigned char>(c) == byte;
}

const char* skip_blanks(const char* at, const char* end, const ByteClasses& classes) {
  while (at < end && contains(classes.blank, *at)) ++at;
  return at;
}

// ---- n

// The header of a positive number: exponents that fit have one byte, others a byte and 8 more.
constexpr int kZero = 0x80;
constexpr int kTinyHeader = kZero + 1;
constexpr std::int64_t kMinExponent = -30;
constexpr std::int64_t kMaxExponent = 90;
constexpr int kExponentBias = 32;
constexpr int kHugeHeader = 0xff;
constexpr std::size_t kMaxHeaderBytes = 9;
static_assert(kZero + kExponentBias + kMinExponent > kTinyHeader);
static_assert(kZero + kExponentBias + kMaxExponent < kHugeHeader);

unsigned char* put_big_endian(unsigned char* out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) *out++ = static_cast<unsigned char>(value >> shift);
  return out;
}

unsigned char* put_header(unsigned char* out, std::int64_t exponent) {
  if (exponent < kMinExponent) {
    *out++ = kTinyHeader;
    return put_big_endian(out, ~static_cast<std::uint64_t>(-exponent));
  }
  if (exponent > kMaxExponent) {
    *out++ = kHugeHeader;
    return put_big_endian(out, static_cast<std::uint64_t>(exponent));
  }
  *out++ = static_cast<unsigned char>(kZero + kExponentBias + exponent);
  return out;
}

// A positive number: digits without zeros at either end, in up to two stretches.
struct Digits {
  const char* whole;  // may have separators of thousands in between
  std::size_t whole_count;
  bool has_separators;
  const char* fraction;
  std::size_t fraction_count;
  std::int64_t exponent;
};

// Digits two a byte, each as one that others follow.
unsigned char* put_pairs(unsigned char* out, const char* digits, std::size_t count) {
  const std::size_t pairs = count / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    out[i] =
        static_cast<unsigned char>(20 * (digits[2 * i] - '0') + 2 * (digits[2 * i + 1] - '0') + 1);
  }
  out += pairs;
  if (count % 2) *out++ = static_cast<unsigned char>(20 * (digits[count - 1] - '0') + 1);
  return out;
}

// Gives the digits of a number, some at a time.
class DigitReader {
 public:
  explicit DigitReader(const Digits& digits)
      : rest_(digits), left_(digits.whole_count + digits.fraction_count) {}

  std::size_t left() const { return left_; }
  // The next `count` digits; those that are not consecutive are copied first.
  const char* next(std::size_t count) {
    left_ -= count;
    if (rest_.whole_count == 0) return std::exchange(rest_.fraction, rest_.fraction + count);
    if (rest_.whole_count >= count && !rest_.has_separators) {
      rest_.whole_count -= count;
      return std::exchange(rest_.whole, rest_.whole + count);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (rest_.whole_count == 0) {
        few_[i] = *rest_.fraction++;
        continue;
      }
      while (!is_digit(*rest_.whole)) ++rest_.whole;
      few_[i] = *rest_.whole++;
      --rest_.whole_count;
    }
    return few_.data();
  }

  static constexpr std::size_t kMostDigits = 1024;  // at a time; even

 private:
  Digits rest_;
  std::size_t left_;
  std::array<char, kMostDigits> few_;
};

void append_positive(const Digits& d, bool negative, KeyStretch& stretch) {
  std::string& key = stretch.key();
  std::array<unsigned char, kMaxHeaderBytes + DigitReader::kMostDigits / 2> piece;
  unsigned char* out = put_header(piece.data(), d.exponent);
  DigitReader digits(d);
  do {
    const std::size_t count = std::min(digits.left(), DigitReader::kMostDigits);
    out = put_pairs(out, digits.next(count), count);
    if (digits.left() == 0) out[-1] &= 0xfe;
    if (negative) {
      for (unsigned char* at = piece.data(); at != out; ++at) {
        *at = static_cast<unsigned char>(~*at);
      }
    }
    key.append(reinterpret_cast<const char*>(piece.data()),
               static_cast<std::size_t>(out - piece.data()));
    out = piece.data();
  } while (stretch.take() && digits.left() > 0);
}

// The number at `at`, blanks already passed.
void append_number(const char* at, const char* end, const ByteClasses& classes,
                   KeyStretch& stretch) {
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  // Where the locale has no separator, sort(1) skips bytes 0x80 in its place (but not where it
  // looks for a unit). In no encoding do they follow a digit.
  const int separator = classes.thousands_separator < 0 ? 0x80 : classes.thousands_separator;
  while (at < end && (*at == '0' || is_byte(*at, separator))) ++at;

  Digits d{};
  d.whole = at;
  while (true) {
    const char* const first = at;
    while (at < end && is_digit(*at)) ++at;
    d.whole_count += static_cast<std::size_t>(at - first);
    if (at == end || !is_byte(*at, separator)) break;
    d.has_separators = true;
    ++at;
  }
  const char* const whole_end = at;
  d.exponent = static_cast<std::int64_t>(d.whole_count);

  if (at < end && is_byte(*at, classes.decimal_point)) {
    d.fraction = ++at;
    while (at < end && is_digit(*at)) ++at;
    while (at != d.fraction && at[-1] == '0') --at;
    d.fraction_count = static_cast<std::size_t>(at - d.fraction);
  }
  if (d.fraction_count == 0) {
    const char* last = whole_end;
    while (d.whole_count != 0 && !(is_digit(last[-1]) && last[-1] != '0')) {
      if (is_digit(*--last)) --d.whole_count;
    }
    if (d.whole_count == 0) {
      stretch.key().push_back(static_cast<char>(kZero));
      stretch.take();
      return;
    }
  } else if (d.whole_count == 0) {
    for (; *d.fraction == '0'; ++d.fraction, --d.fraction_count) --d.exponent;
  }
  append_positive(d, negative, stretch);
}

// ---- h

// Powers of 1000 or 1024 of a unit; k counts like K, but other units are capital.
int unit_order(char c) {
  static constexpr std::string_view kUnits = "KMGTPEZY";
  if (c == 'k') return 1;
  const std::size_t found = kUnits.find(c);
  return found == std::string_view::npos ? 0 : static_cast<int>(found) + 1;
}

// The unit of the number at `at`. The number is read more strictly than by option n: one separator
// at a time and only between digits, else there is no unit.
int signed_unit_order(const char* at, const char* end, const ByteClasses& classes) {
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  bool nonzero = false;
  bool behind_separator = false;
  while (at < end && is_digit(*at)) {
    nonzero |= *at++ != '0';
    behind_separator = at < end && is_byte(*at, classes.thousands_separator);
    if (behind_separator) ++at;
  }
  if (behind_separator) return 0;
  if (at < end && is_byte(*at, classes.decimal_point)) {
    for (++at; at < end && is_digit(*at); ++at) nonzero |= *at != '0';
  }
  if (!nonzero || at == end) return 0;
  const int order = unit_order(*at);
  return negative ? -order : order;
}

// ---- g

constexpr std::size_t kRealBytes = LDBL_MANT_DIG == 64    ? 10
                                   : LDBL_MANT_DIG == 113 ? 16
                                                          : sizeof(double);
static_assert(LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113 || LDBL_MANT_DIG == DBL_MANT_DIG);
static_assert(std::endian::native == std::endian::little);

enum class RealClass : char { no_number = 0, nan = 1, number = 2 };

void append_real(long double value, std::string& key) {
  std::array<unsigned char, sizeof value> bytes{};
  if (value == 0) value = 0;  // -0 is 0
  std::memcpy(bytes.data(), &value, kRealBytes);
  if (std::isnan(value)) {
    key.push_back(static_cast<char>(RealClass::nan));
    key.append(reinterpret_cast<const char*>(bytes.data()), kRealBytes);
    return;
  }
  std::array<char, 1 + kRealBytes> out;
  out[0] = static_cast<char>(RealClass::number);
  const bool negative = bytes[kRealBytes - 1] >> 7 != 0;
  for (std::size_t i = 0; i < kRealBytes; ++i) {
    const unsigned char byte = bytes[kRealBytes - 1 - i];
    out[1 + i] = static_cast<char>(negative ? ~byte : i == 0 ? byte ^ 0x80 : byte);
  }
  key.append(out.data(), out.size());
}

// What std::from_chars would read, if the result is exact or comes from one rounded operation, and
// so equals that of strtold: a mantissa below 2^64 and a power of ten up to 10^27 are both exact in
// a mantissa of 64 bits. Nothing if more is needed, or if the text may not be a number.
// `decimal_point` is -1 if it has several bytes: then it may begin at any byte beyond ASCII.
std::optional<long double> read_simple_real(std::string_view text, int decimal_point) {
  static constexpr auto kPowers = [] {
    std::array<long double, 28> powers{};
    long double power = 1;
    for (long double& p : powers) {
      p = power;
      power *= 10;
    }
    return powers;
  }();
  if (LDBL_MANT_DIG < 64) return std::nullopt;

  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && *at == ' ') ++at;
  const bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) ++at;

  const char* const digits = at;
  std::uint64_t mantissa = 0;
  while (at < end && is_digit(*at)) mantissa = 10 * mantissa + static_cast<unsigned>(*at++ - '0');
  std::ptrdiff_t count = at - digits;
  std::ptrdiff_t exponent = 0;
  if (at < end && is_byte(*at, decimal_point)) {
    const char* const fraction = ++at;
    while (at < end && is_digit(*at)) mantissa = 10 * mantissa + static_cast<unsigned>(*at++ - '0');
    exponent = -(at - fraction);
    count -= exponent;
  }
  const bool may_be_point = decimal_point < 0 && at < end && (*at & 0x80) != 0;
  // 19 digits are less than 2^64. A letter may start a hexadecimal number or an exponent.
  if (count == 0 || count > 19 || may_be_point) return std::nullopt;
  if (at < end && (*at | 0x20) == 'x') return std::nullopt;
  if (at < end && (*at | 0x20) == 'e') {
    const char* power = at + 1;
    const bool minus = power < end && *power == '-';
    if (power < end && (*power == '-' || *power == '+')) ++power;
    std::ptrdiff_t value = 0;
    const char* const power_digits = power;
    while (power < end && is_digit(*power) && value < 1000) value = 10 * value + (*power++ - '0');
    if (power != power_digits) exponent += minus ? -value : value;
  }
  if (exponent < -27 || exponent > 27) return std::nullopt;
  auto value = static_cast<long double>(mantissa);
  if (exponent < 0) {
    value /= kPowers[static_cast<std::size_t>(-exponent)];
  } else {
    value *= kPowers[static_cast<std::size_t>(exponent)];
  }
  return negative ? -value : value;
}

}  // namespace

void append_numeric_key(std::string_view text, const ByteClasses& classes, KeyStretch& key) {
  const char* const end = text.data() + text.size();
  append_number(skip_blanks(text.data(), end, classes), end, classes, key);
}

void append_human_numeric_key(std::string_view text, const ByteClasses& classes, KeyStretch& key) {
  const char* const end = text.data() + text.size();
  const char* const number = skip_blanks(text.data(), end, classes);
  key.key().push_back(static_cast<char>(0x80 + signed_unit_order(number, end, classes)));
  append_number(number, end, classes, key);
}

void append_general_numeric_key(std::string_view text, const ByteClasses& classes, locale_t locale,
                                std::string& key) {
  if (const auto value = read_simple_real(text, classes.real_decimal_point)) {
    append_real(*value, key);
    return;
  }
  // strtold wants a terminator.
  thread_local std::string copy;
  copy.assign(text);
  char* read_end = nullptr;
  const long double value = strtold_l(copy.c_str(), &read_end, locale);
  if (read_end == copy.c_str()) {
    key.push_back(static_cast<char>(RealClass::no_number));
  } else {
    append_real(value, key);
  }
}

}  // namespace xxl
