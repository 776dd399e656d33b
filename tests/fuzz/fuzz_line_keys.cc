// Keys of any two lines under any options of sort(1), in the C locale, compared with a plain
// comparison.
#include <compare>

#include "base/error.h"
#include "fuzz_input.h"
#include "line_reference.h"
#include "record/line_keys.h"

namespace xxl {
namespace {

using fuzz::require;

std::string key_of(const KeyExtractor& keys, std::string_view line, std::size_t limit) {
  if (keys.is_whole_record()) return std::string(line);
  std::string key, start;
  keys.append_key(line, KeyExtractor::kWholeKey, key);
  keys.append_key(line, limit, start);
  require(key.starts_with(start) && start.size() >= std::min(limit, key.size()));
  std::string part;
  keys.append_key_part(line, limit, limit, part);
  const std::string_view rest = std::string_view(key).substr(std::min(limit, key.size()));
  require(rest.starts_with(part) && part.size() >= std::min(limit, rest.size()));
  return key;
}

void check_lines(const LineOrder& order, std::string_view a, std::string_view b,
                 std::size_t limit) {
  const std::shared_ptr<const KeyExtractor> keys = make_line_keys(order);
  const std::string key_a = key_of(*keys, a, limit), key_b = key_of(*keys, b, limit);
  std::strong_ordering result = key_a <=> key_b;
  if (!keys->is_whole_record()) require((compare_keys(*keys, a, *keys, b) <=> 0) == result);
  if (keys->is_whole_record() && keys->is_descending()) result = 0 <=> result;
  if (a == b) require(result == 0);
  // With the last resort, only equal lines are equal.
  if (!order.stable && !order.unique) require((result == 0) == (a == b));
  const auto expected = reference::compare_lines(order, a, b);
  if (expected) require(result == *expected);
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  constexpr std::string_view kLetters = "bdfghiMnRrV";
  fuzz::Input input(data, size);
  LineOrder order;
  order.stable = input.choose(4) == 1;
  order.unique = input.choose(4) == 1;
  if (input.choose(2) == 1) order.separator = static_cast<char>(input.choose(256));
  for (unsigned flags = input.choose(3); flags > 0; --flags) {
    set_line_key_flag(kLetters[input.choose(kLetters.size())], BlankSide::both, order.flags);
  }
  const std::size_t limit = input.choose(64);
  const unsigned fields = input.choose(3);
  try {
    for (unsigned i = 0; i < fields; ++i) {
      order.fields.push_back(parse_line_key(input.take_until('\x1f')));
    }
    const std::string_view a = input.take_until('\x1f');
    check_lines(order, a, input.rest(), limit);
  } catch (const Error& error) {
    fuzz::require(error.code() == ErrorCode::usage);
  }
  return 0;
}
