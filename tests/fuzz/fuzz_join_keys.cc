// Keys of any two lines by fields, as join(1) compares them in the C locale, compared with the
// fields themselves.
#include <algorithm>
#include <cctype>
#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_input.h"
#include "record/field_keys.h"

namespace xxl {
namespace {

using fuzz::require;

std::vector<std::string> split(std::string_view line, const LineFieldSyntax& syntax) {
  std::vector<std::string> fields;
  if (line.empty()) return fields;
  if (syntax.is_whole_line()) return {std::string(line)};
  if (syntax.separator) {
    fields.emplace_back();
    for (const char c : line) {
      if (c == syntax.separator->bytes()[0]) {
        fields.emplace_back();
      } else {
        fields.back().push_back(c);
      }
    }
    return fields;
  }
  // A field begins where a byte that is no blank follows a blank, or the line ends.
  bool in_field = false;
  for (const char c : line) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (!is_blank) {
      if (!in_field) fields.emplace_back();
      fields.back().push_back(c);
    }
    in_field = !is_blank;
  }
  if (!in_field && !fields.empty()) fields.emplace_back();
  return fields;
}

std::vector<std::string> values_of(std::string_view line, const FieldKeySpec& spec) {
  const std::vector<std::string> fields = split(line, spec.syntax);
  std::vector<std::string> values;
  for (const std::size_t field : spec.fields) {
    std::string value = field < fields.size() ? fields[field] : "";
    if (spec.ignore_case) {
      std::ranges::transform(value, value.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    }
    values.push_back(value);
  }
  return values;
}

std::string key_of(const KeyExtractor& keys, std::string_view line, std::size_t from,
                   std::size_t limit) {
  std::string whole, part;
  keys.append_key(line, KeyExtractor::kWholeKey, whole);
  keys.append_key_part(line, from, limit, part);
  // (More than was asked for does no harm.)
  const std::string_view rest = std::string_view(whole).substr(std::min(from, whole.size()));
  require(rest.starts_with(part) && part.size() >= std::min(limit, rest.size()));
  return whole;
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  fuzz::Input input(data, size);
  FieldKeySpec spec;
  if (input.choose(2) == 1) spec.syntax.separator = static_cast<char>(input.choose(256));
  spec.ignore_case = input.choose(2) == 1;
  spec.fields.resize(1 + input.choose(3));
  for (std::size_t& field : spec.fields) field = input.choose(4);
  const std::size_t from = input.choose(32), limit = input.choose(64);
  const std::string_view a = input.take_until('\x1f'), b = input.rest();
  const auto keys = make_field_keys(spec);
  const auto x = values_of(a, spec), y = values_of(b, spec);
  const auto expected = x <=> y;
  fuzz::require((key_of(*keys, a, from, limit) <=> key_of(*keys, b, from, limit)) == expected);
  const FieldComparison comparison(spec.ignore_case);
  for (std::size_t i = 0; i < x.size(); ++i) {
    fuzz::require((comparison.compare(x[i], y[i]) <=> 0) == (x[i] <=> y[i]));
  }
  return 0;
}
