// What the rows of a join look like: text made of a record of R, of one of S, or of both.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "join/join_kind.h"

namespace xxl {

// Rows are appended without a terminator. Records are without theirs, and must last as long as they
// are used. For one thread.
class JoinRows {
 public:
  virtual ~JoinRows() = default;

  // Sets the R of the pairs that follow.
  virtual void set_r(std::string_view r) = 0;
  // The row of the pair of that R and `s`.
  virtual void append_pair(std::string_view s, std::string& row) = 0;
  // The same in two steps, for an S that has many R's: its part of the rows, which takes no more
  // bytes than they do (but for lengths of fields), and the row of the R and such a part.
  virtual void append_part(std::string_view s, std::string& part) = 0;
  virtual void append_pair_of_part(std::string_view part, std::string& row) = 0;
  // The row of a record without a partner.
  virtual void append_alone(JoinSide side, std::string_view record, std::string& row) = 0;
};

// Rows that are records of R as they are: of semi and anti joins.
class RecordsOfR final : public JoinRows {
 public:
  void set_r(std::string_view) override {}
  void append_pair(std::string_view, std::string&) override {}
  void append_part(std::string_view, std::string&) override {}
  void append_pair_of_part(std::string_view, std::string&) override {}
  void append_alone(JoinSide, std::string_view record, std::string& row) override {
    row.append(record);
  }
};

}  // namespace xxl
