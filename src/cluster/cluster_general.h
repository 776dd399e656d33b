// What general sorts and joins on several machines have in common: the part of a rank.
//
//     input_share     each rank reads its share of each input
//     (general_sort)  and forms sorted runs of it, in its own scratch
//     key_cuts        the runs of all ranks are cut into ranges of keys, one for each rank
//     run_slices      each rank is told where the slices of its range are
//     remote_blocks   and merges them: blocks come in predicted order from those that have them
//     rank_output     to a directory of parts, or by way of scratch to one file
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory_region.h"
#include "cluster/cluster_sort.h"
#include "cluster/input_share.h"
#include "cluster/key_cuts.h"
#include "cluster/peers.h"
#include "cluster/rank_output.h"
#include "cluster/remote_blocks.h"
#include "cluster/run_slices.h"
#include "io/io_queue.h"
#include "job/general_sort/shared_job.h"
#include "job/job.h"
#include "record/record_syntax.h"
#include "run/byte_sink.h"
#include "run/general_run.h"
#include "run/output_parts.h"
#include "run/run_store.h"

namespace xxl {

class ClusterGeneral final : public SharedJob {
 public:
  explicit ClusterGeneral(Peers& peers) : peers_(peers) {}

  // Steps of all ranks. In this order:
  // Unless no output is written. `job` must outlive this. Throws Error.
  void open_output(const JobOptions& job) { output_.emplace(job, false, peers_); }
  // The next input: as open_general_share(), or open_share() if records have a fixed size.
  GeneralShare open_input(const std::vector<std::string>& paths, const RecordSyntax& syntax,
                          bool with_first_record);
  // The next input, which the job has from elsewhere.
  void add_input() { inputs_.emplace_back(); }
  // If the output surely takes `bytes`.
  void reserve_output(std::uint64_t bytes) { output_->reserve(bytes); }
  // What -S says, if the job of plan() has a part of that: for messages.
  void state_memory(std::uint64_t bytes) { given_memory_bytes_ = bytes; }
  // Sets the memory and the threads of `job`, without what this needs.
  void plan(JobOptions& job);
  // The job that uses this: lasts as long as other ranks may read its runs.
  template <class Job>
  Job& keep(std::unique_ptr<Job> job) {
    Job& kept = *job;
    job_ = std::move(job);
    return kept;
  }

  // Runs `job`, of which an input has rows or not. Where rows begin is known only if all before are
  // well-formed: so of ranks that meet a malformed one, the first tells.
  template <class Job>
  auto run(Job& job, bool has_rows) {
    awaits_rows_ = has_rows;
    try {
      return job.run();
    } catch (const Error& error) {
      if (awaits_rows_ && error.code() == ErrorCode::bad_input) end_rows(true);
      throw;
    }
  }

  unsigned ranks() const override { return peers_.ranks(); }
  const std::optional<std::string>& header(std::size_t input) const override {
    return inputs_[input].header;
  }
  bool can_send(std::uint64_t record_bytes, std::uint64_t memory_bytes) const override;
  SharedMerge exchange(std::span<const SharedRuns> inputs, io::IoService& io) override;
  OutputParts& parts() override { return *output_->parts(); }
  std::unique_ptr<ByteSink> make_sink(std::size_t block_bytes, io::IoService& io) override {
    return output_->make_sink(block_bytes, io);
  }
  std::vector<MultisetHash> sums(std::span<const MultisetHash> counted) override;
  void publish() override { output_->publish(terminator_bytes_); }

  // Rank 0 merges all. Before exchange().
  void merge_at_first() { is_cut_ = false; }
  // When the job is done: what is known here, with what the job has `measured`, and the `runs` that
  // it has formed.
  ClusterReport report(const Measurements& measured, std::uint64_t runs) const;

 private:
  struct OwnRun {
    const GeneralRun* run;
    RunStore* scratch;
  };
  struct Input {
    std::optional<std::string> header;
    RunSlices<GeneralRun> slices;
    std::unique_ptr<RemoteBlocks> blocks;
  };

  void end_rows(bool malformed);
  void serve(std::span<const SharedRuns> inputs);

  Peers& peers_;
  ClusterReport report_;
  bool is_cut_ = true;
  bool awaits_rows_ = false;  // not all have been read
  std::size_t terminator_bytes_ = 0;
  std::optional<RankOutput> output_;
  std::shared_ptr<void> job_;
  // Of this rank, those of all inputs one after the other, as other ranks count them.
  std::vector<OwnRun> runs_;
  std::uint64_t given_memory_bytes_ = 0;
  MemoryRegion sending_;
  std::unique_ptr<ScratchServer> server_;
  std::deque<Input> inputs_;
};

}  // namespace xxl
