#include "job/files/line_join.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/error.h"
#include "base/units.h"
#include "job/files/line_sort.h"
#include "join/join_rows.h"
#include "record/field_keys.h"

namespace xxl {
namespace {

// Where rows have the first field of the key.
std::size_t key_in_rows(const LineJoin& lines) {
  if (lines.records_of_r) return lines.key_fields[0].front();
  std::size_t field = 0;
  for (const RowField& each : lines.row) {
    if (each.origin == RowField::Origin::key) return field;
    ++field;
  }
  if (lines.row.empty()) return 0;
  throw Error(ErrorCode::usage, "--part-by needs the key in the rows: add 0 to --layout");
}

// Rows are in the order of the key.
void set_parts(const LineJoin& lines, GeneralJoinOptions& join) {
  if (join.part_by.empty()) return;
  if (parse_line_field(join.part_by) != lines.key_fields[0].front()) {
    throw Error(ErrorCode::usage, "--part-by=" + join.part_by +
                                      ": parts of a join are by the first field of the left key, " +
                                      std::to_string(lines.key_fields[0].front() + 1));
  }
  LineFieldSyntax syntax = lines.syntax;
  if (!lines.records_of_r) syntax.separator = syntax.output_separator();
  const PartKey key{
      make_field_keys(
          {.syntax = syntax, .fields = {key_in_rows(lines)}, .ignore_case = lines.ignore_case}),
      directory_of_line(join.part_by, syntax, key_in_rows(lines))};
  join.keys_of_parts = [key] { return key; };
}

}  // namespace

void check_numbers_of_keys(std::size_t left, std::size_t right) {
  if (left == right) return;
  throw Error(ErrorCode::usage, format_count(left, "key") + " on the left, " +
                                    std::to_string(right) +
                                    " on the right: give as many on both sides");
}

std::vector<std::string> split_keys(const std::vector<std::string>& lists) {
  std::vector<std::string> keys;
  for (const std::string& list : lists) {
    bool quoted = false;
    keys.emplace_back();
    for (const char c : list) {
      quoted ^= c == '"';
      if (c == ',' && !quoted) {
        keys.emplace_back();
      } else {
        keys.back().push_back(c);
      }
    }
  }
  return keys;
}

std::size_t parse_line_field(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) {
    throw Error(ErrorCode::usage,
                "'" + std::string(text) +
                    "' is not a field of lines: give its number, from 1 (for a CSV file add "
                    "--csv)");
  }
  return number - 1;
}

void set_records_of_r(GeneralJoinOptions& join) {
  join.make_rows = [] { return std::make_unique<RecordsOfR>(); };
  join.header_row = [](const auto& headers) { return headers[0].value_or(""); };
}

void set_lines(const LineJoin& lines, GeneralJoinOptions& join) {
  check_numbers_of_keys(lines.key_fields[0].size(), lines.key_fields[1].size());
  set_parts(lines, join);
  const auto format = std::make_shared<LineRowFormat>();
  format->syntax = lines.syntax;
  format->key_fields = lines.key_fields;
  format->fields = lines.row;
  format->filler = lines.filler;
  const ByteClasses classes = current_byte_classes();
  if (lines.auto_row) format->field_counts.emplace();
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    join.rules[side].keys = make_field_keys({.syntax = lines.syntax,
                                             .fields = lines.key_fields[side],
                                             .ignore_case = lines.ignore_case});
    if (!lines.auto_row) continue;
    join.rules[side].first_record = [format, side, classes](std::string_view line) {
      LineFields fields(format->syntax, classes);
      fields.parse(line);
      (*format->field_counts)[side] = fields.size();
    };
  }
  if (!lines.empty_keys_match) {
    join.matches_nothing = [format, classes](std::string_view line) {
      LineFields fields(format->syntax, classes);
      fields.parse(line);
      const auto& key = format->key_fields[0];
      return std::any_of(key.begin(), key.end(), [&](std::size_t field) {
        return field >= fields.size() || fields[field].empty();
      });
    };
  }
  if (lines.records_of_r) return set_records_of_r(join);
  join.make_rows = [format] { return std::make_unique<LineRows>(*format); };
  join.header_row = [format](const auto& headers) {
    LineRows rows(*format);
    std::string row;
    if (headers[0] && headers[1]) {
      rows.set_r(*headers[0]);
      rows.append_pair(*headers[1], row);
    } else {
      rows.append_alone(headers[0] ? JoinSide::r : JoinSide::s, *headers[headers[0] ? 0 : 1], row);
    }
    return row;
  };
}

}  // namespace xxl
