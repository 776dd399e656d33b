// The lengths of the longest records of a text that goes by in pieces. Nothing of it is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "record/record_syntax.h"

namespace xxl {

class RecordLengths {
 public:
  // The longest ones, in descending order, in bytes; 0: there are not so many.
  using Longest = std::array<std::uint64_t, 3>;

  // Where rows may be malformed, a row is taken for a line: a longer one would be malformed.
  explicit RecordLengths(const RecordSyntax& syntax) : syntax_(syntax) {}

  // What follows in the text.
  void add(std::string_view piece);
  // The text ends here, and another one may begin.
  void end();
  // A record of another place.
  void add_record(std::uint64_t bytes);

  // All records have one length.
  bool are_alike() const { return syntax_.record_bytes != 0; }
  // Bytes of the record that has begun.
  std::uint64_t begun() const { return begun_; }
  // Of the first one that add() or end() found; 0 if there is none.
  std::uint64_t first() const { return first_; }
  const Longest& longest() const { return longest_; }

 private:
  void add_counted(std::string_view piece);
  void add_terminated(std::string_view piece);

  RecordSyntax syntax_;
  Longest longest_{};
  std::uint64_t first_ = 0;
  std::uint64_t begun_ = 0;
  bool inside_quotes_ = false;
  std::uint64_t left_ = 0;       // of a counted record
  std::uint64_t count_ = 0;      // its count, as far as it has been read
  std::size_t count_bytes_ = 0;  // of that
  std::vector<std::size_t> ends_;
};

}  // namespace xxl
