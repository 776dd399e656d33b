#include "job/hive_name.h"

#include "base/error.h"
#include "base/quote.h"
#include "record/format_key.h"
#include "record/key_text.h"

namespace xxl {
namespace {

constexpr std::size_t kMostNameBytes = 255;                          // of a directory
constexpr std::string_view kNoValue = "__HIVE_DEFAULT_PARTITION__";  // of rows without one
constexpr std::string_view kSpecial = "\"#%'*/:=?\\{[]^\x7F";        // as Hive has them

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

PartKey key_of_parts(const std::string& part_by, RecordFormat format) {
  format.key.resize(1);
  return {std::make_shared<FormatKey>(format),
          [column = part_by.substr(0, part_by.find(':')), value = key_text_of(format)](
              std::string_view record) { return hive_name(column, value(record)); }};
}

}  // namespace xxl
