#include "join/line_rows.h"

#include <algorithm>

#include "run/general_run.h"

namespace xxl {

LineRows::LineRows(const LineRowFormat& format)
    : format_(format),
      separator_(format.syntax.output_separator()),
      fields_{LineFields(format.syntax, current_byte_classes()),
              LineFields(format.syntax, current_byte_classes())} {}

void LineRows::append_field(std::string_view field, std::string& row) const {
  if (!field.empty()) {
    row.append(field);
  } else if (format_.filler) {
    row.append(*format_.filler);
  }
}

void LineRows::append_key(JoinSide side, std::string& row) const {
  bool first = true;
  for (const std::size_t field : format_.key_fields[static_cast<std::size_t>(side)]) {
    if (!first) separator_.append_to(row);
    first = false;
    append_field(fields_of(side)[field], row);
  }
}

// All fields that are not of the key.
void LineRows::append_others(JoinSide side, const LineFields& fields, std::string& row) const {
  const auto index = static_cast<std::size_t>(side);
  const std::vector<std::size_t>& keys = format_.key_fields[index];
  const std::size_t count = format_.field_counts ? (*format_.field_counts)[index] : fields.size();
  for (std::size_t field = 0; field < count; ++field) {
    if (std::find(keys.begin(), keys.end(), field) != keys.end()) continue;
    separator_.append_to(row);
    append_field(fields[field], row);
  }
}

void LineRows::append_row(JoinSide key_of, std::string& row) const {
  if (!format_.fields.empty()) {
    const LineFields& s = fields_of(JoinSide::s);
    append_fields(
        key_of, [&](std::size_t number) { return s[number]; }, row);
    return;
  }
  append_key(key_of, row);
  append_others(JoinSide::r, fields_of(JoinSide::r), row);
  append_others(JoinSide::s, fields_of(JoinSide::s), row);
}

template <class FieldOfS>
void LineRows::append_fields(JoinSide key_of, FieldOfS&& field_of_s, std::string& row) const {
  bool first = true;
  for (const RowField& field : format_.fields) {
    if (!first) separator_.append_to(row);
    first = false;
    switch (field.origin) {
      case RowField::Origin::key:
        append_key(key_of, row);
        break;
      case RowField::Origin::r:
        append_field(fields_of(JoinSide::r)[field.field], row);
        break;
      case RowField::Origin::s:
        append_field(field_of_s(field.field), row);
        break;
    }
  }
}

void LineRows::set_r(std::string_view r) {
  fields_[0].parse(r);
  if (!format_.fields.empty()) return;
  head_.clear();
  append_key(JoinSide::r, head_);
  append_others(JoinSide::r, fields_of(JoinSide::r), head_);
}

void LineRows::append_pair(std::string_view s, std::string& row) {
  fields_[1].parse(s);
  if (!format_.fields.empty()) return append_row(JoinSide::r, row);
  row.append(head_);
  append_others(JoinSide::s, fields_of(JoinSide::s), row);
}

// With -o: S's fields in the order of the row, each as its length and its bytes.
void LineRows::append_part(std::string_view s, std::string& part) {
  fields_[1].parse(s);
  if (format_.fields.empty()) return append_others(JoinSide::s, fields_of(JoinSide::s), part);
  for (const RowField& field : format_.fields) {
    if (field.origin != RowField::Origin::s) continue;
    const std::string_view bytes = fields_of(JoinSide::s)[field.field];
    char length[kMaxLengthBytes];
    part.append(length, put_length(length, bytes.size())).append(bytes);
  }
}

void LineRows::append_pair_of_part(std::string_view part, std::string& row) {
  if (format_.fields.empty()) {
    row.append(head_).append(part);
    return;
  }
  auto next_field = [at = part.data()](std::size_t) mutable {
    const std::string_view field = coded_record(at);
    at = field.data() + field.size();
    return field;
  };
  append_fields(JoinSide::r, next_field, row);
}

void LineRows::append_alone(JoinSide side, std::string_view record, std::string& row) {
  const auto index = static_cast<std::size_t>(side);
  fields_[index].parse(record);
  fields_[1 - index].clear();
  append_row(side, row);
}

}  // namespace xxl
