// What of the input a rank sorts.
//
// Files that all ranks see are cut, as if they were one, into shares of equal numbers of records:
//
//     file a  |------ 0 ------|-- 1 |        rank 0 reads a from its start, rank 1 the end of a and
//     file b  |--- 1 ---|----- 2 ----|       the start of b, rank 2 the end of b
//
// Text is cut behind the record that a cut in equal bytes would fall into. For rows all ranks read
// their shares once more for that: only from the start of a file can be told what lies between
// quotes.
//
// Where a name has {rank} in it, it is that of a file of each rank, which reads all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/peers.h"
#include "job/inputs.h"
#include "record/record_syntax.h"

namespace xxl {

// The files of rank `rank`: {rank} in their names stands for its number.
struct RankPaths {
  // Throws Error{usage} unless all or none of `paths` have that.
  RankPaths(const std::vector<std::string>& paths, unsigned rank);

  std::vector<std::string> paths;
  bool are_of_rank;  // otherwise all ranks have the same
};

struct InputShare {
  Inputs inputs;
  std::uint64_t largest_bytes = 0;  // of all ranks
  std::uint64_t all_bytes = 0;      // of all ranks together
};

// A step of all ranks. `paths` as open_inputs(). Throws Error if a file cannot be read, is not a
// whole number of records, has no size that is known, or has another one for other ranks.
InputShare open_share(const std::vector<std::string>& paths, std::size_t record_bytes,
                      Peers& peers);

struct GeneralShare : InputShare {
  // Of the first input of all that has any, without its terminator; if it is wanted.
  std::optional<std::string> first_record;
};

// The same for lines or rows.
GeneralShare open_general_share(const std::vector<std::string>& paths, const RecordSyntax& syntax,
                                bool with_first_record, Peers& peers);

}  // namespace xxl
