// Options of a join of lines or rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "job/join/join_options.h"
#include "job/row_faults.h"
#include "join/join_emitter.h"
#include "record/record_rules.h"
#include "record/record_syntax.h"

namespace xxl {

class SharedJob;

struct GeneralJoinOptions : JoinOptions, RowRules, RejectOptions {
  template <class T>
  using Sides = std::array<T, kJoinSides>;  // of R, of S

  // Keys of both are alike: equal ones are equal byte strings. A first record is the header, if
  // there is one.
  Sides<RecordRules> rules;
  // With a header: what is written first, made of the headers of the inputs that have one.
  std::function<std::string(const Sides<std::optional<std::string>>& headers)> header_row;
  RecordSyntax syntax;  // of both, and of the rows
  // Of records, and of rows, that have a fixed size: then both inputs and rows do.
  Sides<std::size_t> record_bytes{};
  std::size_t row_bytes = 0;
  Sides<io::IoQueue*> input_callers{};           // if set, fill the inputs in place of files
  bool s_first = false;                          // S is read before R
  std::optional<std::size_t> spare_table_bytes;  // of both together; for tests

  SharedJob* shared = nullptr;  // this is one of several joins; neither input is sorted already
  Sides<std::uint64_t> shared_bytes{};  // then: of the inputs of all, about; 0 if not known

  RecordSyntax input_syntax(std::size_t side) const { return with_size(record_bytes[side]); }
  RecordSyntax row_syntax() const { return with_size(row_bytes); }

 private:
  RecordSyntax with_size(std::size_t bytes) const {
    RecordSyntax sized = syntax;
    sized.record_bytes = bytes;
    return sized;
  }
};

}  // namespace xxl
