#include "columns/column_type.h"

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "columns/files/column_metadata.h"
#include "xxl/error.h"

namespace xxl {
namespace {

constexpr int kMaxDepth = 64;  // of types within types
constexpr std::size_t kMaxWidth = std::size_t{1} << 30;

struct Simple {
  std::string_view format;
  Layout layout;
  KeyKind key;
  std::size_t width;
  std::string_view name;
};

constexpr Simple kSimple[] = {
    {"n", Layout::null, KeyKind::null, 0, "null"},
    {"b", Layout::boolean, KeyKind::boolean, 0, "boolean"},
    {"c", Layout::fixed, KeyKind::signed_integer, 1, "int8"},
    {"C", Layout::fixed, KeyKind::unsigned_integer, 1, "uint8"},
    {"s", Layout::fixed, KeyKind::signed_integer, 2, "int16"},
    {"S", Layout::fixed, KeyKind::unsigned_integer, 2, "uint16"},
    {"i", Layout::fixed, KeyKind::signed_integer, 4, "int32"},
    {"I", Layout::fixed, KeyKind::unsigned_integer, 4, "uint32"},
    {"l", Layout::fixed, KeyKind::signed_integer, 8, "int64"},
    {"L", Layout::fixed, KeyKind::unsigned_integer, 8, "uint64"},
    {"e", Layout::fixed, KeyKind::floating, 2, "float16"},
    {"f", Layout::fixed, KeyKind::floating, 4, "float32"},
    {"g", Layout::fixed, KeyKind::floating, 8, "float64"},
    {"z", Layout::binary32, KeyKind::bytes, 4, "binary"},
    {"Z", Layout::binary64, KeyKind::bytes, 8, "large binary"},
    {"vz", Layout::view, KeyKind::bytes, 16, "binary view"},
    {"u", Layout::binary32, KeyKind::text, 4, "string"},
    {"U", Layout::binary64, KeyKind::text, 8, "large string"},
    {"vu", Layout::view, KeyKind::text, 16, "string view"},
    {"tdD", Layout::fixed, KeyKind::signed_integer, 4, "date32"},
    {"tdm", Layout::fixed, KeyKind::signed_integer, 8, "date64"},
    {"tts", Layout::fixed, KeyKind::signed_integer, 4, "time32"},
    {"ttm", Layout::fixed, KeyKind::signed_integer, 4, "time32"},
    {"ttu", Layout::fixed, KeyKind::signed_integer, 8, "time64"},
    {"ttn", Layout::fixed, KeyKind::signed_integer, 8, "time64"},
    {"tDs", Layout::fixed, KeyKind::signed_integer, 8, "duration"},
    {"tDm", Layout::fixed, KeyKind::signed_integer, 8, "duration"},
    {"tDu", Layout::fixed, KeyKind::signed_integer, 8, "duration"},
    {"tDn", Layout::fixed, KeyKind::signed_integer, 8, "duration"},
    {"tiM", Layout::fixed, KeyKind::none, 4, "interval of months"},
    {"tiD", Layout::fixed, KeyKind::none, 8, "interval of days"},
    {"tin", Layout::fixed, KeyKind::none, 16, "interval of months and days"},
    {"+l", Layout::list32, KeyKind::none, 4, "list"},
    {"+L", Layout::list64, KeyKind::none, 8, "large list"},
    {"+m", Layout::list32, KeyKind::none, 4, "map"},
    {"+s", Layout::structure, KeyKind::none, 0, "struct"},
};

// Formats with parameters, by how they begin.
constexpr Simple kWithParameters[] = {
    {"d:", Layout::fixed, KeyKind::signed_integer, 16, "decimal"},
    {"w:", Layout::fixed, KeyKind::bytes, 0, "fixed-size binary"},
    {"ts", Layout::fixed, KeyKind::signed_integer, 8, "timestamp"},
    {"+w:", Layout::fixed_list, KeyKind::none, 0, "fixed-size list"},
};

// For messages.
constexpr Simple kUnsupported[] = {
    {"+ud", Layout::null, KeyKind::none, 0, "dense union"},
    {"+us", Layout::null, KeyKind::none, 0, "sparse union"},
    {"+r", Layout::null, KeyKind::none, 0, "run-end encoded"},
    {"+vl", Layout::null, KeyKind::none, 0, "list view"},
    {"+vL", Layout::null, KeyKind::none, 0, "large list view"},
};

const Simple* find_format(std::string_view format) {
  for (const Simple& each : kSimple) {
    if (each.format == format) return &each;
  }
  for (const Simple& each : kWithParameters) {
    if (format.starts_with(each.format)) return &each;
  }
  return nullptr;
}

std::string name_of_format(std::string_view format) {
  if (const Simple* const known = find_format(format)) return std::string(known->name);
  for (const Simple& each : kUnsupported) {
    if (format.starts_with(each.format)) return std::string(each.name);
  }
  return "\"" + std::string(format) + "\"";
}

[[noreturn]] void refuse(const std::string& place, const std::string& message) {
  throw Error(ErrorCode::usage, (place.empty() ? "" : "column " + place + ": ") + message);
}

// The number at the start of `text`, which is left behind it.
std::size_t take_number(std::string_view& text, const ColumnType& type, const std::string& place) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > kMaxWidth) {
    refuse(place, "the schema has a type of the format \"" + type.format + "\", which is none");
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

void set_parameters(ColumnType& type, const std::string& place) {
  std::string_view rest = type.format;
  if (rest.starts_with("w:")) {
    rest.remove_prefix(2);
    type.width = take_number(rest, type, place);
  } else if (rest.starts_with("+w:")) {
    rest.remove_prefix(3);
    type.list_size = take_number(rest, type, place);
  } else if (rest.starts_with("d:")) {
    // d:PRECISION,SCALE[,BITS]
    const std::size_t scale = rest.find(',');
    const std::size_t bits = scale == rest.npos ? rest.npos : rest.find(',', scale + 1);
    if (bits == rest.npos) return;
    rest.remove_prefix(bits + 1);
    const std::size_t width = take_number(rest, type, place);
    if (width != 32 && width != 64 && width != 128 && width != 256) {
      refuse(place, "decimals of " + std::to_string(width) + " bits are not supported");
    }
    type.width = width / 8;
  }
}

// Calls f(key, value) for all metadata of a schema. Returns where they end.
template <class F>
const char* for_metadata(const char* metadata, F&& f) {
  const char* at = metadata;
  const auto take = [&] {
    std::int32_t number;
    std::memcpy(&number, at, sizeof(number));
    at += sizeof(number);
    if (number < 0) refuse("", "the schema has metadata of a negative length");
    return static_cast<std::size_t>(number);
  };
  const auto take_text = [&] {
    const std::size_t bytes = take();
    return std::string_view(std::exchange(at, at + bytes), bytes);
  };
  for (std::size_t count = take(); count > 0; --count) {
    const std::string_view key = take_text();
    f(key, take_text());
  }
  return at;
}

std::size_t children_wanted(const ColumnType& type, std::size_t there) {
  switch (type.layout) {
    case Layout::structure:
      return there;
    case Layout::list32:
    case Layout::list64:
    case Layout::fixed_list:
      return 1;
    default:
      return 0;
  }
}

class TypeReader {
 public:
  ColumnType read(const ArrowSchema& schema, const std::string& place, int depth) {
    if (depth > kMaxDepth) refuse(place, "types within types are nested too deeply");
    if (schema.format == nullptr || schema.release == nullptr || schema.n_children < 0 ||
        (schema.n_children > 0 && schema.children == nullptr)) {
      refuse(place, "the schema is not valid");
    }
    ColumnType type;
    type.format = schema.format;
    if (schema.name != nullptr) type.name = schema.name;
    if (schema.metadata != nullptr) {
      type.metadata.assign(schema.metadata, for_metadata(schema.metadata, [](auto, auto) {}));
    }
    type.flags = schema.flags;
    const Simple* const known = find_format(type.format);
    if (known == nullptr) {
      refuse(place, "the type " + name_of_format(type.format) + " is not supported");
    }
    type.layout = known->layout;
    type.key = known->key;
    type.width = known->width;
    set_parameters(type, place);
    const auto children = static_cast<std::size_t>(schema.n_children);
    if (children != children_wanted(type, children)) {
      refuse(place,
             "the schema has " + std::to_string(children) + " children for a " + type_name(type));
    }
    for (std::size_t i = 0; i < children; ++i) {
      const ArrowSchema* const child = schema.children[i];
      if (child == nullptr) refuse(place, "the schema is not valid");
      const std::string name = child->name != nullptr ? child->name : "";
      type.children.push_back(read(*child, place.empty() ? name : place + "." + name, depth + 1));
    }
    if (schema.dictionary != nullptr) read_dictionary(type, schema, place, depth);
    return type;
  }

 private:
  void read_dictionary(ColumnType& type, const ArrowSchema& schema, const std::string& place,
                       int depth) {
    if (type.layout != Layout::fixed || type.width > 8 ||
        (type.key != KeyKind::signed_integer && type.key != KeyKind::unsigned_integer)) {
      refuse(place, "the indices of a dictionary are integers, not of the type " + type_name(type));
    }
    type.values.push_back(read(*schema.dictionary, place, depth + 1));
    if (contains_dictionary(type.values.front())) {
      refuse(place, "dictionaries of dictionaries are not supported");
    }
    type.layout = Layout::dictionary;
    type.key = is_ordered(type) ? KeyKind::place : type.values.front().key;
    type.dictionary_id = dictionaries_++;
  }

  // Not if nothing tells the order.
  static bool is_ordered(const ColumnType& type) {
    return !type.metadata_of(kNoOrderKey) &&
           ((type.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0 || type.metadata_of(kPolarsEnumKey) ||
            type.metadata_of(kOldPolarsEnumKey));
  }

  static bool contains_dictionary(const ColumnType& type) {
    if (type.layout == Layout::dictionary) return true;
    for (const ColumnType& child : type.children) {
      if (contains_dictionary(child)) return true;
    }
    return false;
  }

  std::size_t dictionaries_ = 0;
};

// What an exported schema owns.
struct ExportedSchema {
  std::string format, name, metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* schema) {
  std::unique_ptr<ExportedSchema> owned(static_cast<ExportedSchema*>(schema->private_data));
  for (ArrowSchema& child : owned->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (owned->dictionary.release != nullptr) owned->dictionary.release(&owned->dictionary);
  schema->release = nullptr;
}

}  // namespace

std::optional<std::string_view> ColumnType::metadata_of(std::string_view what) const {
  std::optional<std::string_view> found;
  if (metadata.empty()) return found;
  for_metadata(metadata.data(), [&](std::string_view each, std::string_view value) {
    if (each == what) found = value;
  });
  return found;
}

ColumnType table_type(const ArrowSchema& schema) {
  ColumnType type = TypeReader().read(schema, "", 0);
  if (type.layout != Layout::structure) {
    refuse("", "the stream is not one of tables, but of the type " + type_name(type));
  }
  return type;
}

std::size_t column_of(const ColumnType& table, const std::string& name, const std::string& what) {
  std::size_t found = table.children.size();
  for (std::size_t i = 0; i < table.children.size(); ++i) {
    if (table.children[i].name != name) continue;
    if (found != table.children.size()) {
      throw Error(ErrorCode::usage, what + " has several columns \"" + name + "\"");
    }
    found = i;
  }
  if (found != table.children.size()) return found;
  std::string names;
  constexpr std::size_t kMostNames = 20;
  for (std::size_t i = 0; i < table.children.size() && i < kMostNames; ++i) {
    names += (i == 0 ? "" : ", ") + table.children[i].name;
  }
  if (table.children.size() > kMostNames) names += ", ...";
  throw Error(ErrorCode::usage, what + " has no column \"" + name + "\"; it has " + names);
}

std::string type_name(const ColumnType& type) {
  if (type.layout == Layout::dictionary) {
    return "dictionary of " + type_name(type.values.front());
  }
  return name_of_format(type.format);
}

void export_schema(const ColumnType& type, ArrowSchema* schema) {
  auto owned = std::make_unique<ExportedSchema>();
  owned->format = type.format;
  owned->name = type.name;
  owned->metadata = type.metadata;
  owned->children.resize(type.children.size());
  *schema = {};
  schema->format = owned->format.c_str();
  schema->name = owned->name.c_str();
  schema->metadata = owned->metadata.empty() ? nullptr : owned->metadata.data();
  schema->flags = type.flags;
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    export_schema(type.children[i], &owned->children[i]);
    owned->pointers.push_back(&owned->children[i]);
  }
  schema->n_children = static_cast<std::int64_t>(owned->pointers.size());
  schema->children = owned->pointers.empty() ? nullptr : owned->pointers.data();
  if (type.layout == Layout::dictionary) {
    export_schema(type.values.front(), &owned->dictionary);
    schema->dictionary = &owned->dictionary;
  }
  schema->release = release_schema;
  schema->private_data = owned.release();
}

}  // namespace xxl
