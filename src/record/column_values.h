// What the fields of a column of rows mean: their type, how numbers and dates are written in them,
// and which of them count as empty. Keys, joins and folds read fields through this.
//
//   type      value                      as a key (order of bytes = order of values)
//   text      its bytes                  the same, 0 and 1 escaped
//   ci        letters in lower case      the same
//   natural   digits within are numbers  digits preceded by '0' and their number, without zeros
//   version   as sort -V reads it        version_key.h
//   number    a decimal of any length    exponent, pairs of digits
//   integer   the same, digits only
//   date      a moment in UTC            seconds since the year 0, nanoseconds
//   value     of JSON                    a byte for its kind; then a number or text as above
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/csv_order.h"
#include "record/csv_rows.h"
#include "record/date_format.h"
#include "record/decimal.h"
#include "record/key_stretch.h"
#include "record/number_format.h"

namespace xxl {

class ColumnValues {
 public:
  // `format`: of numbers or dates (csv_order.h), empty for the usual one. `nulls`: texts that count
  // as empty.
  explicit(false) ColumnValues(CsvType type, std::string_view format = {},
                               const std::vector<std::string>& nulls = {});

  // Whether keys may be strings of bytes that do not delimit themselves: text, ci, natural,
  // version, value.
  bool is_text() const { return is_text_; }
  bool is_empty(const FieldSpan& field) const;
  // Appends the value of a field that is not empty; false if it is not of the type. Text has no end
  // mark.
  bool append(const FieldSpan& field, KeyStretch& stretch) const;
  bool is_empty_or_valid(const FieldSpan& field) const;
  // The number in a field that is not empty. It is valid until the next call on this thread.
  std::optional<Decimal> number(const FieldSpan& field) const;
  // -?digits[.digits] as the fields are written.
  std::string written(const std::string& number) const;
  // "'x' is not a number": the field is not of the type.
  std::string describe_mismatch(const FieldSpan& field) const;

 private:
  std::optional<Decimal> number_in(std::string_view content) const;
  std::optional<Moment> moment_in(std::string_view content) const;

  CsvType type_;
  bool is_text_;
  std::string format_;
  std::optional<NumberFormat> number_format_;
  std::optional<DateFormat> date_format_;
  std::vector<std::string> nulls_;
};

// Appends the text of a field, delimited but without its end mark.
void append_text(const FieldSpan& field, KeyStretch& stretch);

}  // namespace xxl
