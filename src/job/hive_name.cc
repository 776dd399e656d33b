#include "job/hive_name.h"

#include <charconv>

#include "base/error.h"
#include "base/quote.h"
#include "record/format_key.h"
#include "record/key_text.h"
#include "run/part_key.h"

namespace xxl {
namespace {

constexpr std::string_view kSpecial = "\"#%'*/:=?\\{[]^\x7F";  // as Hive has them

constexpr std::size_t kMostShownBytes = 60;  // of a value in a message

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20;
}

// Names are UTF-8 in the manifest: what is not is written as %XX.
void append_escaped(std::string_view text, std::string& name) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  while (!text.empty()) {
    const std::size_t bytes = utf8_bytes(text);
    const char c = text.front();
    if (bytes == 0 || is_control(c) || kSpecial.find(c) != kSpecial.npos) {
      const auto byte = static_cast<unsigned char>(c);
      name.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
      text.remove_prefix(1);
    } else {
      name.append(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }
}

// A '%' without two digits is itself.
std::string unescaped(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    unsigned byte = 0;
    const char* const digits = name.data() + 1;
    if (name.size() >= 3 && name.front() == '%' &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      text.push_back(static_cast<char>(byte));
      name.remove_prefix(3);
    } else {
      text.push_back(name.front());
      name.remove_prefix(1);
    }
  }
  return text;
}

[[noreturn]] void refuse(std::string_view column, std::string_view value, const std::string& why) {
  std::string shown = quote_name_always(value.substr(0, kMostShownBytes));
  if (value.size() > kMostShownBytes) shown += "...";
  throw Error(ErrorCode::bad_input, "--part-by: the value " + shown + " of column " +
                                        quote_name_always(column) +
                                        " cannot be the name of a directory: " + why);
}

}  // namespace

std::string hive_name(std::string_view column, std::optional<std::string_view> value) {
  std::string name;
  append_escaped(column, name);
  name.push_back('=');
  if (!value || value->empty()) return name.append(kNoValue);
  if (*value == kNoValue) {
    refuse(column, *value, "other programs read it as an empty value");
  }
  append_escaped(*value, name);
  if (name.size() <= kMostNameBytes) return name;
  refuse(column, *value,
         quote_name_always(column) + "=VALUE would be " + std::to_string(name.size()) +
             " bytes long, and at most " + std::to_string(kMostNameBytes) +
             " are possible: use --parts or --part-bytes");
}

std::shared_ptr<const KeyExtractor> key_of_parts(const std::string& part_by, RecordFormat format) {
  format.key.resize(1);
  return std::make_shared<PartKey>(
      std::make_shared<FormatKey>(format),
      [column = part_by.substr(0, part_by.find(':')), value = key_text_of(format)](
          std::string_view record) { return hive_name(column, value(record)); });
}

std::optional<HiveValue> parse_hive_name(std::string_view name) {
  const std::size_t equals = name.find('=');
  if (equals == name.npos || equals == 0) return std::nullopt;
  HiveValue result{unescaped(name.substr(0, equals)), std::nullopt};
  const std::string_view value = name.substr(equals + 1);
  if (value != kNoValue) result.value = unescaped(value);
  return result;
}

}  // namespace xxl
