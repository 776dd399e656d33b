// Any floating-point numbers, summed in two orders and in parts, compared with a long integer.
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "fuzz_input.h"
#include "record/exact_sum.h"

namespace xxl {
namespace {

using boost::multiprecision::cpp_int;
using fuzz::require;

constexpr int kLowestBit = -1074;  // of a double

cpp_int in_lowest_bits(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const auto bits = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  const int shift = exponent - 53 - kLowestBit;
  // (Below the lowest bit there are only zeros.)
  return shift >= 0 ? cpp_int(bits) << static_cast<unsigned>(shift)
                    : cpp_int(bits) / (cpp_int(1) << static_cast<unsigned>(-shift));
}

// value / divisor in units of 2^kLowestBit, rounded to `precision` bits, of which the last is no
// lower than `lowest_bit`.
double rounded(const cpp_int& value, std::uint64_t divisor, int precision, int lowest_bit) {
  if (value == 0) return 0;
  // Twice 64 bits more than are needed, and one for all that follow.
  constexpr unsigned kMore = 128;
  const cpp_int dividend = cpp_int(abs(value)) << kMore;
  cpp_int quotient = dividend / divisor;
  const bool inexact = dividend % divisor != 0;
  const auto size = static_cast<int>(msb(quotient)) + 1;
  int dropped = std::max(size - precision, lowest_bit - kLowestBit + static_cast<int>(kMore));
  const cpp_int unit = cpp_int(1) << static_cast<unsigned>(dropped);
  const cpp_int rest = quotient % unit, half = unit / 2;
  quotient /= unit;
  if (rest > half || (rest == half && (inexact || quotient % 2 != 0))) ++quotient;
  const double result = std::ldexp(static_cast<double>(quotient.convert_to<std::uint64_t>()),
                                   dropped - static_cast<int>(kMore) + kLowestBit);
  return value < 0 ? -result : result;
}

void check(const std::vector<double>& numbers, std::uint64_t divisor) {
  ExactSum forward, backward, first, rest;
  cpp_int expected = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    forward.add(numbers[i]);
    backward.add(numbers[numbers.size() - 1 - i]);
    (i < numbers.size() / 2 ? first : rest).add(numbers[i]);
    if (std::isfinite(numbers[i])) expected += in_lowest_bits(numbers[i]);
  }
  rest.add(first);
  bool is_finite = true;
  for (const double number : numbers) is_finite &= std::isfinite(number);
  require(forward.is_special() == !is_finite);
  require(backward.is_special() == !is_finite && rest.is_special() == !is_finite);
  if (!is_finite) {
    require(!std::isfinite(forward.to_double(divisor)));
    return;
  }
  const double sum = rounded(expected, divisor, 53, kLowestBit);
  require(forward.to_double(divisor) == sum);
  require(backward.to_double(divisor) == sum && rest.to_double(divisor) == sum);
  // (A double that is too large for a float becomes an infinity, as the nearest float does.)
  const double narrow = rounded(expected, divisor, 24, -149);
  const auto largest = static_cast<double>(std::numeric_limits<float>::max());
  require(std::abs(narrow) > largest ? std::isinf(forward.to_float(divisor))
                                     : forward.to_float(divisor) == static_cast<float>(narrow));
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xxl::fuzz::Input input(data, size);
  std::uint64_t divisor = 1 + input.choose(256);
  if (input.choose(4) == 0) divisor *= 0x0123456789abcdu;
  std::vector<double> numbers(input.rest().size() / sizeof(double));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), input.rest().data(), numbers.size() * sizeof(double));
  }
  xxl::check(numbers, divisor);
  return 0;
}
