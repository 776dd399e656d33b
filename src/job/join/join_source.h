// Where a join of sorted streams gets its blocks: a merge of runs, or a file in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/in_flight.h"
#include "io/sequential_reader.h"
#include "job/fixed_sort/fixed_sorting.h"
#include "job/fixed_sort/input_sorting.h"
#include "job/fixed_sort/run_merge.h"
#include "job/inputs.h"
#include "join/stream_joiner.h"

namespace xxl {

// Coordinator thread only.
class JoinSource {
 public:
  virtual ~JoinSource() = default;
  // Does what can be done now without waiting; gives blocks, and finally the end, to the joiner.
  virtual void pump() = 0;
  // Nothing is under way.
  virtual bool idle() const = 0;
  virtual bool waits_for_read() const = 0;
  // Of the records as they were read, if they are not given to the joiner as they are read.
  virtual std::optional<MultisetHash> input_hash() const { return std::nullopt; }
};

// The records of an input that is sorted in memory: of the host, or of an accelerator. Nothing is
// written to scratch.
class ResidentSource final : public JoinSource {
 public:
  // REQUIRES: `sorting` has planned this. Everything but `joiner` must outlive it.
  ResidentSource(FixedSorting& sorting, std::span<std::byte> region, io::IoService& io,
                 Workers& workers, Mailbox& mailbox, JoinSide side, StreamJoiner& joiner);

  // Gives the attempt up, before the first block is given to the joiner, if the input does not fit.
  void pump() override;
  bool idle() const override {
    return state_ == State::ended ||
           (state_ == State::sorting && sorting_->formation().waits_for_output());
  }
  bool waits_for_read() const override { return false; }
  std::optional<MultisetHash> input_hash() const override {
    return sorting_->sorter().input_hash();
  }

 private:
  enum class State { sorting, finishing, ended };

  JoinSide side_;
  StreamJoiner& joiner_;
  State state_ = State::sorting;
  std::unique_ptr<BlockSink> sink_;
  std::unique_ptr<InputSorting> sorting_;  // last: it gives blocks to the sink
};

// The records of runs, merged. Their blocks wait in the buffers of the merge's output.
class MergedSource final : public JoinSource {
 public:
  // `region`: context.geometry.merge_region_bytes. Everything must outlive it but `joiner`, which
  // may go first: this owns its blocks. `input_hash`: of what the runs were made from.
  MergedSource(const RunMergeContext& context, std::span<std::byte> region,
               const std::vector<Run>& runs, const MultisetHash& input_hash, JoinSide side,
               StreamJoiner& joiner);

  void pump() override;
  bool idle() const override { return state_ != State::finishing && merge_.merger().idle(); }
  bool waits_for_read() const override { return merge_.merger().waits_for_read(); }
  std::optional<MultisetHash> input_hash() const override { return input_hash_; }

 private:
  enum class State { merging, finishing, ended };

  MultisetHash input_hash_;
  JoinSide side_;
  StreamJoiner& joiner_;
  State state_ = State::merging;
  RunMerge merge_;
};

// The records of a file that should be in order; disorder is an error.
class FileSource final : public JoinSource {
 public:
  // `memory` is for buffers of `block_bytes` (SequentialReader::buffer_bytes). `assumed`: the order
  // is a guess, not given by the user: without it the attempt is given up. Everything must outlive
  // it.
  FileSource(Inputs& inputs, const KeyLayout& layout, std::size_t block_bytes,
             std::span<std::byte> memory, bool assumed, io::IoService& io, Workers& workers,
             Mailbox& mailbox, JoinSide side, StreamJoiner& joiner);

  void pump() override;
  bool idle() const override { return reader_.idle() && checking_.empty(); }
  bool waits_for_read() const override { return !reader_.idle() && checking_.empty(); }

 private:
  struct Checked {
    io::RecordBlock block;
    std::uint64_t first = 0;  // number of its first record
    bool done = false;
    std::optional<std::uint64_t> fault;  // number of a record that is out of order
  };
  void check(Checked& checked);
  void deliver();

  const KeyLayout& layout_;
  const std::string path_;
  const bool assumed_;
  Workers& workers_;
  Mailbox& mailbox_;
  JoinSide side_;
  StreamJoiner& joiner_;
  io::SequentialReader reader_;
  std::deque<Checked> checking_;  // in order
  std::uint64_t records_ = 0;
  std::vector<std::byte> last_;  // record so far
  bool ended_ = false;
  InFlight in_flight_;
};

// True if samples of a stored file are in order: then all of it probably is.
bool looks_sorted(const io::File& file, const KeyLayout& layout);

}  // namespace xxl
