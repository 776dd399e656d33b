#include "job/files/row_join.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"
#include "base/units.h"
#include "io/codec.h"
#include "job/files/line_join.h"
#include "job/files/row_sort.h"
#include "join/csv_join_rows.h"
#include "record/csv_keys.h"
#include "record/csv_spec.h"
#include "record/digits.h"

namespace xxl {
namespace {

constexpr std::size_t kHeaderBytes = 64 * kKiB;  // as much is read for a message

// The rows of one side: names of columns are looked up in a header, and the number of columns is
// known from the first row.
struct RowSide {
  CsvOrder order;
  std::shared_ptr<const CsvKeys> keys;
  std::string key_name;                 // of the first column of the key
  std::size_t width = 0;                // 0: not known
  std::optional<bool> carriage_return;  // at the end of the first row, if there is one

  void make() { keys = make_csv_keys(order); }
};

using RowSides = std::array<RowSide, kJoinSides>;

// The names of the columns of a file that can be read again; none of others.
std::vector<std::string> names_in(const std::string& path, const FieldSyntax& fields) {
  std::vector<std::string> names;
  if (!std::filesystem::is_regular_file(path)) return names;
  std::string start(kHeaderBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  const std::size_t end = start.find('\n', comment_bytes(start, fields));
  if (end == start.npos) return names;
  std::string_view row(start.data(), end);
  if (row.ends_with('\r')) row.remove_suffix(1);
  RowFields header;
  header.parse(names_row(row, fields), fields);
  if (header.fault()) return names;
  for (const FieldSpan& field : header) field.append_value(names.emplace_back());
  return names;
}

// Without keys, says which columns there are.
void check_has_keys(const RowJoin& rows, const GeneralJoinOptions& join) {
  if (!rows.orders[0].keys.empty() || !rows.orders[1].keys.empty()) return;
  std::array<std::vector<std::string>, kJoinSides> names;
  for (std::size_t side = 0; join.syntax.header && side < kJoinSides; ++side) {
    const std::string& path = join.inputs[side];
    if (join.compressed_by_suffix && io::codec_of(path) != Codec::none) continue;
    names[side] = names_in(path, rows.orders[side].fields);
  }
  throw Error(ErrorCode::usage, no_keys_message(names[0], names[1]));
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text.append(text.empty() ? "" : ", ").append(quote_controls(name));
  }
  return text;
}

// How a key names a column.
std::string key_named(const std::string& name) {
  const bool is_plain =
      std::ranges::all_of(name, [](char c) { return c == '_' || is_letter(c) || is_digit(c); });
  return is_plain && !name.empty() && !is_digit(name[0]) ? name : "COLUMN";
}

std::string as_given(const CsvColumn& column) {
  if (column.from_end != 0) return "-" + std::to_string(column.from_end);
  return column.name.empty() ? std::to_string(column.index + 1) : quote_controls(column.name);
}

// "id is a number"
std::string described(const CsvKey& key) {
  return (key.column.name.empty() ? "column " : "") + as_given(key.column) + " is " +
         std::string(type_word(key.type)) + (key.descending ? ", descending" : "");
}

void check_types_of_keys(const RowSides& sides) {
  check_numbers_of_keys(sides[0].order.keys.size(), sides[1].order.keys.size());
  for (std::size_t i = 0; i < sides[0].order.keys.size(); ++i) {
    const CsvKey& r = sides[0].order.keys[i];
    const CsvKey& s = sides[1].order.keys[i];
    if (r.to_last || s.to_last) {
      throw Error(ErrorCode::usage,
                  "a range of columns in the key of a join needs its last column, as in 2-4");
    }
    if (r.type == s.type && r.descending == s.descending) continue;
    throw Error(
        ErrorCode::usage,
        "key " + std::to_string(i + 1) + ": " + described(r) + " on the left, " + described(s) +
            " on the right; give both the same type, as in --right-on=" + as_given(s.column) + ":" +
            std::string(type_word(r.type)) + (r.descending ? ":desc" : ""));
  }
}

CsvRowFormat row_format(const RowSides& sides, const std::string& filler) {
  CsvRowFormat format;
  format.fields = sides[0].order.fields;
  format.filler = filler;
  // As R's rows do.
  format.carriage_return =
      sides[0].carriage_return.value_or(sides[1].carriage_return.value_or(false));
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    for (const CsvKey& key : sides[side].order.keys) {
      format.key_columns[side].push_back(key.column.index);
    }
    format.widths[side] = sides[side].width;
  }
  return format;
}

// What is done with the rows of one side as they are read.
void set_side(const std::shared_ptr<RowSides>& sides, std::size_t side, RowUse use,
              GeneralJoinOptions& join) {
  const auto own = [sides, side]() -> RowSide& { return (*sides)[side]; };
  const std::string path = join.inputs[side];
  RecordRules& rules = join.rules[side];
  if (join.syntax.header) {
    rules.keys_of_header = [own, path](std::string_view header) {
      resolve_columns(own().order, header, path);
      if (!own().order.keys.empty()) {
        own().key_name =
            name_of_column(own().order.keys.front().column, header, own().order.fields);
      }
      own().make();
      return own().keys;
    };
  } else {
    own().make();
    if (!own().order.keys.empty()) {
      own().key_name = name_of_column(own().order.keys.front().column);
    }
    rules.keys = own().keys;
  }
  rules.first_record = [own, path, has_header = join.syntax.header](std::string_view row) {
    std::size_t width = 0;
    const FieldSyntax& fields = own().order.fields;
    const RowFault fault = count_fields(names_row(row, fields), fields, width);
    if (fault && !has_header) {
      throw Error(ErrorCode::bad_input,
                  "the first row is malformed, and it says how many columns there are", path, 0);
    }
    own().width = fault ? 0 : width;
    own().carriage_return = row.ends_with('\r');
  };
  rules.malformed = [own, use](std::string_view row) {
    return fault_of(own().keys->check(row, own().width), own().order.malformed, use);
  };
}

// Rows are in the order of the key.
void set_parts(const RowJoin& rows, const std::shared_ptr<RowSides>& sides,
               GeneralJoinOptions& join) {
  if (join.part_by.empty()) return;
  if (parse_csv_key(join.part_by).column != rows.orders[0].keys.front().column) {
    throw Error(ErrorCode::usage,
                "--part-by=" + join.part_by +
                    ": parts of a join are by the first column of the left key, as "
                    "it is given there");
  }
  join.keys_of_parts = [sides, of_r = rows.records_of_r] {
    CsvOrder order = (*sides)[0].order;
    order.keys.resize(1);
    if (!of_r) order.keys.front().column.index = 0;
    return key_of_parts((*sides)[0].key_name, order);
  };
}

// All rows have the same key: so both sides are in order.
void set_cross(const RowJoin& rows, GeneralJoinOptions& join) {
  const auto refuse_if = [](bool given, const char* what) {
    if (given) throw Error(ErrorCode::usage, std::string("--how=cross has no ") + what);
  };
  refuse_if(!rows.orders[0].keys.empty() || !rows.orders[1].keys.empty(), "keys: leave them out");
  refuse_if(join.method == JoinMethod::hash, "--method=hash");
  refuse_if(join.presorted[0] || join.presorted[1], "--presorted, as it has no keys");
  refuse_if(!rows.empty_keys_match, "--empty-keys=never, as it has no keys");
  refuse_if(join.parts != 0 || join.part_bytes != 0 || !join.part_by.empty(),
            "partitioned output, as it has no keys");
  join.method = JoinMethod::sort_merge;
  join.presorted = {true, true};
}

}  // namespace

std::string no_keys_message(const std::vector<std::string>& left,
                            const std::vector<std::string>& right) {
  std::vector<std::string> common;
  for (const std::string& name : left) {
    if (std::ranges::count(right, name) == 1 && std::ranges::count(left, name) == 1) {
      common.push_back(name);
    }
  }
  std::string message = "say what to join by: ";
  if (!common.empty()) {
    return message + "--on=" + key_named(common.front()) + " (both files have " +
           (common.size() == 1 ? "the column " : "the columns ") + listed(common) + ")";
  }
  message.append("--on=COLUMN, or --left-on=COLUMN --right-on=COLUMN");
  if (left.empty() || right.empty()) return message;
  return message + " (left: " + listed(left) + "; right: " + listed(right) + ")";
}

void set_rows(const RowJoin& rows, GeneralJoinOptions& join) {
  if (rows.cross) {
    set_cross(rows, join);
  } else {
    check_has_keys(rows, join);
  }
  const auto sides = std::make_shared<RowSides>();
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    check_names_of_columns(rows.orders[side], join.syntax.header);
    (*sides)[side].order = rows.orders[side];
    (*sides)[side].order.group = rows.cross;
    set_side(sides, side, rows.records_of_r ? RowUse::moved : RowUse::joined, join);
  }
  check_types_of_keys(*sides);
  set_parts(rows, sides, join);
  set_row_syntax(rows.orders[0], join, join.syntax);
  set_malformed(join, join.inputs, rows.orders[0].malformed, rows.rejects, join.syntax, join);
  if (!rows.empty_keys_match) {
    join.matches_nothing = [sides](std::string_view row) {
      return (*sides)[0].keys->has_empty_part(row);
    };
  }
  if (rows.records_of_r) return set_records_of_r(join);
  join.make_rows = [sides, filler = rows.filler] {
    return std::make_unique<CsvJoinRows>(row_format(*sides, filler));
  };
  join.header_row = [sides, filler = rows.filler, suffixes = rows.suffixes](const auto& headers) {
    return joined_header(row_format(*sides, filler), headers, suffixes);
  };
}

}  // namespace xxl
