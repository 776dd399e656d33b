// One sort of binary records, step by step: for fixed_sort(), which takes all steps, and for
// joins, which stop at the runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/mailbox.h"
#include "base/memory_region.h"
#include "base/workers.h"
#include "io/buffer_pool.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "job/caller_sort.h"
#include "job/fixed_sort/fixed_sort_options.h"
#include "job/fixed_sort/input_sorting.h"
#include "job/fixed_sort/merge_choice.h"
#include "job/fixed_sort/sort_plan.h"
#include "job/inputs.h"
#include "job/job_io.h"
#include "job/job_steps.h"
#include "job/output.h"
#include "job/phase_meter.h"
#include "merge/run_merger.h"
#include "run/block_sink.h"
#include "run/cell_grid.h"
#include "run/output_stage.h"
#include "run/run.h"
#include "sort/chunk_sorter.h"
#include "sort/pinned.h"
#include "xxl/sort.h"

namespace xxl {

class FixedSorting final : public CallerSort {
 public:
  // Opens the inputs and plans. Throws Error.
  explicit FixedSorting(const FixedSortOptions& options, const SortSurroundings& surroundings = {});
  // With `inputs` that are open, those of the options. Does not plan: plan_again() must follow.
  FixedSorting(const FixedSortOptions& options, Inputs inputs);

  const FixedSortOptions& options() const { return options_; }
  const KeyLayout& layout() const { return layout_; }
  const Inputs& inputs() const { return inputs_; }
  const Geometry& geometry() const { return geometry_; }
  const SortPlan& plan() const { return report_.plan; }
  std::string planned_backend() const { return backend_name(options_, is_little_); }
  bool uses_accelerator() const { return accelerator_plan_.has_value(); }
  // Plans again, as long as nothing has been done.
  void plan_again(const FixedSortOptions& options, const SortSurroundings& surroundings);

  SortReport run() override { return run_steps(*this); }
  void open();
  void form();
  void merge();
  void check();
  void publish();
  void write_again() override;
  std::unique_ptr<SmallSort> small_sort() const override;
  void stop_writing() override { stopped_ = true; }
  // After a failure of an optional accelerator: true if nothing has been output.
  bool may_start_again() const {
    return options_.acceleration == Acceleration::if_it_pays &&
           (output_ == nullptr || output_->appears_at_end());
  }

  // Before make_runs(), if other work comes first: reserves the scratch that is planned. Throws
  // Error{no_space}.
  void reserve_scratch();

  // In place of run(): forms runs in scratch, and merges them until they can be merged in
  // geometry().merge_region_bytes. Memory, threads and queues are given back. `region`: memory to
  // do it in, of options().memory_bytes.
  void make_runs(std::span<std::byte> region);

  // In place of run(), if plan() says that no scratch is needed: sorts the input in memory and
  // gives out the sorted records. `region`: of geometry().region_bytes. All references must outlive
  // it, as must this. Throws Error{no_space} if an accelerator no longer has room.
  std::unique_ptr<InputSorting> sort_in_memory(std::span<std::byte> region, io::IoService& io,
                                               Workers& workers, Mailbox& mailbox,
                                               InputSorting::OpenRun open_run);

  // After make_runs():
  std::vector<Run>& runs() { return runs_; }
  io::ScratchStore* scratch() { return scratch_.get(); }
  BlockPacker packer() const;  // of their blocks
  // Of these, which have the format of the output unless they are files.
  const KeyLayout& run_layout() const { return options_.merge_only ? layout_ : output_layout_; }
  const MultisetHash& input_hash() const { return input_hash_; }
  const MultisetHash& removed_hash() const { return removed_hash_; }  // what is in no run
  // What becomes of the records of a merge of all runs that have them.
  OutputRules output_rules() const { return rules(true, true); }
  const SortReport& report() const { return report_; }

 private:
  void take(PlannedSort planned) {
    geometry_ = planned.geometry;
    geometry_.chunk.keeps_all =
        geometry_.chunk.keeps_rest && (options_.repeatable || !layout_.words_are_key());
    report_.plan = std::move(planned.plan);
    accelerator_plan_ = std::move(planned.accelerator);
    is_little_ = planned.is_little;
  }
  void set_up();
  void start_workers();
  void take_memory();
  void open_accelerator(Workers& workers, Mailbox& mailbox);
  void take_region();
  void open_scratch(std::uint64_t bytes);
  void form_runs();
  void make_grid(const ChunkSorter& sorter);
  RunFormation::OpenedRun open_run(const ChunkSorter& sorter, io::BufferPool& buffers,
                                   bool all_in_memory, bool looks_sorted);
  OutputRules rules(bool is_output, bool is_whole) const;
  OutputParts* cut_parts(std::uint64_t records);
  std::size_t part_streams(const OutputRules& rules, std::uint64_t records) const;
  void close_run(const OutputStage& stage);
  void take_output(const OutputStage& stage);
  bool spill_what_cannot_stay();
  void read_triggers();
  void merge_runs(bool into_output);
  void merge(const std::vector<Run>& runs, Run* target, WaitTimes& waits);
  void hand_over(RunMerger& merger);
  MergeStretches::Totals merge_totals(const WaitTimes& waits) const;
  std::unique_ptr<BlockSink> make_scratch_sink(Run& run, io::BufferPool& buffers);
  void drain(BlockSink& sink, WaitTimes& waits);
  void check_output() const;
  std::uint64_t most_output_bytes() const {
    return options_.written_of(inputs_.bytes / layout_.record_bytes()) *
           output_layout_.record_bytes();
  }
  bool may_write_output_early() const;

  std::uint64_t bytes_of(const std::vector<Run>& runs) const;
  std::uint64_t kept_bytes() const;  // of the input, in memory while runs are merged
  Run new_run();

  FixedSortOptions options_;
  SortSurroundings surroundings_;
  KeyLayout layout_;
  KeyLayout output_layout_;
  Inputs inputs_;
  Geometry geometry_;
  std::optional<AcceleratorPlan> accelerator_plan_;
  bool is_little_ = false;
  SortReport report_;
  PhaseMeter meter_{report_, options_};

  MemoryRegion own_memory_;
  std::span<std::byte> given_memory_;
  std::span<std::byte> region_;  // of the one or the other
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<io::ScratchStore> scratch_;
  std::uint64_t seed_ = 0;
  std::uint64_t runs_made_ = 0;
  std::unique_ptr<CellGrid> grid_;  // of runs left unsorted within cells
  std::vector<Run> runs_;
  std::atomic<bool> stopped_ = false;
  bool sorted_into_output_ = false;  // the first run was written to the output file
  bool output_has_parted_ = false;   // with groups that still are several records
  std::uint64_t records_folded_ = 0;
  std::uint64_t output_records_ = 0;
  MultisetHash input_hash_;
  MultisetHash output_hash_;
  MultisetHash removed_hash_;              // while runs were formed and merged
  MultisetHash removed_from_output_hash_;  // by the merge that wrote the output

  // Of the phase: queues, and sinks, which the queues call back.
  Mailbox mailbox_{options_.stop};
  std::unique_ptr<Pinned> pinned_;
  std::unique_ptr<ChunkSorter> accelerated_;                 // until runs are formed
  std::span<std::byte> large_staging_;                       // of the merge
  std::vector<std::unique_ptr<PieceSorter>> large_sorters_;  // once the accelerator merges
  std::vector<std::unique_ptr<BlockSink>> sinks_;
  std::deque<Run> forming_;
  std::unique_ptr<io::IoService> io_;  // its destructor waits for what is in flight
  // Forms runs, and after that keeps what stays in memory. Last: its pieces go to sinks.
  std::unique_ptr<InputSorting> input_sorting_;
};

}  // namespace xxl
