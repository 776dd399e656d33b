// Joins arrays in host memory, in any order, on GPUs by hash.
//
// The no-partitioning join of Lutz et al., "Pump Up the Volume: Processing Large Data on GPUs with
// Fast Interconnects" (SIGMOD 2020), sections 5 and 6: the build side is entered in a hash table in
// GPU memory, the probe side streams past it in batches. Of each batch the GPU first finds the
// partners, then, when the host knows how many there are and where their rows go, writes the rows,
// which are copied out while further batches arrive. Each of several GPUs has a table of its own.
//
// A build side that is larger than the memory of a GPU stays partly in host memory
// (device_hash_table.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/join/array_join_rows.h"
#include "gpu/join/hash_table_memory.h"
#include "gpu/join/join_lane.h"
#include "record/key_layout.h"

namespace xxl::gpu {

struct HashJoinOptions {
  std::uint64_t memory_bytes = 0;        // most to use of each device; 0: what is free
  std::size_t batch_records = 1u << 21;  // fewer if memory is short
  unsigned threads = 0;                  // that enter far records; 0: one for each processor
  std::uint64_t missing = 0;             // value of the build side where a record has no partner
  TimeLine* time_line = nullptr;         // what the devices do; may be null
};

class HashJoiner {
 public:
  using Bytes = std::span<const std::byte>;

  struct Times {
    double build_seconds = 0;
    double probe_seconds = 0;
  };

  // For arrays of records of these layouts, which must be as those of an ArrayJoiner, and build
  // sides of at most `most_build_records` < 2^31 - 1. The devices must outlive it. Throws
  // Error{usage}, and Error{no_space} if a device has too little memory for batches of a few
  // thousand records.
  HashJoiner(std::vector<Device*> devices, const KeyLayout& probe, const KeyLayout& build,
             std::size_t most_build_records, const HashJoinOptions& options);
  ~HashJoiner();

  // Joins two arrays of whole records. The probe side is R and the build side S of `wanted`, which
  // may ask for all but lone records of S (Error{usage}; the larger side should probe): a row is
  // the key, the value of the probe side, and that of the build side. Within a batch rows come in
  // the order of the probe side; partners of one record in any order, and batches in the order in
  // which they are done. `rows` and both arrays should be pinned, and where the table does not fit
  // into the memory of a device, the build side must be. Throws Error{no_space} if the rows do not
  // fit, Error{device}; after either the joiner is unusable. The counts of S records are 0.
  JoinCounts join(Bytes probe, Bytes build, const WantedRows& wanted, std::span<std::byte> rows);
  // Only counts.
  JoinCounts count(Bytes probe, Bytes build);

  // Of the last join.
  const Times& times() const { return times_; }
  // Part of the table that is in memory of the devices, of the last join: 0 to 1.
  double near_part() const { return near_part_; }
  std::size_t row_bytes(const WantedRows& wanted) const;

 private:
  class OneJoin;

  JoinCounts run(bool counts_only, Bytes probe, Bytes build, const WantedRows& wanted,
                 std::span<std::byte> rows);

  std::vector<Device*> devices_;
  HashJoinOptions options_;
  RecordShape probe_, build_;
  std::size_t most_build_records_;
  HashJoinShape shape_;
  // Slots and chains of a far part.
  SharedMemory far_memory_;
  std::size_t far_words_ = 0;
  Times times_;
  double near_part_ = 1;
  Mailbox mailbox_;
  std::vector<HashTableMemory> tables_;
  std::vector<std::unique_ptr<JoinLane>> lanes_;  // last: their threads use the rest
};

}  // namespace xxl::gpu
