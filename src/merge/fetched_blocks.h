// The blocks that a merge has in memory: fetched in the order of their prediction, checked by
// workers, and held until they have been merged (the overlap buffer of Dementiev and Sanders,
// SPAA'03, section 2.3).
//
// Where cut triggers tie, the prediction is a guess, and memory may be full of blocks none of which
// can be merged. Then fetch_next_of() reads a block that lets the merge go on; if there is no
// buffer for it, the farthest block is dropped, to be read again later.
//
// All calls by the coordinator, from its mailbox's loop; records that are held may be read by any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/checksum.h"
#include "base/in_flight.h"
#include "io/buffer_pool.h"
#include "merge/fetched_run.h"
#include "merge/merge_context.h"
#include "merge/prediction.h"
#include "run/run.h"

namespace xxl {

class FetchedBlocks {
 public:
  // Told which run has more records in memory than before, or fewer.
  using OnChange = std::function<void(std::uint32_t run)>;

  // All references must outlive it. Each of `buffers` holds a block of any run (plus two sectors
  // for runs outside scratch). `held`, fewer than all of them: how many may be full of records that
  // cannot be merged yet.
  FetchedBlocks(const FetchContext& context, const std::vector<Run>& runs, io::BufferPool& buffers,
                std::size_t held, OnChange on_change);

  // Starts to read the blocks needed next, as many as there are buffers.
  void fetch();
  // Starts to read the first block that is missing of `run`, out of order. No read is under way.
  void fetch_next_of(std::uint32_t run);
  // Gives back the buffers, and the places on disk, of blocks wholly before record ends[run] of
  // their run.
  void release(const std::vector<std::uint64_t>& ends);

  const std::vector<FetchedRun>& runs() const { return runs_; }
  // Blocks being read or checked.
  std::size_t reading() const { return reading_; }
  // Of all its buffers.
  std::size_t bytes() const { return buffers_.count() * buffers_.buffer_bytes(); }
  // Of the blocks read from runs outside scratch.
  const MultisetHash& files_hash() const { return files_hash_; }
  // Blocks that were fetched out of order.
  std::uint64_t refetched() const { return refetched_; }

 private:
  void start_read(BlockRef ref);
  void read_of_scratch(BlockRef ref, std::byte* buffer);
  void read_of_file(BlockRef ref, std::byte* buffer);
  void check(BlockRef ref, std::byte* buffer, std::size_t lead);
  MultisetHash check_records(BlockRef ref, std::byte* records) const;
  void drop_farthest();

  const FetchContext& context_;
  io::BufferPool& buffers_;
  const OnChange on_change_;
  FetchOrder order_;
  std::vector<FetchedRun> runs_;
  std::deque<BlockRef> dropped_;  // to be fetched again
  std::size_t reading_ = 0;
  std::uint64_t refetched_ = 0;
  MultisetHash files_hash_;
  InFlight in_flight_;
};

}  // namespace xxl
