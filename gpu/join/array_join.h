// Joins sorted arrays in host memory on GPUs.
//
// The join phase of Maltenberger, "Efficiently Joining Large Relations on Multi-GPU Systems with
// Modern Interconnects" (2024), section 3.3: the host cuts both relations into parts that no group
// crosses (join_parts.h); GPUs find for each record of R the range of S with its key, one part
// being copied in while one is searched and one copied out. There the host makes rows of the
// ranges, on all processors; so does this with `host_rows`. Otherwise GPUs also write the rows,
// where the records already are, and rows are copied out instead of ranges: on a link that carries
// both directions at once this takes no longer, and it leaves the host's memory to the copies.
// Arrays that are not sorted are sorted first, by an ArraySorter (array_sort.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/join/array_join_rows.h"
#include "gpu/join/join_lane.h"
#include "record/key_layout.h"

namespace xxl::gpu {

struct ArrayJoinOptions {
  std::uint64_t memory_bytes = 0;       // most to use of each device; 0: what is free
  std::size_t part_records = 1u << 22;  // of both sides in a part, about; fewer if memory is short
  bool host_rows = false;               // processors make rows of ranges
  unsigned threads = 0;                 // that make rows; 0: one for each processor
  std::uint64_t task_rows = 1u << 17;   // that a thread makes at a time, about
  std::uint64_t missing = 0;            // value of the side that a record without partner lacks
  TimeLine* time_line = nullptr;        // what the devices do; may be null
};

class ArrayJoiner {
 public:
  using Bytes = std::span<const std::byte>;
  // The matches of a part, on any thread, several at once; they are valid during the call.
  using TakeMatches = std::function<void(const MatchedPart&)>;

  // For arrays of records of these layouts, whose keys must be numbers of one size and order in
  // front of at most as many bytes of value (Error{usage} otherwise). The devices must outlive it.
  // Throws Error{no_space} if a device has too little memory for parts of a few thousand records.
  ArrayJoiner(std::vector<Device*> devices, const KeyLayout& r, const KeyLayout& s,
              const ArrayJoinOptions& options);
  ~ArrayJoiner();

  // Joins two arrays of whole records, each sorted by its keys (which is not checked). Pinned
  // memory (Device::pin), also of `rows`, is several times faster. Rows are written to the front of
  // `rows`, in the order of the keys (array_join_rows.h). Throws Error{no_space} if they do not
  // fit, Error{device}; after either the joiner is unusable.
  JoinCounts join(Bytes r, Bytes s, const WantedRows& wanted, std::span<std::byte> rows);
  // Only counts.
  JoinCounts count(Bytes r, Bytes s);
  // Gives out matches instead of rows. `take` must not throw.
  JoinCounts matches(Bytes r, Bytes s, const TakeMatches& take);

  // Bytes of a row.
  std::size_t row_bytes(const WantedRows& wanted) const;

 private:
  class OneJoin;
  // Host memory for the results of a part. Without `ranges` if they stay on the device.
  struct Staging {
    MatchRange* ranges = nullptr;
    TileTotals* totals = nullptr;
  };
  enum class Result { rows, matches, counts };

  Relation relation(const RecordShape& shape, Bytes array) const;
  JoinCounts run(Result result, Bytes r, Bytes s, const WantedRows& wanted,
                 std::span<std::byte> rows, const TakeMatches* take);
  void make_staging();
  void add_ranges_to_staging();

  std::vector<Device*> devices_;
  ArrayJoinOptions options_;
  RecordShape r_, s_;
  std::size_t distance_ = 0;  // of cuts, records
  JoinPlaceShape place_shape_;
  SharedMemory totals_memory_;
  SharedMemory ranges_memory_;    // taken when it is first needed
  std::vector<Staging> staging_;  // free ones
  Mailbox mailbox_;
  std::vector<std::unique_ptr<JoinLane>> lanes_;  // last: their threads use the rest
};

}  // namespace xxl::gpu
