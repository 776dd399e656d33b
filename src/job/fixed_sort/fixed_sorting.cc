#include "job/fixed_sort/fixed_sorting.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/sequential_reader.h"
#include "job/fixed_sort/check_sorted.h"
#include "job/fixed_sort/merge_inputs.h"
#include "job/fixed_sort/run_formation.h"
#include "job/fixed_sort/run_merge.h"
#include "job/hive_name.h"
#include "record/comparator_fault.h"
#include "record/format_key.h"
#include "run/file_run.h"
#include "run/sinks.h"

namespace xxl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLeastBlocksOfPart = 8;  // to be written beside others
// The most of a small sort, and the part of the memory that this may be.
constexpr std::size_t kSmallBytes = 2 * kMiB;
constexpr std::uint64_t kSmallPart = 8;

}  // namespace

FixedSorting::FixedSorting(const FixedSortOptions& options, const SortSurroundings& surroundings)
    : FixedSorting(options, open_inputs(options.inputs, options.format.record_bytes,
                                        recognize_suffix(options.compressed_by_suffix))) {
  plan_again(options, surroundings);
}

FixedSorting::FixedSorting(const FixedSortOptions& options, Inputs inputs)
    : options_(options),
      layout_(options.format),
      output_layout_(options.output_format()),
      inputs_(std::move(inputs)),
      seed_(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) *
                0x9e3779b97f4a7c15u +
            static_cast<std::uint64_t>(getpid())) {}

void FixedSorting::plan_again(const FixedSortOptions& options,
                              const SortSurroundings& surroundings) {
  options_ = options;
  surroundings_ = surroundings;
  take(make_sort_plan(options, layout_, inputs_, surroundings));
}

void FixedSorting::open() {
  check_parts(options_, true);
  // An accelerator's merge keeps more blocks of scratch than Output allows for.
  const bool follows_scratch = report_.plan.scratch_bytes > 0 && !options_.merge_only &&
                               !options_.repeatable && geometry_.large_sorters == 0;
  output_ = std::make_unique<Output>(options_, most_output_bytes(), follows_scratch);
  set_up();
}

void FixedSorting::form() {
  options_.merge_only ? read_triggers() : form_runs();
}

void FixedSorting::merge() {
  if (!sorted_into_output_) merge_runs(true);
}

void FixedSorting::write_again() {
  XXL_CHECK(options_.repeatable && !sorted_into_output_);
  stopped_ = false;
  records_folded_ = 0;
  output_ = std::make_unique<Output>(options_, 0);
  merge_runs(true);
  check();
  publish();
}

std::unique_ptr<SmallSort> FixedSorting::small_sort() const {
  const auto most = static_cast<std::size_t>(
      std::min<std::uint64_t>(kSmallBytes, options_.memory_bytes / kSmallPart));
  const bool on_accelerator = options_.acceleration == Acceleration::always;
  const bool surely_more = inputs_.size_known && inputs_.bytes > most;
  if (on_accelerator || surely_more || options_.fold.folds()) return nullptr;
  const SmallSort::Rules rules{options_.unique, options_.skip, options_.limit};
  return std::make_unique<SmallSort>(layout_, rules, options_, report_.plan, most);
}

void FixedSorting::make_runs(std::span<std::byte> region) {
  given_memory_ = region;
  set_up();
  form();
  merge_runs(false);
  large_sorters_.clear();
  pinned_.reset();
  io_.reset();
  workers_.reset();
}

void FixedSorting::start_workers() {
  workers_ = std::make_unique<Workers>(
      geometry_.threads, is_little_ ? Workers::Threads::none : Workers::Threads::wanted);
}

void FixedSorting::set_up() {
  start_workers();
  take_memory();
  reserve_scratch();
  // The buffers of run formation lie at the start of its region.
  const ChunkMemory memory(geometry_, layout_);
  const std::size_t bytes = options_.merge_only ? 0 : memory.output_bytes + memory.read_bytes;
  io_ = open_io(options_, region_.subspan(geometry_.kept_merge_bytes(), bytes), is_little_);
  report_.plan.backend = is_little_ ? "inline" : io_->backend_name();
  meter_.watch(*io_, *workers_);
}

// Takes the memory of the host and, with an accelerator, its memory, or falls back to the CPU if
// other processes took it since planning: not of one rank alone, whose blocks would be of another
// size.
void FixedSorting::take_memory() {
  take_region();
  if (!accelerator_plan_) return;
  try {
    open_accelerator(*workers_, mailbox_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || surroundings_.agree) throw;
    take(plan_sort_on_cpu(options_, layout_, inputs_, surroundings_));
    report_.plan.no_accelerator = error.what();
    start_workers();
    take_region();
  }
}

void FixedSorting::open_accelerator(Workers& workers, Mailbox& mailbox) {
  const ChunkMemory memory(geometry_, layout_);
  const auto pinned = memory.pinned(region_);
  accelerated_ =
      options_.accelerator->make_sorter(layout_, *accelerator_plan_, options_.unique,
                                        pinned.subspan(memory.read_bytes), workers, mailbox);
  pinned_ = std::make_unique<Pinned>(*options_.accelerator, pinned);
}

std::unique_ptr<InputSorting> FixedSorting::sort_in_memory(std::span<std::byte> region,
                                                           io::IoService& io, Workers& workers,
                                                           Mailbox& mailbox,
                                                           InputSorting::OpenRun open_run) {
  region_ = region;
  if (accelerator_plan_) open_accelerator(workers, mailbox);
  return std::make_unique<InputSorting>(
      InputSorting::Context{layout_, geometry_, options_.unique, inputs_, io, workers, mailbox,
                            seed_, options_.progress},
      region_, std::move(accelerated_), std::move(open_run), [](const OutputStage&) {});
}

void FixedSorting::take_region() {
  const std::size_t bytes = geometry_.chunk.keeps_rest
                                ? geometry_.merge_region_bytes + geometry_.region_bytes
                                : std::max(geometry_.region_bytes, geometry_.merge_region_bytes);
  if (given_memory_.empty()) {
    own_memory_ = MemoryRegion(bytes);
    region_ = own_memory_.span();
  } else {
    region_ = given_memory_.first(bytes);
  }
}

void FixedSorting::reserve_scratch() {
  const bool is_one_pass = options_.merge_only && report_.plan.passes <= 1;
  const bool may_fit = options_.output_caller != nullptr;  // what a caller pushes
  const bool needs_scratch = report_.plan.passes > 0 && !is_one_pass && !may_fit;
  if (needs_scratch && !scratch_) open_scratch(report_.plan.scratch_bytes);
}

void FixedSorting::open_scratch(std::uint64_t bytes) {
  scratch_ = std::make_unique<io::ScratchStore>(options_.scratch_dirs, geometry_.slot_bytes, seed_);
  if (options_.progress != nullptr) scratch_->count_in(&options_.progress->scratch_bytes);
  if (bytes > 0 && options_.scratch_codec == Codec::none) scratch_->reserve(bytes);
}

Run FixedSorting::new_run() {
  Run run;
  run.records_per_block = geometry_.records_per_block;
  ++runs_made_;
  return run;
}

void FixedSorting::form_runs() {
  meter_.begin(Phase::forming_runs, inputs_.bytes);
  input_sorting_ = std::make_unique<InputSorting>(
      InputSorting::Context{layout_, geometry_, options_.unique, inputs_, *io_, *workers_, mailbox_,
                            seed_, options_.progress},
      region_.subspan(geometry_.kept_merge_bytes()), std::move(accelerated_),
      [this](const ChunkSorter& sorter, io::BufferPool& buffers, bool all_in_memory,
             bool looks_sorted) { return open_run(sorter, buffers, all_in_memory, looks_sorted); },
      [this](const OutputStage& stage) { close_run(stage); });
  input_sorting_->formation().run();
  if (grid_ == nullptr && geometry_.chunk.keeps_all) make_grid(input_sorting_->sorter());
  const bool keeps = geometry_.chunk.keeps_rest && spill_what_cannot_stay();
  WaitTimes waits = input_sorting_->formation().waits();
  bool into_output = false;  // a run went there
  for (const auto& sink : sinks_) {
    drain(*sink, waits);
    into_output |= sink->run() == nullptr;
  }
  sinks_.clear();
  input_hash_ = input_sorting_->sorter().input_hash();
  if (accelerator_plan_) report_.accelerator = options_.accelerator->report();
  if (geometry_.chunk.keeps_all && keeps && forming_.empty()) {  // merges need a run
    forming_.push_back(new_run());
    forming_.back().cells.emplace(*grid_);
  }
  if (!keeps) input_sorting_.reset();
  pinned_.reset();
  report_.runs = runs_made_;
  // The first run is the whole output, or it is one run among others, or one to be folded again.
  if (output_records_ > 0 && (runs_made_ > 1 || output_has_parted_)) {
    std::shared_ptr<io::File> file = output_->start_again(most_output_bytes());
    runs_.push_back(
        open_file_run(std::move(file), 0, output_records_, output_layout_, geometry_.block_bytes));
    output_records_ = 0;
    records_folded_ = 0;
    output_hash_ = {};
  } else {
    // Compressed output has a frame even if it is empty: a merge of nothing makes it.
    const bool wants_frame = output_ != nullptr && output_->is_compressed();
    sorted_into_output_ = runs_made_ == 0 ? !wants_frame && !options_.repeatable
                                          : into_output && runs_made_ == 1 && !output_has_parted_;
  }
  for (Run& run : forming_) runs_.push_back(std::move(run));
  forming_.clear();
  meter_.end("form runs", waits);
}

// Of what run formation has kept, writes to scratch what the merge cannot take from memory: all if
// it is not one merge of runs with cells, or else cells that are too large. False if nothing is
// left.
bool FixedSorting::spill_what_cannot_stay() {
  const bool in_cells = output_records_ == 0 && grid_ != nullptr &&
                        std::all_of(forming_.begin(), forming_.end(),
                                    [](const Run& run) { return run.cells.has_value(); });
  const bool keeps = in_cells && forming_.size() < geometry_.merge_degree;
  const ChunkSorter& sorter = input_sorting_->sorter();
  input_sorting_->spill([&](std::size_t cell) {
    std::uint64_t records = sorter.kept_records(cell);
    for (const Run& run : forming_) records += keeps ? run.cells->records(cell) : 0;
    return !keeps || records > geometry_.merge_piece_capacity;
  });
  input_sorting_->formation().run();
  return keeps;
}

// True if the output can take the first run before it is known to be the only one.
bool FixedSorting::may_write_output_early() const {
  if (!output_->is_file() || output_->is_compressed() || !inputs_.size_known) return false;
  if (geometry_.block_bytes < output_layout_.record_bytes() + 2 * kSectorBytes) return false;
  // A run has more than the first groups, since it may lack some of their records.
  if (options_.fold.folds() && options_.limit) return false;
  if (options_.skip > 0) return false;  // a run has what is left out of the output
  // If other runs follow after all, this one stays while the real output is written.
  return output_->free_bytes() >= most_output_bytes();
}

// What of sorted pieces is written to the output or to a run. `is_whole`: all records of each key
// are there.
OutputRules FixedSorting::rules(bool is_output, bool is_whole) const {
  const bool folds = options_.fold.folds();
  OutputRules rules;
  rules.hash_output = is_output;
  if (is_output) {
    rules.skip = options_.skip;
    rules.limit = options_.limit.value_or(OutputRules::kNoLimit);
  } else if (!folds) {
    rules.limit = options_.needed().value_or(OutputRules::kNoLimit);
  }
  if (!folds) {
    rules.unique = options_.unique;
    return rules;
  }
  if (options_.merge_only && !is_whole) return rules;
  rules.fold = FoldRules{.fold = options_.fold,
                         .format = options_.format,
                         .is_again = input_sorting_ == nullptr && !options_.merge_only,
                         .is_whole = is_whole};
  return rules;
}

void FixedSorting::make_grid(const ChunkSorter& sorter) {
  std::vector<Trigger> boundaries;
  for (const SplitterKey& key : sorter.cell_boundaries()) {
    std::copy(key.begin(), key.end(), boundaries.emplace_back().words);
  }
  grid_ = std::make_unique<CellGrid>(std::move(boundaries));
}

RunFormation::OpenedRun FixedSorting::open_run(const ChunkSorter& sorter, io::BufferPool& buffers,
                                               bool all_in_memory, bool looks_sorted) {
  const bool first = runs_made_ == 0 && output_ != nullptr && !options_.repeatable;
  // Where keys differ only beyond what splitters hold, or a comparator is the key, even what fits
  // in memory may become several runs: then the first one must not go where it cannot be taken
  // back.
  const bool surely_all =
      all_in_memory && layout_.words() <= kMaxSplitterWords && layout_.words_are_key();
  const bool perhaps_all = all_in_memory || looks_sorted;
  if (first && (surely_all || (perhaps_all && may_write_output_early()))) {
    ++runs_made_;
    OutputRules output_rules = rules(true, surely_all);
    output_rules.parts = cut_parts(sorter.input_hash().records);
    sinks_.push_back(output_->make_record_sink(output_layout_.record_bytes(), geometry_.block_bytes,
                                               geometry_.threads, buffers, *io_, mailbox_));
    const std::size_t streams =
        surely_all ? part_streams(output_rules, sorter.input_hash().records) : 1;
    if (streams > 1) output_rules.any_order = sorter.input_hash().records;
    return {*sinks_.back(), output_rules, streams};
  } else {
    if (!scratch_) open_scratch(inputs_.bytes);  // planned for memory, but it grew too uneven
    forming_.push_back(new_run());
    if (geometry_.cells_unsorted && !grid_) make_grid(sorter);
    if (grid_) forming_.back().cells.emplace(*grid_);
    sinks_.push_back(make_scratch_sink(forming_.back(), buffers));
    return {*sinks_.back(), rules(false, false)};
  }
}

// Of the output, to which so many records go unless some are left out.
OutputParts* FixedSorting::cut_parts(std::uint64_t records) {
  const std::size_t bytes = output_layout_.record_bytes();
  PartKey key;
  if (!options_.part_by.empty()) {
    key = xxl::key_of_parts(options_.part_by, options_.output_format());
  }
  return output_->cut_parts(options_.written_of(records) * bytes, std::move(key), bytes);
}

// Parts in memory are written several at a time, since each file there is written by one thread at
// a time. On a disk, one file after the other keeps it busy.
std::size_t FixedSorting::part_streams(const OutputRules& rules, std::uint64_t records) const {
  const bool all_known = !rules.unique && !rules.fold && rules.skip == 0 && !options_.limit;
  if (!all_known || rules.parts == nullptr || rules.parts->have_key() ||
      !output_->is_parts_in_memory()) {
    return 1;
  }
  const std::uint64_t bytes = records * output_layout_.record_bytes();
  const std::uint64_t part_bytes =
      options_.parts != 0 ? bytes / options_.parts : options_.part_bytes;
  // Each stream has an open block; most buffers stay for pieces under way.
  const std::size_t most = std::min<std::size_t>(geometry_.threads, geometry_.output_blocks / 4);
  if (part_bytes < kLeastBlocksOfPart * geometry_.block_bytes) return 1;
  return std::clamp<std::size_t>(bytes / part_bytes, 1, std::max<std::size_t>(most, 1));
}

void FixedSorting::close_run(const OutputStage& stage) {
  removed_hash_ += stage.removed();
  if (sinks_.back()->run() == nullptr) {
    take_output(stage);
  }
}

void FixedSorting::take_output(const OutputStage& stage) {
  output_records_ = stage.records();
  output_hash_ = stage.hash();
  output_has_parted_ = stage.has_parted();
  records_folded_ += stage.records_folded();
}

std::unique_ptr<BlockSink> FixedSorting::make_scratch_sink(Run& run, io::BufferPool& buffers) {
  return std::make_unique<ScratchSink>(run, run_layout(), buffers, mailbox_, *scratch_, *io_,
                                       packer());
}

BlockPacker FixedSorting::packer() const {
  if (options_.scratch_codec == Codec::none) return {};
  return {options_.scratch_codec, options_.scratch_level, geometry_.block_bytes};
}

void FixedSorting::drain(BlockSink& sink, WaitTimes& waits) {
  const auto start = Clock::now();
  while (sink.pending() > 0) mailbox_.wait_and_run();
  sink.finish();
  waits.add_write(start);
}

// Each input is open while its triggers are read, which says how long it is, and again while it is
// merged.
void FixedSorting::read_triggers() {
  meter_.begin(Phase::starting, 0);
  const MergeInputs means{.block_bytes = geometry_.block_bytes,
                          .most_open = geometry_.merge_degree,
                          .scratch_directory = options_.scratch_dirs.front(),
                          .buffer = region_.first(std::min(geometry_.block_bytes, kMiB)),
                          .stop = options_.stop};
  for (Run& run : open_merge_inputs(inputs_, layout_, means)) runs_.push_back(std::move(run));
  report_.runs = runs_.size();
  meter_.end("read triggers");
}

std::uint64_t FixedSorting::bytes_of(const std::vector<Run>& runs) const {
  std::uint64_t records = 0;
  for (const Run& run : runs) records += run.records;
  return records * run_layout().record_bytes();
}

std::uint64_t FixedSorting::kept_bytes() const {
  std::uint64_t records = 0;
  for (std::size_t cell = 0; input_sorting_ != nullptr && cell < grid_->cells(); ++cell) {
    records += input_sorting_->sorter().kept_records(cell);
  }
  return records * layout_.record_bytes();
}

// With `into_output` false all but the last pass, whose runs are left.
void FixedSorting::merge_runs(bool into_output) {
  const unsigned passes = std::max(1U, merge_passes(runs_.size(), geometry_.merge_degree));
  if (passes > 1 && !scratch_) {
    open_scratch(bytes_of(runs_));
  }
  const std::size_t degree = balanced_degree(runs_.size(), passes, geometry_.merge_degree);
  for (unsigned pass = 1; runs_.size() > 0 || pass == 1; ++pass) {
    const bool last = runs_.size() <= degree;
    if (last && !into_output) break;
    report_.passes = pass;
    const bool stays = last && options_.repeatable;
    meter_.begin(Phase::merging, bytes_of(runs_) + kept_bytes(), pass, std::max(pass, passes));
    std::vector<Run> merged;
    WaitTimes waits = meter_.no_waits();
    for (std::size_t first = 0; first == 0 || first < runs_.size(); first += degree) {
      const std::size_t count = std::min(degree, runs_.size() - first);
      std::vector<Run> group(
          std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(first)),
          std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(first + count)));
      report_.merge_degree = std::max<std::uint64_t>(report_.merge_degree, count);
      if (!last && count == 1) {  // left over: it goes to the next pass as it is
        merged.push_back(std::move(group.front()));
        continue;
      }
      if (!last) merged.push_back(new_run());
      merge(group, last ? nullptr : &merged.back(), waits);
      if (stays) merged = std::move(group);
    }
    runs_ = std::move(merged);
    meter_.end("merge pass " + std::to_string(pass), waits);
    if (last) break;
  }
}

// Merges `runs` into `target` in scratch, or into the output if that is null.
void FixedSorting::merge(const std::vector<Run>& runs, Run* target, WaitTimes& waits) {
  const std::size_t block_bytes =
      target != nullptr ? geometry_.block_bytes : geometry_.final_block_bytes;
  for (const Run& run : runs) {
    if (run.file != nullptr) run.file->open();
  }
  const bool stays = target == nullptr && options_.repeatable;
  if (target == nullptr && !stays && scratch_) {
    scratch_->give_back_released();
    output_->take_space_of(scratch_.get());
  }
  const ChunkSorter* const keeper = input_sorting_ != nullptr ? &input_sorting_->sorter() : nullptr;
  OutputRules output_rules = rules(target == nullptr, target == nullptr);
  if (target == nullptr) {
    output_rules.parts = cut_parts((bytes_of(runs) + kept_bytes()) / run_layout().record_bytes());
  }
  RunMerge merge({run_layout(), geometry_, output_rules, *io_, *workers_, mailbox_, scratch_.get(),
                  packer(), keeper, stays},
                 region_, runs, block_bytes,
                 [&](io::BufferPool& buffers) -> std::unique_ptr<BlockSink> {
                   if (target == nullptr)
                     return output_->make_record_sink(output_layout_.record_bytes(), block_bytes,
                                                      geometry_.threads, buffers, *io_, mailbox_);
                   return make_scratch_sink(*target, buffers);
                 });
  large_staging_ = merge.large_staging();
  RunMerger& merger = merge.merger();
  OutputStage& stage = merge.stage();
  bool may_hand_over = geometry_.large_sorters > 0;
  if (may_hand_over && options_.merge_on_accelerator == AcceleratedMerge::always) {
    hand_over(merger);
    may_hand_over = false;
  }
  MergeLink link;
  if (may_hand_over) {
    std::string reason;
    link = {options_.accelerator->merge_rate(reason),
            geometry_.large_piece_records * run_layout().record_bytes()};
  }
  MergeStretches stretches(merge_totals(waits), bytes_of(runs), workers_->width());
  for (merger.pump(); !merger.finished(); merger.pump()) {
    if (stage.full() || (stopped_ && target == nullptr)) merger.stop();
    const std::uint64_t bytes = merge.wait(waits) * run_layout().record_bytes();
    meter_.advance(bytes);
    report_.merged_bytes += bytes;
    MergeStretch stretch;
    if (may_hand_over && stretches.ends(merge_totals(waits), stretch) &&
        accelerator_pays_in_merge(stretch, link)) {
      hand_over(merger);
      may_hand_over = false;
    }
  }
  report_.merged_on_accelerator_bytes += merger.records_handed_over() * run_layout().record_bytes();
  stage.finish();
  drain(merge.sink(), waits);
  if (target == nullptr) {
    take_output(stage);
    removed_from_output_hash_ = stage.removed();
  } else {
    removed_hash_ += stage.removed();
  }
  if (options_.merge_only) input_hash_ += merger.files_hash();
  for (const Run& run : runs) {
    if (run.file != nullptr) run.file->close();
  }
}

MergeStretches::Totals FixedSorting::merge_totals(const WaitTimes& waits) const {
  const std::chrono::duration<double> now = Clock::now().time_since_epoch();
  return {now.count(), waits.read_seconds() + waits.write_seconds(), workers_->busy_seconds(),
          report_.merged_bytes};
}

// Has the accelerator sort the rest of a merge, if enough of its memory is still free. Its sorters
// are kept for further merges: the staging memory lies at the same place in all of them.
void FixedSorting::hand_over(RunMerger& merger) {
  if (large_sorters_.empty()) {
    if (!report_.merged_on_cpu_because.empty()) return;
    pinned_ = std::make_unique<Pinned>(*options_.accelerator, large_staging_);
    try {
      large_sorters_ = options_.accelerator->make_merge_sorters(
          run_layout(), options_.unique, geometry_.large_sorters, geometry_.large_piece_capacity,
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

// Throws Error{corrupt} unless the output is complete.
void FixedSorting::check_output() const {
  const std::optional<std::uint64_t> expected = inputs_.records(layout_.record_bytes());
  const std::string_view advice = layout_.labels() != nullptr ? kCheckComparator : kCheckMachine;
  if (!options_.limit) {
    MultisetHash accounted = output_hash_;
    accounted += removed_hash_;
    accounted += removed_from_output_hash_;
    check_permutation(input_hash_, accounted, expected, advice);
    if (!options_.fold.count || records_folded_ == input_hash_.records) return;
    throw Error(ErrorCode::corrupt,
                "the counts of the output are of " + std::to_string(records_folded_) + " of " +
                    std::to_string(input_hash_.records) +
                    " records: it was discarded; check this machine's memory and disks");
  }
  const bool reads_all = !options_.merge_only;
  const bool lost_some = reads_all && expected && *expected != input_hash_.records;
  const std::uint64_t wanted = options_.written_of(expected.value_or(input_hash_.records));
  const bool has_fewer = options_.unique || options_.fold.folds();
  const bool has_all = has_fewer || (!expected && !reads_all) || output_records_ == wanted;
  if (!lost_some && has_all) return;
  throw Error(ErrorCode::corrupt,
              "records were lost on the way: the output was discarded; " + std::string(advice));
}

void FixedSorting::check() {
  meter_.begin(Phase::finishing, 0);
  if (!stopped_) check_output();
}

void FixedSorting::publish() {
  if (stopped_) {
    meter_.end("finish");
  } else {
    output_->publish(output_records_ * output_layout_.record_bytes(), *io_, meter_, WaitTimes(),
                     [this](io::File& output) {
                       check_sorted(options_, output_hash_, output, region_, geometry_.threads);
                     });
  }
  report_.output_in_place = output_->in_place();
  report_.records_in = input_hash_.records;
  report_.records_out = output_records_;
  report_.checksum = output_hash_.sum;
  meter_.finish(scratch_.get());
}

}  // namespace xxl
