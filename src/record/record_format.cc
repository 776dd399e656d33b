#include "record/record_format.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

struct TypeName {
  std::string_view name;
  KeyType type;
  std::size_t length;
};

constexpr std::array<TypeName, 10> kTypeNames{{{"u8", KeyType::u8, 1},
                                               {"u16", KeyType::u16, 2},
                                               {"u32", KeyType::u32, 4},
                                               {"u64", KeyType::u64, 8},
                                               {"i8", KeyType::i8, 1},
                                               {"i16", KeyType::i16, 2},
                                               {"i32", KeyType::i32, 4},
                                               {"i64", KeyType::i64, 8},
                                               {"f32", KeyType::f32, 4},
                                               {"f64", KeyType::f64, 8}}};

const TypeName* find_type(std::string_view name) {
  for (const TypeName& type : kTypeNames) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

KeyField numeric_field(std::size_t offset, std::string_view type_name) {
  const TypeName* type = find_type(type_name);
  return {offset, type->length, type->type, false, false};
}

[[noreturn]] void throw_bad_field(const FieldOption& option, const std::string& why) {
  throw Error(ErrorCode::usage, "invalid " + std::string(option.name) + " '" +
                                    std::string(option.value) + "': " + why);
}

bool consume_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::size_t RecordFormat::key_bytes() const {
  std::size_t bytes = 0;
  for (const KeyField& field : key) bytes += field.length;
  return bytes;
}

RecordFormat parse_record_format(std::string_view spec, std::string_view also) {
  RecordFormat format;
  format.name = std::string(spec);
  if (spec == "gensort") {
    format.record_bytes = 100;
    format.key = {{0, 10, KeyType::bytes, false, false}};
  } else if (spec == "kv32") {
    format.record_bytes = 8;
    format.key = {numeric_field(0, "u32")};
  } else if (spec == "kv64") {
    format.record_bytes = 16;
    format.key = {numeric_field(0, "u64")};
  } else if (spec.starts_with("fixed:")) {
    format.record_bytes = parse_number(spec.substr(6), "--record=fixed", 1, kMaxRecordBytes);
    format.key = {{0, format.record_bytes, KeyType::bytes, false, false}};
  } else if (const TypeName* type = find_type(spec); type != nullptr && type->length >= 4) {
    format.record_bytes = type->length;
    format.key = {numeric_field(0, spec)};
  } else {
    if (spec.starts_with("csv:") || spec.starts_with("tsv:")) {
      throw Error(ErrorCode::usage, "unknown record type '" + std::string(spec) +
                                        "': give the separator with -t, as in --csv -t ';'");
    }
    if (spec == "fixed") {
      throw Error(ErrorCode::usage, "--record=fixed needs a size, as in --record=fixed:32");
    }
    throw Error(ErrorCode::usage,
                "unknown record type '" + std::string(spec) + "': use " + std::string(also) +
                    "fixed:N, u32, u64, i32, i64, f32, f64, kv32, kv64 or gensort");
  }
  return format;
}

KeyField parse_field(const FieldOption& option, std::string_view text, const RecordFormat& format) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw_bad_field(option, "use " + std::string(option.form));
  const std::string name(option.name);
  KeyField field;
  field.offset = parse_number(text.substr(0, colon), name + " offset", 0, kMaxRecordBytes);
  std::string_view type_name = text.substr(colon + 1);
  if (type_name.starts_with("bytes")) {
    field.type = KeyType::bytes;
    field.length = parse_number(type_name.substr(5), name + " bytes", 1, kMaxRecordBytes);
  } else {
    const std::string_view full_name = type_name;
    field.big_endian = consume_suffix(type_name, "be");
    const TypeName* type = find_type(type_name);
    if (type == nullptr) {
      throw Error(ErrorCode::usage,
                  "unknown type '" + std::string(full_name) + "' in " + name + " '" +
                      std::string(option.value) +
                      "': use u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 (each with be for "
                      "big-endian) or bytesN");
    }
    field.type = type->type;
    field.length = type->length;
  }
  if (field.offset + field.length > format.record_bytes) {
    throw_bad_field(option, "the " + std::string(option.noun) + " ends at byte " +
                                std::to_string(field.offset + field.length) + " of a record of " +
                                format_count(format.record_bytes, "byte"));
  }
  return field;
}

KeyField parse_key_field(std::string_view spec, const RecordFormat& format, bool descending,
                         std::string_view option) {
  const FieldOption place{option, spec, "OFFSET:TYPE[:desc]", "key"};
  // The direction may stand before or after the type.
  std::string text;
  std::string_view direction;
  for (std::string_view rest = spec;;) {
    const std::string_view word = rest.substr(0, rest.find(':'));
    if (word == "asc" || word == "desc") {
      if (!direction.empty()) {
        throw_bad_field(place, direction == word ? "':" + std::string(word) + "' is given twice"
                                                 : "':asc' and ':desc' exclude each other");
      }
      direction = word;
    } else {
      text.append(text.empty() ? "" : ":").append(word);
    }
    if (word.size() == rest.size()) break;
    rest.remove_prefix(word.size() + 1);
  }
  KeyField field = parse_field(place, text, format);
  field.descending = direction.empty() ? descending : direction == "desc";
  return field;
}

void part_by_field(std::string_view spec, bool descending, RecordFormat& format) {
  const KeyField field = parse_key_field(spec, format, descending, "--part-by");
  const KeyField& first = format.key.front();
  const bool is_first = first.offset == field.offset && first.length == field.length &&
                        first.type == field.type && first.big_endian == field.big_endian &&
                        first.descending == field.descending;
  if (!is_first) format.key.insert(format.key.begin(), field);
}

RecordFormat parse_record_format(std::string_view spec, std::span<const std::string> keys,
                                 bool descending, std::string_view also) {
  RecordFormat format = parse_record_format(spec, also);
  if (keys.empty()) {
    for (KeyField& field : format.key) field.descending = descending;
    return format;
  }
  format.key.clear();
  for (const std::string_view list : keys) {
    for (std::size_t start = 0; start <= list.size();) {
      const std::size_t end = std::min(list.find(',', start), list.size());
      const std::string_view key = list.substr(start, end - start);
      format.key.push_back(parse_key_field(key, format, descending));
      start = end + 1;
    }
  }
  return format;
}

}  // namespace xxl
