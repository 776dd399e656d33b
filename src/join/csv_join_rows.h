// Rows of joined rows of CSV and TSV: the key columns once, then R's other columns, then S's.
// Fields are copied as they were written, unless they are empty and there is a filler.
//
//   R  id,name          S  user,price       key1=id, key2=user, a full join
//      1,"Miller, Ann"     1,12.50           1,"Miller, Ann",12.50
//                          3,0.99            3,,0.99
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "join/join_rows.h"
#include "record/csv_rows.h"

namespace xxl {

struct CsvRowFormat {
  FieldSyntax fields;
  std::array<std::vector<std::size_t>, kJoinSides> key_columns;  // from 0; as many on both sides
  // Columns of the rows of a side; 0: there are no rows. Rows with fewer are padded.
  std::array<std::size_t, kJoinSides> widths{};
  // In fields that are missing or empty (-e); empty: these are empty, or as they were written.
  std::string filler;
  bool carriage_return = false;  // rows end with one, before their terminator
};

class CsvJoinRows final : public JoinRows {
 public:
  // `format` is copied.
  explicit CsvJoinRows(const CsvRowFormat& format);

  void set_r(std::string_view r) override;
  void append_pair(std::string_view s, std::string& row) override;
  void append_part(std::string_view s, std::string& part) override;
  void append_pair_of_part(std::string_view part, std::string& row) override;
  void append_alone(JoinSide side, std::string_view record, std::string& row) override;

 private:
  const std::vector<std::size_t>& keys_of(JoinSide side) const {
    return format_.key_columns[static_cast<std::size_t>(side)];
  }
  bool is_key(JoinSide side, std::size_t column) const;
  void append_field_of(const RowFields& fields, std::size_t column, std::string& row) const;
  void append_key(JoinSide side, const RowFields& fields, std::string& row) const;
  void append_others(JoinSide side, const RowFields& fields, std::string& row) const;
  void append_filler(JoinSide side, std::string& row) const;

  CsvRowFormat format_;
  std::string filler_;  // with quotes, if it needs them
  RowFields fields_;
  std::string head_;  // the common start of all pairs of one R
};

// The header of the rows, made of those of R and S: where a column that is not of the key has the
// name of one of the other side, both get a suffix. A missing header (the file is empty) has no
// columns. Throws Error{bad_input} if a header is malformed.
std::string joined_header(const CsvRowFormat& format,
                          const std::array<std::optional<std::string>, kJoinSides>& headers,
                          const std::array<std::string, kJoinSides>& suffixes);

}  // namespace xxl
