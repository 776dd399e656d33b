// What --count and --sum make of records with equal keys.
#pragma once

#include <string>
#include <string_view>

namespace xxl {

// Makes of a group of records with equal keys the one record of the output. begin(), then add() for
// each further record of the group, then finish(); then the next group. One thread.
class GroupFold {
 public:
  virtual ~GroupFold() = default;
  virtual void begin(std::string_view record) = 0;
  virtual void add(std::string_view record) = 0;
  // Appends the record for the group to `out`, without terminator; without a record before, that of
  // no records, if it is for sorts that have one group. Throws Error{bad_input} for
  // records that cannot be folded.
  virtual void finish(std::string& out) = 0;
};

}  // namespace xxl
