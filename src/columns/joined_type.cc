#include "columns/joined_type.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "xxl/error.h"

namespace xxl {
namespace {

[[noreturn]] void refuse_pair(const ColumnType& left, const ColumnType& right,
                              const std::string& advice) {
  throw Error(ErrorCode::usage, "column " + left.name + " of the left table (" + type_name(left) +
                                    ") and " + right.name + " of the right one (" +
                                    type_name(right) + ") cannot be joined: " + advice);
}

bool is_integer(const ColumnType& type) {
  constexpr std::string_view kIntegers = "cCsSiIlL";
  return type.format.size() == 1 && kIntegers.find(type.format[0]) != std::string_view::npos;
}

// A type that holds the integers of both.
ColumnType common_integer(const ColumnType& left, const ColumnType& right) {
  if (left.format == right.format) return left;
  const bool is_signed =
      left.key == KeyKind::signed_integer || right.key == KeyKind::signed_integer;
  std::size_t width = std::max(left.width, right.width);
  for (const ColumnType* const each : {&left, &right}) {
    if (is_signed && each->key == KeyKind::unsigned_integer) {
      width = std::max(width, 2 * each->width);
    }
  }
  if (width > 8) refuse_pair(left, right, "no type of integers holds both: cast one of them");
  ColumnType type = left;
  constexpr std::string_view kSigned = "csil", kUnsigned = "CSIL";
  const std::size_t log = width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;
  type.format = std::string(1, (is_signed ? kSigned : kUnsigned)[log]);
  type.key = is_signed ? KeyKind::signed_integer : KeyKind::unsigned_integer;
  type.width = width;
  return type;
}

// Decimals of one scale, with the larger precision; timestamps of one unit, with the left zone.
bool are_alike(const ColumnType& left, const ColumnType& right) {
  const auto is = [](const ColumnType& type, std::string_view start) {
    return type.format.starts_with(start);
  };
  if (is(left, "ts") && is(right, "ts")) {
    const bool zoned_left = left.format.size() > 4, zoned_right = right.format.size() > 4;
    return left.format[2] == right.format[2] && zoned_left == zoned_right;
  }
  if (is(left, "d:") && is(right, "d:")) {
    const auto scale = [](const ColumnType& type) {
      const std::size_t from = type.format.find(',');
      return type.format.substr(from, type.format.find(',', from + 1) - from);
    };
    return left.width == right.width && scale(left) == scale(right);
  }
  return left.format == right.format;
}

// What columns of two types are compared as, and become.
ColumnType common_type(const ColumnType& left_column, const ColumnType& right_column) {
  const ColumnType& left = left_column.value_type();
  const ColumnType& right = right_column.value_type();
  ColumnType type = left;
  const bool are_text =
      left.key == right.key &&
      (left.key == KeyKind::text || (left.key == KeyKind::bytes && left.layout != Layout::fixed &&
                                     right.layout != Layout::fixed));
  if (is_integer(left) && is_integer(right)) {
    type = common_integer(left, right);
  } else if (left.key == KeyKind::floating && right.key == KeyKind::floating &&
             std::min(left.width, right.width) >= 4) {
    type = left.width >= right.width ? left : right;
  } else if (!are_text && !are_alike(left, right)) {
    refuse_pair(left_column, right_column, "cast one of them to the type of the other");
  }
  if (left.format.starts_with("d:") && right.format > left.format &&
      right.format.size() >= left.format.size()) {
    type.format = right.format;
  }
  type.name = left_column.name;
  type.metadata = left_column.metadata;
  type.flags = left_column.flags | (right_column.flags & ARROW_FLAG_NULLABLE);
  return type;
}

// Numbers `type`'s dictionaries anew, in order, and moves them from `from` to `to`.
void take_dictionaries(ColumnType& type, SharedDictionaries& from, SharedDictionaries& to) {
  if (type.layout == Layout::dictionary) {
    to.tables.push_back(std::move(from.tables[type.dictionary_id]));
    if (!from.places.empty()) to.places.push_back(std::move(from.places[type.dictionary_id]));
    type.dictionary_id = to.tables.size() - 1;
  }
  for (ColumnType& child : type.children) take_dictionaries(child, from, to);
}

}  // namespace

JoinKeys join_keys(const ColumnType& left, const ColumnType& right,
                   const column_join_options& options) {
  if (options.left_on.empty() || options.left_on.size() != options.right_on.size()) {
    throw Error(ErrorCode::usage,
                "tables are joined by as many columns of the left as of the right one, at least "
                "one: there are " +
                    std::to_string(options.left_on.size()) + " and " +
                    std::to_string(options.right_on.size()));
  }
  JoinKeys keys;
  for (std::size_t i = 0; i < options.left_on.size(); ++i) {
    const std::size_t of_left = column_of(left, options.left_on[i], "the left table");
    const std::size_t of_right = column_of(right, options.right_on[i], "the right table");
    KeyColumn key = key_column(of_left, left.children[of_left]);
    const KeyColumn other = key_column(of_right, right.children[of_right]);
    ColumnType type = common_type(left.children[of_left], right.children[of_right]);
    const KeyColumn form = key_column(of_left, type);
    key.kind = form.kind;
    key.width = form.width;
    key.marks_null = key.marks_null || other.marks_null;
    keys.sides[0].push_back(key);
    key.column = of_right;
    keys.sides[1].push_back(key);
    keys.types.push_back(std::move(type));
  }
  for (const auto& side : keys.sides) {
    for (std::size_t i = 0; i < side.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (side[i].column != side[j].column) continue;
        throw Error(ErrorCode::usage,
                    "column " +
                        (&side == &keys.sides[0] ? left : right).children[side[i].column].name +
                        " is joined by twice");
      }
    }
  }
  return keys;
}

JoinedColumns::JoinedColumns(const ColumnType& left, const ColumnType& right,
                             const JoinKeys& join_keys, const RowFormat& right_format,
                             JoinKind kind, const std::string& suffix,
                             SharedDictionaries left_dictionaries,
                             SharedDictionaries right_dictionaries)
    : has_s(kind != JoinKind::semi && kind != JoinKind::anti) {
  type = left;
  type.children.clear();
  keys.resize(join_keys.types.size());
  add_left(left, join_keys);
  const bool r_may_be_absent = kind == JoinKind::right || kind == JoinKind::full;
  const bool s_may_be_absent = kind == JoinKind::left || kind == JoinKind::full;
  if (r_may_be_absent) {
    for (const std::size_t column : values[0]) {
      type.children[column].flags |= ARROW_FLAG_NULLABLE;
    }
  }
  const std::size_t of_left = type.children.size();
  if (has_s) add_right(right, right_format, suffix);
  if (s_may_be_absent) {
    for (const std::size_t column : values[1]) {
      type.children[column].flags |= ARROW_FLAG_NULLABLE;
    }
  }
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    take_dictionaries(type.children[i], i < of_left ? left_dictionaries : right_dictionaries,
                      dictionaries);
  }
  type = with_wide_indices(type, dictionaries.tables);
}

void JoinedColumns::add_left(const ColumnType& left, const JoinKeys& join_keys) {
  for (std::size_t i = 0; i < left.children.size(); ++i) {
    const auto& of_left = join_keys.sides[0];
    const auto key = std::ranges::find(of_left, i, &KeyColumn::column);
    if (key == of_left.end()) {
      values[0].push_back(type.children.size());
      type.children.push_back(left.children[i]);
    } else {
      const auto k = static_cast<std::size_t>(key - of_left.begin());
      keys[k] = type.children.size();
      type.children.push_back(join_keys.types[k]);
    }
  }
}

void JoinedColumns::add_right(const ColumnType& right, const RowFormat& format,
                              const std::string& suffix) {
  for (const RowFormat::Field& field : format.fields) {
    ColumnType column = right.children[field.column];
    const auto is_taken = [&](const std::string& name) {
      return std::ranges::find(type.children, name, &ColumnType::name) != type.children.end();
    };
    if (is_taken(column.name)) column.name += suffix;
    if (is_taken(column.name)) {
      throw Error(ErrorCode::usage, "both tables have a column " +
                                        right.children[field.column].name + ", and " + column.name +
                                        " is there, too: give another suffix");
    }
    values[1].push_back(type.children.size());
    type.children.push_back(std::move(column));
  }
}

}  // namespace xxl
