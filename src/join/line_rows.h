// Rows of joined lines, as join(1) writes them: its default format, -o FORMAT, -o auto and -e.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "join/join_rows.h"
#include "record/byte_classes.h"
#include "record/line_fields.h"

namespace xxl {

// A field of a row.
struct RowField {
  enum class Origin { key, r, s };
  Origin origin = Origin::key;
  std::size_t field = 0;  // from 0, of R or S
};

struct LineRowFormat {
  LineFieldSyntax syntax;
  std::array<std::vector<std::size_t>, kJoinSides> key_fields;  // from 0; as many on both sides
  std::vector<RowField> fields;       // -o; none: the key, R's other fields, S's other fields
  std::optional<std::string> filler;  // in place of empty and missing fields (-e)
  // -o auto, without `fields`: as many fields are written of each side, however many there are.
  std::optional<std::array<std::size_t, kJoinSides>> field_counts;
};

class LineRows final : public JoinRows {
 public:
  // `format` is copied.
  explicit LineRows(const LineRowFormat& format);

  void set_r(std::string_view r) override;
  void append_pair(std::string_view s, std::string& row) override;
  void append_part(std::string_view s, std::string& part) override;
  void append_pair_of_part(std::string_view part, std::string& row) override;
  void append_alone(JoinSide side, std::string_view record, std::string& row) override;

 private:
  void append_field(std::string_view field, std::string& row) const;
  void append_others(JoinSide side, const LineFields& fields, std::string& row) const;
  // `key_of`: the side whose key is written.
  void append_row(JoinSide key_of, std::string& row) const;
  // -o; `field_of_s(number)` is called for S's fields in the order of the row.
  template <class FieldOfS>
  void append_fields(JoinSide key_of, FieldOfS&& field_of_s, std::string& row) const;
  void append_key(JoinSide side, std::string& row) const;
  const LineFields& fields_of(JoinSide side) const {
    return fields_[static_cast<std::size_t>(side)];
  }

  LineRowFormat format_;
  FieldSeparator separator_;
  std::array<LineFields, kJoinSides> fields_;
  // Without -o: the common start of all pairs of one R.
  std::string head_;
};

}  // namespace xxl
