#include "join/csv_join_rows.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"

namespace xxl {

CsvJoinRows::CsvJoinRows(const CsvRowFormat& format) : format_(format) {
  append_field(format.filler, format.fields, filler_);
}

bool CsvJoinRows::is_key(JoinSide side, std::size_t column) const {
  const std::vector<std::size_t>& keys = keys_of(side);
  return std::find(keys.begin(), keys.end(), column) != keys.end();
}

void CsvJoinRows::append_field_of(const RowFields& fields, std::size_t column,
                                  std::string& row) const {
  if (column < fields.size() && (filler_.empty() || !fields[column].content.empty())) {
    copy_field(fields[column], format_.fields, row);
  } else {
    row.append(filler_);
  }
}

void CsvJoinRows::append_key(JoinSide side, const RowFields& fields, std::string& row) const {
  bool first = true;
  for (const std::size_t column : keys_of(side)) {
    if (!first) format_.fields.separator.append_to(row);
    first = false;
    append_field_of(fields, column, row);
  }
}

void CsvJoinRows::append_others(JoinSide side, const RowFields& fields, std::string& row) const {
  const std::size_t width = std::max(format_.widths[static_cast<std::size_t>(side)], fields.size());
  bool first = side == JoinSide::r && keys_of(side).empty();
  for (std::size_t column = 0; column < width; ++column) {
    if (is_key(side, column)) continue;
    if (!std::exchange(first, false)) format_.fields.separator.append_to(row);
    append_field_of(fields, column, row);
  }
}

void CsvJoinRows::append_filler(JoinSide side, std::string& row) const {
  for (std::size_t column = 0; column < format_.widths[static_cast<std::size_t>(side)]; ++column) {
    if (is_key(side, column)) continue;
    format_.fields.separator.append_to(row);
    row.append(filler_);
  }
}

void CsvJoinRows::set_r(std::string_view r) {
  fields_.parse(r, format_.fields);
  head_.clear();
  append_key(JoinSide::r, fields_, head_);
  append_others(JoinSide::r, fields_, head_);
}

void CsvJoinRows::append_pair(std::string_view s, std::string& row) {
  row.append(head_);
  append_part(s, row);
}

void CsvJoinRows::append_part(std::string_view s, std::string& part) {
  fields_.parse(s, format_.fields);
  append_others(JoinSide::s, fields_, part);
  if (format_.carriage_return) part.push_back('\r');
}

void CsvJoinRows::append_pair_of_part(std::string_view part, std::string& row) {
  row.append(head_).append(part);
}

void CsvJoinRows::append_alone(JoinSide side, std::string_view record, std::string& row) {
  fields_.parse(record, format_.fields);
  append_key(side, fields_, row);
  if (side == JoinSide::r) {
    append_others(JoinSide::r, fields_, row);
    append_filler(JoinSide::s, row);
  } else {
    append_filler(JoinSide::r, row);
    append_others(JoinSide::s, fields_, row);
  }
  if (format_.carriage_return) row.push_back('\r');
}

namespace {

struct Name {
  std::string raw;  // as it was written
  std::string value;
};

const Name kMissing;

std::vector<Name> names_of(std::string_view header, const FieldSyntax& syntax) {
  RowFields fields;
  fields.parse(names_row(header, syntax), syntax);
  if (fields.fault()) {
    throw Error(ErrorCode::bad_input, "the header is malformed: " + fields.fault().describe());
  }
  std::vector<Name> names;
  for (const FieldSpan& field : fields) {
    Name& name = names.emplace_back();
    copy_field(field, syntax, name.raw);
    field.append_value(name.value);
  }
  return names;
}

}  // namespace

std::string joined_header(const CsvRowFormat& format,
                          const std::array<std::optional<std::string>, kJoinSides>& headers,
                          const std::array<std::string, kJoinSides>& suffixes) {
  std::array<std::vector<Name>, kJoinSides> names;
  std::array<std::vector<bool>, kJoinSides> is_key;
  std::array<std::unordered_set<std::string_view>, kJoinSides>
      others;  // names of columns that are no keys
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    if (headers[side]) names[side] = names_of(*headers[side], format.fields);
    is_key[side].resize(names[side].size());
    for (const std::size_t column : format.key_columns[side]) {
      if (column < names[side].size()) is_key[side][column] = true;
    }
    for (std::size_t column = 0; column < names[side].size(); ++column) {
      if (!is_key[side][column]) others[side].insert(names[side][column].value);
    }
  }
  // The key's columns have R's names.
  const std::size_t key_side = headers[0] ? 0 : 1;
  std::unordered_set<std::string_view> key_names;
  std::unordered_map<std::string, unsigned> written;  // how many columns have a name
  std::vector<std::string> made;                      // the names with a suffix
  std::string row;
  if (headers[0]) row.append(*headers[0], 0, comment_bytes(*headers[0], format.fields));
  for (const std::size_t column : format.key_columns[key_side]) {
    if (!written.empty()) format.fields.separator.append_to(row);
    const Name& name = column < names[key_side].size() ? names[key_side][column] : kMissing;
    row.append(name.raw);
    key_names.insert(name.value);
    ++written[name.value];
  }
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    for (std::size_t column = 0; column < names[side].size(); ++column) {
      if (is_key[side][column]) continue;
      const Name& name = names[side][column];
      if (!written.empty()) format.fields.separator.append_to(row);
      if (others[1 - side].contains(name.value) ||
          (side != key_side && key_names.contains(name.value))) {
        made.push_back(name.value + suffixes[side]);
        append_field(made.back(), format.fields, row);
        ++written[made.back()];
      } else {
        row.append(name.raw);
        ++written[name.value];
      }
    }
  }
  for (const std::string& name : made) {
    if (written[name] < 2) continue;
    throw Error(ErrorCode::usage,
                "two columns of the output would be called '" + name + "': give other --suffixes");
  }
  if (format.carriage_return) row.push_back('\r');
  return row;
}

}  // namespace xxl
