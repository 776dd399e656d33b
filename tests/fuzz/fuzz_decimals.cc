// Any texts as decimal numbers: what is one, the order of keys, and sums and means of all of them,
// compared with long integers.
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <compare>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_input.h"
#include "record/csv_keys.h"
#include "record/csv_rows.h"
#include "record/decimal.h"

namespace xxl {
namespace {

using boost::multiprecision::cpp_int;
using fuzz::require;

constexpr std::size_t kMostBytes = 100;  // std::regex recurs
constexpr int kPlaces = 300;             // of the reference, after the decimal point

cpp_int power_of_ten(std::size_t exponent) {
  return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(exponent));
}

// A number in units of 10^-kPlaces; nothing if that is not all of it, or it is very large.
struct Reference {
  cpp_int value;
  std::size_t decimals;
};
struct Text {
  bool is_number = false;
  std::optional<Reference> reference;
};
Text read(const std::string& text) {
  static const std::regex kNumber(
      R"([ \t]*([+-]?)(\d+)?(?:\.(\d*))?(?:[eE]([+-]?)0*(\d{1,18}))?[ \t]*)");
  std::smatch match;
  if (!std::regex_match(text, match, kNumber)) return {};
  const std::string whole = match[2], fraction = match[3];
  if (whole.empty() && fraction.empty()) return {};
  if (match[5].length() > 3) return {true, {}};
  int exponent = match[5].matched ? std::stoi(match[5]) : 0;
  if (match[4] == "-") exponent = -exponent;
  const int places = exponent - static_cast<int>(fraction.size());
  if (places < -kPlaces || places > kPlaces) return {true, {}};
  const std::string digits = whole + fraction;
  // (A leading zero would make it octal.)
  cpp_int value(digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1)));
  value *= power_of_ten(static_cast<std::size_t>(places + kPlaces));
  return {true, Reference{match[1] == "-" ? -value : value,
                          static_cast<std::size_t>(std::max(0, -places))}};
}

// `value` in units of 10^-decimals.
std::string written(const cpp_int& value, std::size_t decimals) {
  std::string digits = cpp_int(abs(value)).str();
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  if (decimals > 0) digits.insert(digits.size() - decimals, ".");
  return (value < 0 ? "-" : "") + digits;
}

std::string mean_of(const Reference& sum, std::size_t count) {
  const std::size_t decimals = sum.decimals + DecimalSum::kDecimalsOfMean;
  const cpp_int divisor = power_of_ten(kPlaces + 6 - decimals) * count;
  const cpp_int dividend = abs(sum.value) * power_of_ten(6);
  cpp_int quotient = dividend / divisor;
  const cpp_int twice = 2 * (dividend % divisor);
  if (twice > divisor || (twice == divisor && quotient % 2 != 0)) ++quotient;
  std::string text = written(sum.value < 0 ? -quotient : quotient, decimals);
  for (std::size_t i = 0; i < DecimalSum::kDecimalsOfMean && text.back() == '0'; ++i) {
    text.pop_back();
  }
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string key_of(std::string_view text) {
  std::string key;
  RowFields fields;
  fields.parse(text, '\x1f');
  require(append_value_key(CsvType::number, fields[0], key));
  return key;
}

void check_order(std::string_view a, const Reference& x, std::string_view b, const Reference& y) {
  const int expected = x.value.compare(y.value);
  const auto order = key_of(a) <=> key_of(b);
  require(order == (expected <=> 0));
}

void check_sum(const std::vector<std::string_view>& texts, const std::vector<Reference>& numbers) {
  DecimalSum sum, backward;
  Reference expected{0, 0};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    require(sum.add(*parse_decimal(texts[i])));
    require(backward.add(*parse_decimal(texts[texts.size() - 1 - i])));
    expected.value += numbers[i].value;
    expected.decimals = std::max(expected.decimals, numbers[i].decimals);
  }
  const std::string text = sum.text();
  require(text ==
          written(expected.value / power_of_ten(kPlaces - expected.decimals), expected.decimals));
  require(backward.text() == text);
  require(sum.mean(texts.size()) == mean_of(expected, texts.size()));
  // What is written is read as the same.
  DecimalSum again;
  require(again.add(*parse_decimal(text)) && again.text() == text);
}

void check(fuzz::Input input) {
  std::vector<std::string_view> texts;
  std::vector<Reference> numbers;
  while (!input.rest().empty()) {
    const std::string_view text = input.take_until('\x1f');
    if (text.size() > kMostBytes) return;
    const Text expected = read(std::string(text));
    require(parse_decimal(text).has_value() == expected.is_number);
    if (!expected.reference) continue;
    if (!texts.empty()) check_order(texts.back(), numbers.back(), text, *expected.reference);
    texts.push_back(text);
    numbers.push_back(*expected.reference);
  }
  if (!texts.empty()) check_sum(texts, numbers);
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xxl::check(xxl::fuzz::Input(data, size));
  return 0;
}
