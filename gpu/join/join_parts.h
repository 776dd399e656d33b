// Cuts two sorted relations in host memory into parts that can be joined separately.
//
// The merge path of R and S is cut at regular distances, and each cut moved to the first record of
// its key on both sides, so that no group is split (Maltenberger 2024, section 3.3.1). A group that
// is longer than the distance of two cuts draws them all to its front: it becomes a part of its
// own, whose matches need no search, and which may be of any size.
//
//     R   1 3 | 5 5 5 5 5 5 | 6 8
//     S   2 4 | 5 5 5       | 7 8 9     cut every 4 records: the second cut falls among the 5s
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "gpu/device/device.h"
#include "record/key_layout.h"

namespace xxl::gpu {

// The shape of records that can be joined: a number in front. Throws Error{usage} if it is not.
RecordShape joinable_shape(const KeyLayout& layout);

// Throws Error{usage} if keys of the two shapes cannot be compared: they must be of one size and
// order. Keys are equal if all of their bits are.
void check_same_keys(const RecordShape& r, const RecordShape& s);

// A sorted relation in host memory.
struct Relation {
  RecordShape shape;  // not by address
  const std::byte* records = nullptr;
  std::size_t count = 0;

  // Key of a record, unsigned.
  std::uint64_t key(std::size_t i) const;
};

// Records [first, end) of either side.
struct JoinPart {
  std::size_t first_r = 0, end_r = 0;
  std::size_t first_s = 0, end_s = 0;
  bool one_group = false;  // all records have one key

  std::size_t r_count() const { return end_r - first_r; }
  std::size_t s_count() const { return end_s - first_s; }
  // False where the matches are known without: a side is empty, or all have one key.
  bool needs_search() const { return !one_group && first_r < end_r && first_s < end_s; }
};

class JoinCutter {
 public:
  // A part that needs a search has at most 2 * `distance` records. The relations' keys are of one
  // size and order.
  JoinCutter(const Relation& r, const Relation& s, std::size_t distance);

  // The next part, in the order of the keys; nothing when all have been given out.
  std::optional<JoinPart> next();

 private:
  struct CutPoint {
    std::size_t r = 0, s = 0;
    friend bool operator==(const CutPoint&, const CutPoint&) = default;
  };
  // Where the group that the merge path is in after `steps` records begins.
  CutPoint cut(std::size_t steps) const;
  // The end of the group that begins at `place`.
  CutPoint end_of_group(CutPoint place) const;

  Relation r_, s_;
  std::size_t distance_;
  CutPoint at_;
  std::size_t steps_ = 0;
};

}  // namespace xxl::gpu
