// Options of a join of lines or rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "job/join/join_options.h"
#include "join/join_kind.h"
#include "join/join_rows.h"
#include "record/key_extractor.h"
#include "record/record_syntax.h"

namespace xxl {

class SharedJob;

struct GeneralJoinOptions : JoinOptions {
  template <class T>
  using Sides = std::array<T, kJoinSides>;  // of R, of S

  // Which rows there are: those of `kind`, or another combination.
  JoinShape shape;
  // Of both alike: equal keys are equal byte strings.
  Sides<std::shared_ptr<const KeyExtractor>> keys;
  // With a header: gets it and returns the keys, in place of `keys`; may be empty. May throw Error.
  Sides<std::function<std::shared_ptr<const KeyExtractor>(std::string_view header)>> keys_of_header;
  // Gets the first record of an input (its header, if there is one) before any other; may be empty.
  Sides<std::function<void(std::string_view record)>> first_record;
  // Says what is wrong with a record, or nothing; may be empty. From many threads.
  Sides<std::function<std::optional<std::string>(std::string_view record)>> malformed;
  // Makes a writer of rows. Called from many threads, once the first records are known.
  std::function<std::unique_ptr<JoinRows>()> make_rows;
  // With a header: what is written first, made of the headers of the inputs that have one.
  std::function<std::string(const Sides<std::optional<std::string>>& headers)> header_row;
  // True of a record of R whose key equals no other, not even itself, as NULL in SQL; may be empty.
  // Called from many threads, once the first records are known.
  std::function<bool(std::string_view r)> matches_nothing;
  // With parts by a key: gives that key, of the rows, once the first records are known.
  std::function<std::shared_ptr<const KeyExtractor>()> keys_of_parts;
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
