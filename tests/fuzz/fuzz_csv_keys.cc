// Keys of any two rows under any order: what is a key, and that keys compare as values do.
#include <compare>
#include <optional>

#include "base/error.h"
#include "csv_reference.h"
#include "fuzz_input.h"
#include "record/csv_keys.h"
#include "record/csv_spec.h"
#include "record/decimal.h"

namespace xxl {
namespace {

using fuzz::require;

// A number with all its places written out, if those are not too many.
struct PlainNumber {
  bool negative = false;
  std::string digits;

  static constexpr std::size_t kPlaces = 200;  // on either side of the decimal point

  static std::optional<PlainNumber> read(std::string_view text) {
    PlainNumber number;
    std::size_t i = text.find_first_not_of(" \t");
    if (i == text.npos) return {};
    if (text[i] == '-' || text[i] == '+') number.negative = text[i++] == '-';
    std::string digits;
    std::optional<std::size_t> point;
    for (; i < text.size() && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9')); ++i) {
      if (text[i] == '.') {
        point = digits.size();
      } else {
        digits.push_back(text[i]);
      }
    }
    long place = static_cast<long>(point.value_or(digits.size()));
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
      place += std::strtol(std::string(text.substr(i + 1)).c_str(), nullptr, 10);
    }
    const long before = static_cast<long>(kPlaces) - place;
    if (place < -150 || place > 150 || digits.size() > 100 || before < 0) return {};
    number.digits = std::string(static_cast<std::size_t>(before), '0') + digits;
    number.digits.resize(2 * kPlaces + 100, '0');
    return number;
  }

  int sign() const {
    return digits.find_first_not_of('0') == std::string::npos ? 0 : negative ? -1 : 1;
  }
  std::strong_ordering operator<=>(const PlainNumber& other) const {
    if (sign() != other.sign()) return sign() <=> other.sign();
    return sign() < 0 ? other.digits <=> digits : digits <=> other.digits;
  }
};

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

bool is_text(CsvType type) {
  return type == CsvType::text || type == CsvType::ci || type == CsvType::natural ||
         type == CsvType::version;
}

// Where a field is: in front of values (negative), behind them (positive), or one of them.
int place_of(const CsvKey& key, const CsvOrder& order, const std::string& field) {
  if (is_text(key.type) ? field.empty() : is_blank(field)) return order.empty_last ? 1 : -2;
  std::string value;
  if (append_value_key(key.type, {field, false}, value)) return 0;
  return order.empty_last ? 1 : -2;  // as empty ones
}

// Nothing if the reference does not know.
std::optional<std::strong_ordering> compare(const CsvKey& key, const CsvOrder& places,
                                            const std::string& a, const std::string& b) {
  const int place = place_of(key, places, a), other = place_of(key, places, b);
  if (place != other) return place <=> other;
  if (place == -2 || place == 1) return std::strong_ordering::equal;
  if (place != 0) return a <=> b;
  std::optional<std::strong_ordering> order;
  if (key.type == CsvType::text) order = a <=> b;
  if (key.type == CsvType::number || key.type == CsvType::integer) {
    const std::optional<PlainNumber> x = PlainNumber::read(a), y = PlainNumber::read(b);
    if (x && y) order = *x <=> *y;
  }
  if (order && key.descending) order = 0 <=> *order;
  return order;
}

void check_key(const CsvKeys& keys, std::string_view row, std::size_t limit, std::string& key) {
  keys.append_key(row, KeyExtractor::kWholeKey, key);
  std::string start;
  keys.append_key(row, limit, start);
  require(key.starts_with(start) && start.size() >= std::min(limit, key.size()));
  std::string part;
  keys.append_key_part(row, limit, limit, part);
  const std::string_view rest = std::string_view(key).substr(std::min(limit, key.size()));
  require(rest.starts_with(part) && part.size() >= std::min(limit, rest.size()));
}

void check_rows(const CsvOrder& order, std::string_view a, std::string_view b, std::size_t limit) {
  const CsvKeys keys(order);
  std::string key_a, key_b;
  check_key(keys, a, limit, key_a);
  check_key(keys, b, limit, key_b);
  require((compare_keys(keys, a, keys, b) <=> 0) == (key_a <=> key_b));
  if (keys.check(a) || keys.check(b)) return;
  const reference::Row x = reference::read_row(a, ','), y = reference::read_row(b, ',');
  require(x.valid && y.valid);
  std::optional<std::strong_ordering> expected = std::strong_ordering::equal;
  for (const CsvKey& key : order.keys) {
    if (!expected || *expected != 0) break;
    expected = compare(key, order, x.fields.at(key.column.index), y.fields.at(key.column.index));
  }
  if (order.keys.empty()) {
    for (std::size_t i = 0; i < std::min(x.fields.size(), y.fields.size()) && *expected == 0; ++i) {
      expected = compare({}, order, x.fields[i], y.fields[i]);
    }
    if (*expected == 0) expected = x.fields.size() <=> y.fields.size();
  }
  if (expected) require((key_a <=> key_b) == *expected);
}

void check_sum(std::string_view a, std::string_view b) {
  const std::optional<Decimal> x = parse_decimal(a), y = parse_decimal(b);
  if (!x || !y) return;
  DecimalSum sum;
  if (!sum.add(*x) || !sum.add(*y)) return;
  // Taking y off again leaves x.
  const std::string text = sum.text();
  DecimalSum back;
  Decimal minus = *y;
  minus.negative = !minus.negative;
  const std::optional<Decimal> total = parse_decimal(text);
  require(total.has_value());
  // A carry may lead out of bounds.
  if (!back.add(*total)) return;
  require(back.add(minus));
  CsvOrder order;
  order.keys = {{{0, {}}, CsvType::number, false}};
  std::string key_back, key_x;
  CsvKeys(order).append_key(back.text(), KeyExtractor::kWholeKey, key_back);
  CsvKeys(order).append_key(a, KeyExtractor::kWholeKey, key_x);
  if (a.find_first_of(",\"\r") == a.npos) require(key_back == key_x);
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  fuzz::Input input(data, size);
  CsvOrder order;
  order.empty_last = input.choose(2) == 1;
  for (unsigned keys = input.choose(4); keys > 0; --keys) {
    const std::size_t column = input.choose(4);
    const auto type = static_cast<CsvType>(input.choose(7));
    order.keys.push_back({{column, {}}, type, input.choose(2) == 1});
  }
  if (input.choose(8) == 0) {
    order.folds.push_back({FoldKind::sum, {input.choose(4), {}}, CsvType::number, {}});
  }
  const std::size_t limit = input.choose(64);
  const std::string_view a = input.take_until('\x1f'), b = input.take_until('\x1f');
  check_rows(order, a, b, limit);
  check_sum(a, b);
  // The third text: options, and a header with its names.
  const std::string_view spec = input.take_until('\x1f');
  const std::string_view header = input.rest();
  const auto resolve = [&](CsvOrder asked) {
    resolve_columns(asked, header, "header");
    fuzz::require(first_named(asked) == nullptr);
  };
  try {
    CsvOrder asked = order;
    asked.keys = parse_csv_keys(std::vector<std::string>{std::string(spec)});
    resolve(asked);
  } catch (const Error&) {
  }
  try {
    CsvOrder asked = order;
    asked.folds = {parse_csv_fold(FoldKind::max, spec)};
    resolve(asked);
  } catch (const Error&) {
  }
  return 0;
}
