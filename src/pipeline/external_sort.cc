// The sort from end to end. In order: open and measure the inputs; plan; open the output and
// reserve the space; form runs; merge them in as few passes as possible; compare what went in with
// what came out; publish. Nothing appears before the last step.
#include "pipeline/external_sort.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/input_checks.h"
#include "io/scratch_store.h"
#include "io/sequential_reader.h"
#include "merge/run_merger.h"
#include "pipeline/inputs.h"
#include "pipeline/merge_choice.h"
#include "pipeline/output.h"
#include "pipeline/phase_meter.h"
#include "pipeline/plan.h"
#include "pipeline/run_formation.h"
#include "run/file_run.h"
#include "run/sinks.h"
#include "sort/cpu_chunk_sorter.h"
#include "sort/pinned.h"

namespace xxl {
namespace {

using Clock = std::chrono::steady_clock;

const char* kind_name(RecordKind kind) {
  switch (kind) {
    case RecordKind::key32:
      return "key32";
    case RecordKind::key64:
      return "key64";
    case RecordKind::pair32:
      return "pair32";
    case RecordKind::pair64:
      return "pair64";
    case RecordKind::generic:
      return "generic";
  }
  return "";
}

struct Planned {
  Geometry geometry;
  SortPlan plan;
  std::optional<AcceleratorPlan> accelerator;
};

PlanInput plan_input(const SortOptions& options, const Inputs& inputs) {
  PlanInput input;
  input.memory_bytes = options.memory_bytes;
  input.input_bytes = inputs.bytes;
  input.input_size_known = inputs.size_known;
  input.threads = options.parallel != 0 ? options.parallel : available_processors();
  input.scratch_disks = static_cast<unsigned>(options.scratch_dirs.size());
  input.batch_size = options.batch_size;
  input.merge_only = options.merge_only;
  input.unique = options.unique;
  input.merge_inputs = inputs.files.size();
  return input;
}

// Plans what is read and merged, whatever sorts: `plan` knows how long runs are already.
void finish_plan(const SortOptions& options, const KeyLayout& layout, const Inputs& inputs,
                 Planned& planned) {
  const Geometry& geometry = planned.geometry;
  SortPlan& plan = planned.plan;
  plan.input_bytes = inputs.bytes;
  plan.input_size_known = inputs.size_known;
  plan.memory_bytes = options.memory_bytes;
  plan.block_bytes = geometry.block_bytes;
  plan.merge_degree = geometry.merge_degree;
  plan.threads = geometry.threads;
  plan.record_kind = kind_name(layout.kind());
  const bool in_memory = plan.expected_runs == 1 && !options.merge_only;
  plan.passes =
      in_memory ? 0 : std::max(1U, merge_passes(plan.expected_runs, geometry.merge_degree));
  if (options.merge_only) {
    if (plan.passes > 1) plan.scratch_bytes = inputs.bytes;
  } else if (!in_memory) {
    plan.scratch_bytes =
        ceil_div<std::uint64_t>(inputs.bytes, geometry.records_per_block * layout.record_bytes()) *
            geometry.block_bytes +
        16 * geometry.block_bytes;
  }
}

Planned plan_for_cpu(const SortOptions& options, const KeyLayout& layout, const Inputs& inputs) {
  Planned planned;
  PlanInput input = plan_input(options, inputs);
  input.merge_accelerated = options.merge_only && options.acceleration == Acceleration::always;
  planned.geometry = plan_geometry(input, layout);
  const CpuChunkGeometry& chunk = planned.geometry.chunk;
  SortPlan& plan = planned.plan;
  plan.device = "cpu";
  plan.sort_memory_bytes = chunk.slabs * chunk.slab_bytes;
  if (options.merge_only) {
    plan.expected_runs = inputs.files.size();
  } else if (inputs.size_known && inputs.bytes <= chunk.resident_bytes) {
    plan.expected_runs = 1;
  } else {
    plan.expected_runs =
        std::max<std::uint64_t>(2, 1 + ceil_div(inputs.bytes, 2 * plan.sort_memory_bytes));
  }
  finish_plan(options, layout, inputs, planned);
  return planned;
}

// Nothing if the accelerator cannot do it; `reason` says why.
std::optional<Planned> plan_for_accelerator(const SortOptions& options, const KeyLayout& layout,
                                            const Inputs& inputs, std::string& reason) {
  PlanInput input = plan_input(options, inputs);
  input.accelerated = true;
  input.merge_accelerated = options.merge_on_accelerator != AcceleratedMerge::never;
  const std::uint64_t bytes = inputs.size_known ? std::max<std::uint64_t>(inputs.bytes, 1) : 0;
  input.chunk_bytes = ~std::uint64_t{0};
  // The slices are the same however long the runs are.
  const std::size_t slice_bytes = plan_geometry(input, layout).slice_bytes;
  auto accelerator_plan = options.accelerator->plan(layout, bytes, slice_bytes, reason);
  if (!accelerator_plan) return std::nullopt;
  Planned planned;
  input.chunk_bytes = accelerator_plan->chunk_bytes;
  // What its driver takes counts, unless that leaves next to nothing.
  input.memory_bytes -= std::min(accelerator_plan->host_bytes, input.memory_bytes / 2);
  planned.geometry = plan_geometry(input, layout);
  accelerator_plan->slice_bytes = planned.geometry.slice_bytes;
  SortPlan& plan = planned.plan;
  plan.device = accelerator_plan->description;
  plan.sort_memory_bytes = accelerator_plan->chunk_bytes * accelerator_plan->chunks;
  plan.expected_runs =
      accelerator_plan->chunks == 1
          ? 1
          : std::max<std::uint64_t>(2, ceil_div(inputs.bytes, accelerator_plan->chunk_bytes));
  finish_plan(options, layout, inputs, planned);
  planned.accelerator = std::move(accelerator_plan);
  return planned;
}

Planned make_plan(const SortOptions& options, const KeyLayout& layout, const Inputs& inputs) {
  const bool always = options.acceleration == Acceleration::always;
  std::string reason;
  if (always && options.merge_only) {
    if (options.merge_on_accelerator == AcceleratedMerge::never) {
      throw Error(ErrorCode::usage, "an accelerator that may not merge is of no use to -m");
    }
    if (options.accelerator->merge_rate(reason) == 0) throw Error(ErrorCode::device, reason);
    return plan_for_cpu(options, layout, inputs);
  }
  if (always) {
    if (auto planned = plan_for_accelerator(options, layout, inputs, reason)) return *planned;
    throw Error(ErrorCode::device, reason);
  }
  Planned planned = plan_for_cpu(options, layout, inputs);
  // Starting an accelerator takes as long as sorting a little on the CPU, and what fits in memory
  // is sorted there as fast as disks deliver it.
  if (options.acceleration == Acceleration::if_it_pays && !options.merge_only &&
      inputs.size_known && inputs.bytes >= kWorthAccelerating && planned.plan.expected_runs > 1) {
    if (auto accelerated = plan_for_accelerator(options, layout, inputs, reason)) {
      return *accelerated;
    }
    planned.plan.no_accelerator = reason;
  }
  return planned;
}

// One sort.
class Sorting {
 public:
  explicit Sorting(const SortOptions& options)
      : options_(options),
        layout_(options.format),
        inputs_(open_inputs(options.inputs, options.format.record_bytes)) {
    take(make_plan(options, layout_, inputs_));
  }

  const SortPlan& plan() const { return report_.plan; }
  SortReport run();
  // After a failure of an accelerator that need not be used: true if nothing has been given away.
  bool may_start_again() const {
    return options_.acceleration == Acceleration::if_it_pays &&
           (output_ == nullptr || output_->is_file());
  }

 private:
  void take(Planned planned) {
    geometry_ = planned.geometry;
    report_.plan = std::move(planned.plan);
    accelerator_plan_ = std::move(planned.accelerator);
  }
  void set_up();
  void take_memory();
  std::size_t output_bytes() const;
  std::size_t read_bytes() const;
  void open_scratch(std::uint64_t bytes);
  void form_runs();
  BlockSink& open_run(const ChunkSorter& sorter, io::BufferPool& buffers, bool all_in_memory,
                      bool looks_sorted);
  void close_run(const OutputStage& stage);
  void open_merge_inputs();
  void merge_runs();
  void merge(const std::vector<Run>& runs, Run* target, WaitTimes& waits);
  void hand_over(RunMerger& merger);
  MergeStretches::State merge_state(const WaitTimes& waits) const;
  void drain(const BlockSink& sink, WaitTimes& waits);
  void finish();
  bool may_write_output_early() const;

  std::uint64_t bytes_of(const std::vector<Run>& runs) const;
  Run new_run();

  SortOptions options_;
  KeyLayout layout_;
  Inputs inputs_;
  Geometry geometry_;
  std::optional<AcceleratorPlan> accelerator_plan_;
  SortReport report_;
  PhaseMeter meter_{report_, options_.progress};

  MemoryRegion region_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<io::ScratchStore> scratch_;
  std::uint64_t seed_ = 0;
  std::uint64_t runs_made_ = 0;
  std::unique_ptr<CellGrid> grid_;  // of runs left unsorted within cells
  std::vector<Run> runs_;
  bool sorted_into_output_ = false;  // the first run was written to the output file
  std::uint64_t output_records_ = 0;
  MultisetHash input_hash_;
  MultisetHash output_hash_;
  MultisetHash removed_hash_;

  // Of the phase: queues, and sinks, which the queues call back.
  Mailbox mailbox_;
  std::unique_ptr<Pinned> pinned_;
  std::unique_ptr<ChunkSorter> accelerated_;  // until runs are formed
  std::span<std::byte> large_staging_;        // of the merge
  std::vector<std::unique_ptr<PieceSorter>> large_sorters_;  // once the accelerator merges
  std::vector<std::unique_ptr<BlockSink>> sinks_;
  std::deque<Run> forming_;
  std::unique_ptr<io::IoService> io_;  // last: its destructor waits for what is in flight
};

SortReport Sorting::run() {
  set_up();
  if (options_.merge_only) {
    open_merge_inputs();
  } else {
    form_runs();
  }
  if (!sorted_into_output_) merge_runs();
  if (options_.merge_only) {
    for (const io::File& input : inputs_.files) io::check_not_grown(input);
  }
  finish();
  return std::move(report_);
}

void Sorting::set_up() {
  seed_ =
      static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) * 0x9e3779b97f4a7c15u +
      static_cast<std::uint64_t>(getpid());
  output_ = std::make_unique<Output>(options_.output, inputs_.bytes);
  workers_ = std::make_unique<Workers>(geometry_.threads);
  take_memory();
  const bool needs_scratch =
      report_.plan.passes > 0 && !(options_.merge_only && report_.plan.passes <= 1);
  if (needs_scratch) open_scratch(report_.plan.scratch_bytes);
  if (options_.queue_factory) {
    io_ = std::make_unique<io::IoService>(options_.queue_factory);
  } else {
    // The buffers of run formation lie at the start of the region.
    const std::size_t bytes = options_.merge_only ? 0 : output_bytes() + read_bytes();
    io_ = std::make_unique<io::IoService>(options_.backend, region_.span().first(bytes));
  }
  io_->trace(options_.time_line);
  report_.plan.backend = io_->backend_name();
  meter_.watch(*io_, *workers_);
}

// Takes the memory of the host and, with an accelerator, its memory, or falls back to the CPU if
// that has been taken by others since it was planned with.
void Sorting::take_memory() {
  region_ = MemoryRegion(geometry_.region_bytes);
  if (!accelerator_plan_) return;
  const auto pinned = region_.span().subspan(
      output_bytes(), read_bytes() + geometry_.slices * geometry_.slice_bytes);
  try {
    accelerated_ =
        options_.accelerator->make_sorter(layout_, *accelerator_plan_, options_.unique,
                                          pinned.subspan(read_bytes()), *workers_, mailbox_);
    pinned_ = std::make_unique<Pinned>(*options_.accelerator, pinned);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;
    take(plan_for_cpu(options_, layout_, inputs_));
    report_.plan.no_accelerator = error.what();
    workers_ = std::make_unique<Workers>(geometry_.threads);
    region_ = MemoryRegion(geometry_.region_bytes);
  }
}

std::size_t Sorting::output_bytes() const {
  return geometry_.output_blocks * geometry_.block_bytes;
}

std::size_t Sorting::read_bytes() const {
  return round_up(geometry_.read_blocks * io::SequentialReader::buffer_bytes(
                                              geometry_.read_block_bytes, layout_.record_bytes()),
                  kSectorBytes);
}

void Sorting::open_scratch(std::uint64_t bytes) {
  scratch_ =
      std::make_unique<io::ScratchStore>(options_.scratch_dirs, geometry_.block_bytes, seed_);
  if (bytes > 0) scratch_->reserve(bytes);
}

Run Sorting::new_run() {
  Run run;
  run.records_per_block = geometry_.records_per_block;
  run.identity = (seed_ + ++runs_made_ * 0xd1342543de82ef95u) | 1;
  return run;
}

void Sorting::form_runs() {
  meter_.begin(Phase::forming_runs, inputs_.bytes);
  Carver carver(region_.span());
  io::BufferPool output_blocks(carver.take(output_bytes()), geometry_.block_bytes);
  const auto read_memory = carver.take(read_bytes());
  std::vector<std::unique_ptr<PieceSorter>> sorters;
  std::unique_ptr<ChunkSorter> owned = std::move(accelerated_);
  if (owned == nullptr) {
    for (unsigned thread = 0; thread < geometry_.threads; ++thread) {
      sorters.push_back(
          make_piece_sorter(layout_, options_.unique, geometry_.piece_capacity,
                            carver.take(piece_scratch_bytes(layout_, geometry_.piece_capacity))));
    }
    owned = std::make_unique<CpuChunkSorter>(layout_, geometry_.chunk,
                                             carver.take(geometry_.chunk.memory_bytes), *workers_,
                                             mailbox_, sorters, seed_);
  }
  ChunkSorter& sorter = *owned;
  io::SequentialReader reader(inputs_.files, layout_.record_bytes(), geometry_.read_block_bytes,
                              read_memory, *io_, mailbox_);
  RunFormation formation(
      layout_, options_.unique, reader, sorter, *workers_, output_blocks, mailbox_,
      [&](bool all_in_memory, bool looks_sorted) -> BlockSink& {
        return open_run(sorter, output_blocks, all_in_memory, looks_sorted);
      },
      [&](const OutputStage& stage) { close_run(stage); }, options_.progress);
  formation.run();
  WaitTimes waits = formation.waits();
  for (const auto& sink : sinks_) drain(*sink, waits);
  sinks_.clear();
  input_hash_ = sorter.input_hash();
  if (accelerator_plan_) report_.accelerator = options_.accelerator->report();
  owned.reset();
  pinned_.reset();
  report_.runs = runs_made_;
  // The first run is the whole output, or it is one run among others.
  if (output_records_ > 0 && runs_made_ > 1) {
    std::shared_ptr<io::File> file = output_->start_again(inputs_.bytes);
    runs_.push_back(
        open_file_run(std::move(file), 0, output_records_, layout_, geometry_.block_bytes));
    output_records_ = 0;
    output_hash_ = {};
  } else {
    sorted_into_output_ = output_records_ > 0 || runs_made_ == 0;
  }
  for (Run& run : forming_) runs_.push_back(std::move(run));
  forming_.clear();
  meter_.end("form runs", waits);
}

// True if the output can take the first run before it is known to be the only one.
bool Sorting::may_write_output_early() const {
  if (!output_->is_file() || !inputs_.size_known) return false;
  if (geometry_.block_bytes < layout_.record_bytes() + 2 * kSectorBytes) return false;
  // Should other runs follow after all, this one stays while the real output is written.
  return output_->free_bytes() >= inputs_.bytes;
}

BlockSink& Sorting::open_run(const ChunkSorter& sorter, io::BufferPool& buffers, bool all_in_memory,
                             bool looks_sorted) {
  const bool first = runs_made_ == 0;
  // Of keys that agree in all that splitters hold, even what fits in memory may become several
  // runs: then the first one must not go where it cannot be taken back from.
  const bool surely_all = all_in_memory && layout_.words() <= kMaxSplitterWords;
  const bool perhaps_all = all_in_memory || looks_sorted;
  if (first && (surely_all || (perhaps_all && may_write_output_early()))) {
    ++runs_made_;
    sinks_.push_back(output_->make_sink(geometry_.block_bytes, buffers, *io_, mailbox_));
  } else {
    if (!scratch_) open_scratch(inputs_.bytes);  // planned for memory, but it grew too uneven
    forming_.push_back(new_run());
    if (geometry_.cells_unsorted && !grid_) {
      std::vector<Trigger> boundaries;
      for (const SplitterKey& key : sorter.cell_boundaries()) {
        std::copy(key.begin(), key.end(), boundaries.emplace_back().words);
      }
      grid_ = std::make_unique<CellGrid>(std::move(boundaries));
    }
    if (grid_) forming_.back().cells.emplace(*grid_);
    sinks_.push_back(std::make_unique<ScratchSink>(forming_.back(), layout_.record_bytes(),
                                                   *scratch_, buffers, *io_, mailbox_));
  }
  return *sinks_.back();
}

void Sorting::close_run(const OutputStage& stage) {
  removed_hash_ += stage.removed();
  if (sinks_.back()->run_identity() == 0) {
    output_records_ = stage.records();
    output_hash_ = stage.hash();
  }
}

void Sorting::drain(const BlockSink& sink, WaitTimes& waits) {
  const auto start = Clock::now();
  while (sink.pending() > 0) mailbox_.wait_and_run();
  waits.write_seconds += seconds_since(start);
}

void Sorting::open_merge_inputs() {
  meter_.begin(Phase::starting, 0);
  for (io::File& input : inputs_.files) {
    std::uint64_t bytes = input.size();
    std::shared_ptr<io::File> file;
    if (input.seekable()) {
      file = {std::shared_ptr<void>(), &input};  // inputs_ owns it
    } else {
      const auto buffer = region_.span().first(std::min(geometry_.block_bytes, kMiB));
      file = std::make_shared<io::File>(
          spool(input, options_.scratch_dirs.front(), layout_.record_bytes(), buffer, bytes));
    }
    if (bytes == 0) continue;
    runs_.push_back(open_file_run(std::move(file), 0, bytes / layout_.record_bytes(), layout_,
                                  geometry_.block_bytes));
  }
  report_.runs = runs_.size();
  meter_.end("read triggers");
}

std::uint64_t Sorting::bytes_of(const std::vector<Run>& runs) const {
  std::uint64_t records = 0;
  for (const Run& run : runs) records += run.records;
  return records * layout_.record_bytes();
}

void Sorting::merge_runs() {
  const unsigned passes = std::max(1U, merge_passes(runs_.size(), geometry_.merge_degree));
  if (passes > 1 && !scratch_) {
    open_scratch(bytes_of(runs_));
  }
  const std::size_t degree = balanced_degree(runs_.size(), passes, geometry_.merge_degree);
  for (unsigned pass = 1; runs_.size() > 0 || pass == 1; ++pass) {
    const bool last = runs_.size() <= degree;
    report_.passes = pass;
    meter_.begin(Phase::merging, bytes_of(runs_), pass, std::max(pass, passes));
    std::vector<Run> merged;
    WaitTimes waits;
    for (std::size_t first = 0; first < runs_.size(); first += degree) {
      const std::size_t count = std::min(degree, runs_.size() - first);
      std::vector<Run> group(
          std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(first)),
          std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(first + count)));
      report_.merge_degree = std::max<std::uint64_t>(report_.merge_degree, count);
      if (!last && count == 1) {  // left over: it waits for the next pass as it is
        merged.push_back(std::move(group.front()));
        continue;
      }
      if (!last) merged.push_back(new_run());
      merge(group, last ? nullptr : &merged.back(), waits);
    }
    runs_ = std::move(merged);
    meter_.end("merge pass " + std::to_string(pass), waits);
    if (last) break;
  }
}

// Merges `runs` into `target` in scratch, or into the output if that is null.
void Sorting::merge(const std::vector<Run>& runs, Run* target, WaitTimes& waits) {
  Carver carver(region_.span());
  const std::size_t block_bytes =
      target != nullptr ? geometry_.block_bytes : geometry_.final_block_bytes;
  io::BufferPool output_blocks(carver.take(geometry_.merge_output_bytes), block_bytes);
  std::vector<std::unique_ptr<PieceSorter>> sorters;
  for (unsigned thread = 0; thread < geometry_.threads; ++thread) {
    sorters.push_back(make_piece_sorter(
        layout_, options_.unique, geometry_.merge_piece_capacity,
        carver.take(piece_scratch_bytes(layout_, geometry_.merge_piece_capacity))));
  }
  std::vector<std::span<std::byte>> spare;
  for (unsigned thread = 0; geometry_.cells_unsorted && thread < geometry_.threads; ++thread) {
    spare.push_back(carver.take(geometry_.merge_piece_capacity * layout_.record_bytes()));
  }
  large_staging_ = carver.take(geometry_.large_sorters * geometry_.large_staging_bytes);
  io::BufferPool blocks(carver.take(geometry_.merge_blocks * geometry_.block_bytes),
                        geometry_.block_bytes);
  std::unique_ptr<BlockSink> sink;
  if (target != nullptr) {
    sink = std::make_unique<ScratchSink>(*target, layout_.record_bytes(), *scratch_, output_blocks,
                                         *io_, mailbox_);
  } else {
    sink = output_->make_sink(block_bytes, output_blocks, *io_, mailbox_);
  }
  OutputStage stage(layout_, options_.unique, output_blocks, *sink, mailbox_, target == nullptr);
  const MergeContext context{layout_,
                             *io_,
                             *workers_,
                             mailbox_,
                             scratch_.get(),
                             sorters,
                             geometry_.merge_piece_records,
                             geometry_.merge_piece_capacity,
                             spare};
  RunMerger merger(context, runs, blocks, stage);
  bool may_hand_over = geometry_.large_sorters > 0;
  if (may_hand_over && options_.merge_on_accelerator == AcceleratedMerge::always) {
    hand_over(merger);
    may_hand_over = false;
  }
  MergeLink link;
  if (may_hand_over) {
    std::string reason;
    link = {options_.accelerator->merge_rate(reason),
            geometry_.large_piece_records * layout_.record_bytes()};
  }
  MergeStretches stretches(merge_state(waits), bytes_of(runs), workers_->width());
  std::uint64_t reported = 0;
  for (merger.pump(); !merger.finished(); merger.pump()) {
    const bool reading = merger.waits_for_read(), writing = merger.waits_for_write();
    const auto start = Clock::now();
    mailbox_.wait_and_run();
    if (writing) {
      waits.write_seconds += seconds_since(start);
    } else if (reading) {
      waits.read_seconds += seconds_since(start);
    }
    const std::uint64_t bytes = (merger.records_merged() - reported) * layout_.record_bytes();
    meter_.advance(bytes);
    report_.merged_bytes += bytes;
    reported = merger.records_merged();
    MergeStretch stretch;
    if (may_hand_over && stretches.ends(merge_state(waits), stretch) &&
        accelerator_pays_in_merge(stretch, link)) {
      hand_over(merger);
      may_hand_over = false;
    }
  }
  report_.merged_on_accelerator_bytes += merger.records_handed_over() * layout_.record_bytes();
  stage.finish();
  while (!stage.delivered()) mailbox_.wait_and_run();
  drain(*sink, waits);
  removed_hash_ += stage.removed();
  if (target == nullptr) {
    output_records_ = stage.records();
    output_hash_ = stage.hash();
  }
  if (options_.merge_only) input_hash_ += merger.files_hash();
}

MergeStretches::State Sorting::merge_state(const WaitTimes& waits) const {
  const std::chrono::duration<double> now = Clock::now().time_since_epoch();
  return {now.count(), waits.read_seconds + waits.write_seconds, workers_->busy_seconds(),
          report_.merged_bytes};
}

// Has the accelerator sort the rest of a merge, if its memory is still to be had. Its sorters are
// kept for further merges: the staging memory lies at the same place in all of them.
void Sorting::hand_over(RunMerger& merger) {
  if (large_sorters_.empty()) {
    if (!report_.merged_on_cpu_because.empty()) return;
    pinned_ = std::make_unique<Pinned>(*options_.accelerator, large_staging_);
    try {
      large_sorters_ = options_.accelerator->make_merge_sorters(
          layout_, options_.unique, geometry_.large_sorters, geometry_.large_piece_capacity,
          large_staging_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space) throw;
      pinned_.reset();
      report_.merged_on_cpu_because = error.what();
      return;
    }
  }
  LargePieces pieces;
  for (const auto& sorter : large_sorters_) pieces.sorters.push_back(sorter.get());
  pieces.piece_records = geometry_.large_piece_records;
  pieces.piece_capacity = geometry_.large_piece_capacity;
  merger.hand_over(std::move(pieces));
}

void Sorting::finish() {
  meter_.begin(Phase::finishing, 0);
  MultisetHash accounted = output_hash_;
  accounted += removed_hash_;
  check_permutation(
      input_hash_, accounted,
      inputs_.size_known ? std::optional(inputs_.bytes / layout_.record_bytes()) : std::nullopt);
  output_->publish(output_records_ * layout_.record_bytes());
  meter_.end("finish");
  report_.records_in = input_hash_.records;
  report_.records_out = output_records_;
  report_.checksum = output_hash_.sum;
  meter_.finish(scratch_.get());
}

}  // namespace

SortPlan plan_sort(const SortOptions& options) {
  SortPlan plan = Sorting(options).plan();
  if (!options.queue_factory) plan.backend = io::IoService(options.backend, {}).backend_name();
  return plan;
}

SortReport external_sort(const SortOptions& options) {
  std::string failure;
  {
    Sorting sorting(options);
    try {
      return sorting.run();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::device || !sorting.may_start_again()) throw;
      failure = error.what();
    }
  }
  // Nothing has been lost: the input is as it was, and nothing has appeared.
  SortOptions on_cpu = options;
  on_cpu.acceleration = Acceleration::never;
  SortReport report = Sorting(on_cpu).run();
  report.plan.no_accelerator = failure;
  return report;
}

}  // namespace xxl
