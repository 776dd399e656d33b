// Folds: one record made of those with equal keys (--count, --sum, xxl group).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  // Whether the group is written, once all of its records have been added.
  virtual bool keeps() const { return true; }
};

using MakeGroupFold = std::function<std::unique_ptr<GroupFold>()>;

// Which groups are written, by their numbers of records: all, those of several, or those of one.
enum class GroupSizes : std::uint8_t { all, several, one };

// What `inner` makes of the groups of these sizes; without `inner`, their first records.
MakeGroupFold fold_of_sizes(GroupSizes sizes, MakeGroupFold inner);

}  // namespace xxl
