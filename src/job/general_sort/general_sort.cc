// The general sort from end to end, in the steps of every job (job_steps.h).
#include "job/general_sort/general_sort.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/quote.h"
#include "base/workers.h"
#include "job/general_sort/cell_size.h"
#include "job/general_sort/emit_rules.h"
#include "job/general_sort/file_cursor.h"
#include "job/general_sort/file_merge_plan.h"
#include "job/general_sort/general_destination.h"
#include "job/general_sort/general_formation.h"
#include "job/general_sort/general_job_plan.h"
#include "job/general_sort/general_memory.h"
#include "job/general_sort/lazy_scratch.h"
#include "job/general_sort/long_records.h"
#include "job/general_sort/run_reducer.h"
#include "job/general_sort/shared_job.h"
#include "job/job_io.h"
#include "job/job_steps.h"
#include "job/phase_meter.h"
#include "merge/cell_emitter.h"
#include "merge/general_merger.h"
#include "merge/record_emitter.h"
#include "merge/run_cursor.h"
#include "merge/spread_merger.h"
#include "record/descending_record.h"
#include "run/general_output.h"
#include "run/run_tables.h"

namespace xxl {
namespace {

// One sort.
class GeneralSorting final : public CallerSort {
 public:
  // `assumes_sorted`: merges inputs that look sorted; gives up where they are not.
  explicit GeneralSorting(const GeneralSortOptions& options, bool assumes_sorted = false)
      : GeneralSorting(
            options,
            open_general_inputs(options.inputs, options.syntax, options.compressed_by_suffix),
            assumes_sorted) {}
  // With `inputs` that are open, those of the options.
  GeneralSorting(const GeneralSortOptions& options, Inputs inputs, bool assumes_sorted = false)
      : options_(options),
        assumes_sorted_(assumes_sorted),
        keys_(sorting_keys(options.tags, options.keys)),
        inputs_(std::move(inputs)),
        planned_(plan_general_job(options, inputs_)),
        memory_(planned_.input, monitor_) {}

  SortPlan plan() const { return plan_of(options_, inputs_, planned_, memory_, is_little_); }
  SortReport run() override { return run_steps(*this); }
  void open();
  void form();
  void merge();
  void check();
  void publish();
  const SortReport& report() const { return report_; }
  void write_again() override;
  void stop_writing() override { stopped_ = true; }
  // After an accelerator has failed: true if the CPU may take over.
  bool may_start_again() const {
    return options_.acceleration == Acceleration::if_it_pays && destination_.appears_at_end();
  }

 private:
  void take_header(std::size_t input, std::string_view header);
  void check_shared_tables() const;
  void perform(const std::function<void()>& work);
  GeneralSortOptions with_memory(std::uint64_t memory) const;
  bool merges_with(std::uint64_t memory, const LongRecords& needs);
  void form_runs();
  void begin_output(std::uint64_t bytes);
  // Nobody reads the runs again, or on other ranks.
  bool merges_once() const { return options_.shared == nullptr && !options_.repeatable; }
  void merge_formed();
  void write_sorted(GeneralOffload& offload, std::uint64_t record_bytes);
  void merge_shared(BlockMemory& blocks);
  void merge_cells(std::uint64_t cell_bytes, BlockMemory& blocks, const KeyRange& range = {});
  std::size_t part_streams(std::uint64_t cell_bytes) const;
  void merge_to_parts(std::uint64_t cell_bytes, std::size_t streams);
  void merge_files();
  std::vector<std::unique_ptr<RecordCursor>> open_files(std::size_t first, std::size_t count);
  RecordMerge::OnDisorder on_disorder() const;
  bool is_one_row_of_none() const;
  void write_merge(std::vector<std::unique_ptr<RecordCursor>> cursors,
                   RecordMerge::OnDisorder on_disorder = {});
  io::ReadBack::Reader reader_of_output();
  void check_output(const MultisetHash& written, const MultisetHash& removed,
                    const MultisetHash& input) const;

  const GeneralSortOptions options_;
  const bool assumes_sorted_;
  std::shared_ptr<const KeyExtractor> keys_;  // null until the header says which
  SortReport report_;
  PhaseMeter meter_{report_, options_};
  Inputs inputs_;
  const PlannedGeneral planned_;
  const bool is_little_ =
      !planned_.accelerator && options_.shared == nullptr && is_little(options_, inputs_);
  Monitor monitor_{options_.stop};
  GeneralMemory memory_;
  std::unique_ptr<io::IoService> io_;
  std::unique_ptr<LazyScratch> scratch_;
  std::optional<std::string> header_;
  std::size_t header_input_ = 0;  // that it is of
  GeneralDestination destination_{options_, options_.shared, monitor_};
  std::unique_ptr<Workers> workers_;
  std::optional<GeneralFormation> formation_;
  std::vector<std::unique_ptr<GeneralRun>> runs_;
  std::vector<MergeSource> sources_;  // of the merge into the output
  MultisetHash removed_;              // before it: not kept
  std::atomic<bool> stopped_ = false;
  GeneralTotals totals_;
  RowFaultLog row_faults_{options_};
  std::unique_ptr<RejectsFile> rejects_;  // if it is this job's
  MultisetHash input_hash_;
  std::size_t joined_bytes_ = 0;     // memory left for long records of merged files
  std::uint64_t joined_needed_ = 0;  // by these, once that has been found out
  LongRecords needs_;                // of runs that are merged
};

void GeneralSorting::take_header(std::size_t input, std::string_view header) {
  const bool is_row = options_.syntax.rows;
  if (!header_) {
    header_ = std::string(header);
    header_input_ = input;
    if (options_.keys_of_header) {
      keys_ = sorting_keys(options_.tags,
                           options_.keys_of_header(is_row ? without_line_end(header) : header));
    }
    return;
  }
  const bool is_same =
      is_row ? have_same_names(*header_, header, options_.syntax.fields) : *header_ == header;
  if (options_.keys_of_header && !is_same) {
    const std::string first = options_.shared != nullptr
                                  ? "the first file"  // which may be another one's
                                  : quote_controls(inputs_.files[header_input_].path());
    throw Error(ErrorCode::bad_input,
                "the header is not that of " + first + ": give files with the same columns",
                inputs_.files[input].path(), 0);
  }
  // The output has that of the first input, which operations on sets read last.
  std::string dropped(header);
  if (const auto& numbers = options_.tags.inputs; !numbers.empty() &&
                                                  numbers[input] == numbers.back() &&
                                                  numbers[header_input_] != numbers.back()) {
    std::swap(dropped, *header_);
    header_input_ = input;
  }
  row_faults_.drop_comments(count_comments(dropped, options_.syntax.fields));
}

// Throws Error{no_space} if the merge will certainly lack memory for the tables of the runs of all:
// without triggers, and with runs as long as regions.
void GeneralSorting::check_shared_tables() const {
  const bool are_all_kept =
      !options_.has_groups() && !options_.malformed && !options_.needed_of_run();
  if (options_.shared == nullptr || !are_all_kept) return;
  const GeneralGeometry& geometry = memory_.geometry();
  const std::uint64_t of_merge = options_.most_input_bytes / options_.shared->ranks();
  const std::uint64_t own =
      least_table_bytes(inputs_.bytes, geometry.region_bytes, geometry.block_bytes);
  const std::uint64_t merged =
      of_merge / geometry.block_bytes * (sizeof(GeneralBlock) + kMergedBlockBytes);
  if (std::max(own, merged) > geometry.table_bytes)
    throw Error(ErrorCode::no_space, too_many_tables());
}

void GeneralSorting::open() {
  check_shared_tables();
  report_.plan = plan();
  const bool is_whole = inputs_.size_known && !options_.skip && !options_.limit &&
                        !options_.has_groups() && options_.output_codec() == Codec::none;
  destination_.open(!options_.merge_only || inputs_.size_known,
                    is_whole ? inputs_.bytes + inputs_.files.size() : 0,
                    !options_.merge_only && !memory_.holds_input() && merges_once());
  io_ = open_io(options_, {}, is_little_);
  report_.plan.backend = is_little_ ? "inline" : io_->backend_name();
  workers_ = std::make_unique<Workers>(
      memory_.threads(), is_little_ ? Workers::Threads::none : Workers::Threads::wanted);
  scratch_ = std::make_unique<LazyScratch>(options_, memory_, *io_, monitor_);
  meter_.watch(*io_, *workers_);
  if (assumes_sorted_) scratch_->reserve();
  rejects_ = make_rejects_file(options_, options_.scratch_dirs);
  if (rejects_ != nullptr) row_faults_.write_to(rejects_.get());
  if (options_.shared != nullptr) row_faults_.count_later();
}

void GeneralSorting::write_again() {
  XXL_CHECK(options_.repeatable);
  stopped_ = false;
  perform([this] { merge_formed(); });
  check();
  publish();
}

void GeneralSorting::perform(const std::function<void()>& work) {
  const std::uint64_t given = options_.given_memory_bytes();
  with_memory_advice(
      given, [&] { monitor_.run(work); }, [this] { return needs_; },
      [this](std::uint64_t memory, const LongRecords& needs) {
        if (options_.shared != nullptr && !options_.shared->can_send(needs.longest, memory)) {
          return false;
        }
        return options_.merge_only ? merges_with(memory, needs)
                                   : geometry_for(with_memory(memory), inputs_, needs).has_value();
      });
}

// The options, if `memory` were given in place of -S.
GeneralSortOptions GeneralSorting::with_memory(std::uint64_t memory) const {
  GeneralSortOptions options = options_;
  const double part =
      static_cast<double>(options.memory_bytes) / static_cast<double>(options.given_memory_bytes());
  options.memory_bytes = static_cast<std::uint64_t>(part * static_cast<double>(memory));
  options.stored = planned_.input.stored;  // inputs are sampled once
  return options;
}

// Whether a merge of the inputs would have enough of `memory` for the longest records of each.
bool GeneralSorting::merges_with(std::uint64_t memory, const LongRecords& needs) {
  const GeneralSortOptions options = with_memory(memory);
  const auto geometry = geometry_for(options, inputs_, {});
  if (!geometry || geometry->merge_bytes < needs.merged) return false;
  if (joined_needed_ == 0) joined_needed_ = joined_bytes_needed(options_, inputs_, needs.longest);
  const std::size_t degree =
      files_at_once(options, inputs_, *geometry, memory_.threads(), is_little_);
  const std::size_t count = group_from(options, inputs_, 0, degree);
  return plan_file_merge(*geometry, std::span(inputs_.files).first(count)).joined_bytes >=
         joined_needed_;
}

void GeneralSorting::form() {
  if (!options_.merge_only) perform([this] { form_runs(); });
}

void GeneralSorting::merge() {
  perform([this] {
    if (options_.merge_only) return merge_files();
    GeneralOffload* const offload = formation_->offload_that_holds_all();
    if (offload == nullptr) return merge_formed();
    write_sorted(*offload, formation_->record_bytes());
  });
}

void GeneralSorting::form_runs() {
  if (options_.shared != nullptr) {
    if (const auto& header = options_.shared->header(0)) take_header(0, *header);
  }
  meter_.begin(Phase::forming_runs, inputs_.size_known ? inputs_.bytes : 0);
  GeneralFormation& formation = formation_.emplace(FormationContext{
      options_, inputs_, monitor_, *workers_, *io_, memory_, *scratch_,
      planned_.accelerator ? options_.accelerator : nullptr, row_faults_,
      [this](std::size_t input, std::string_view header) { take_header(input, header); },
      [this]() -> const KeyExtractor& { return *keys_; }});
  formation.run();
  if (keys_ == nullptr) keys_ = std::make_shared<DescendingRecord>();  // no header, no records
  input_hash_ = formation.input_hash();
  removed_ = formation.removed_hash();
  if (options_.shared == nullptr) row_faults_.check(input_hash_.records, row_faults_.skipped());
  report_.accelerator = formation.accelerator_report();
  sources_ = formation.sources();
  runs_ = formation.take_runs();
  report_.runs = sources_.size();
  meter_.end("form runs");
}

// Output goes to its destination from now on: the header, and records that take `bytes` with their
// frames, if none is left out. Memory is not divided again.
void GeneralSorting::begin_output(std::uint64_t bytes) {
  const RecordSyntax& syntax = options_.output_syntax();
  destination_.begin(bytes, options_.keys_of_parts ? options_.keys_of_parts() : PartKey(),
                     syntax.record_bytes, memory_, *io_);
  const auto& of_output = options_.header_of_output;
  const std::optional<std::string> header = of_output ? of_output(header_) : header_;
  if (header) destination_.text().write_header(destination_.tickets()++, *header, syntax);
}

// Merges all runs into the output.
void GeneralSorting::merge_formed() {
  const std::uint64_t record_bytes = formation_->record_bytes();
  meter_.begin(Phase::merging, record_bytes);
  BlockMemory blocks(monitor_);
  for (const auto span : formation_->free_memory()) blocks.extents().add(span);
  if (options_.shared != nullptr) return merge_shared(blocks);
  RunReducer& reducer = formation_->reducer();
  needs_ = long_records(sources_, options_.has_groups());
  sources_ = reducer.reduce(std::move(sources_), blocks);
  totals_ = {};
  totals_.removed = removed_;
  totals_.removed += reducer.removed();
  const bool any = std::any_of(sources_.begin(), sources_.end(),
                               [](const MergeSource& source) { return source.run != nullptr; });
  report_.passes = reducer.passes() + (any ? 1 : 0);
  report_.merge_degree = sources_.size();
  give_back_free_memory();
  if (merges_once()) destination_.take_space_of(scratch_->give_back_released());
  begin_output(formation_->output_bytes());
  const std::uint64_t bytes = cell_bytes(input_hash_.records, record_bytes, memory_);
  if (const std::size_t streams = part_streams(bytes); streams > 1) {
    merge_to_parts(bytes, streams);
  } else if (input_hash_.records != 0 &&
             merges_by_cells(sources_, record_bytes / bytes, memory_.geometry().table_bytes)) {
    merge_cells(bytes, blocks);
  } else {
    write_merge(
        cursors_of(sources_, scratch_->opened(), blocks, RunReading{.releases = merges_once()}));
  }
  destination_.text().finish();
  meter_.end("merge");
}

// Merges what of the runs of all sorts is to be written by this one.
void GeneralSorting::merge_shared(BlockMemory& blocks) {
  SharedJob& shared = *options_.shared;
  GeneralScratch& scratch = scratch_->get();
  RunReducer& reducer = formation_->reducer();
  needs_ = long_records(sources_, options_.has_groups());
  sources_ = reducer.reduce(std::move(sources_), blocks,
                            RunReducer::most_for_runs(blocks) / shared.ranks());
  scratch.wait_for_writes();
  totals_ = {};
  totals_.removed = removed_;
  totals_.removed += reducer.removed();
  const SharedRuns runs[]{{sources_, scratch, *scratch_->store()}};
  SharedMerge merge = shared.exchange(runs, *io_);
  sources_ = std::move(merge.sources);
  report_.passes = reducer.passes() + 1;
  report_.merge_degree = sources_.size();
  meter_.end("split runs");
  meter_.begin(Phase::merging, merge.bytes);
  give_back_free_memory();
  begin_output(merge.bytes);
  const std::uint64_t bytes = cell_bytes(merge.records, merge.bytes, memory_);
  if (!merges_by_cells(sources_, merge.bytes / bytes, memory_.geometry().table_bytes)) {
    throw Error(ErrorCode::no_space, too_many_tables());
  }
  merge_cells(bytes, blocks, merge.range);
  destination_.text().finish();
  meter_.end("merge");
}

// All records, `record_bytes` in all, are one chunk of the accelerator.
void GeneralSorting::write_sorted(GeneralOffload& offload, std::uint64_t record_bytes) {
  report_.runs = 1;
  meter_.begin(Phase::merging, record_bytes);
  begin_output(record_bytes);
  totals_ += offload.emit(destination_.text(), destination_.tickets(),
                          [this](std::uint64_t bytes) { meter_.advance(bytes); });
  destination_.text().finish();
  report_.accelerator = offload.report();
  meter_.end("write");
}

void GeneralSorting::merge_cells(std::uint64_t cell_bytes, BlockMemory& blocks,
                                 const KeyRange& range) {
  const GeneralMergeOptions merge{options_.output_syntax(), emit_rules(options_, *keys_),
                                  options_.dropped_bytes(), &stopped_};
  CellEmitter emitter(merge, destination_.text(), destination_.tickets(), monitor_);
  GeneralMerger merger(sources_, {MergeSide{keys_.get(), scratch_->opened(), merges_once()}},
                       cell_bytes, memory_.workspaces(), blocks, emitter, *workers_, monitor_,
                       range);
  merger.run([this](std::uint64_t bytes) { meter_.advance(bytes); });
  totals_ += emitter.totals();
}

// From how many places of the output parts are written at a time: of more than one only what is
// known, all records of runs in memory.
std::size_t GeneralSorting::part_streams(std::uint64_t cell_bytes) const {
  const bool whole = !options_.has_groups() && !options_.skip && !options_.limit;
  const bool in_memory =
      std::all_of(sources_.begin(), sources_.end(),
                  [](const MergeSource& source) { return source.run == nullptr; });
  if (!whole || !in_memory) return 1;
  return destination_.streams(formation_->output_bytes(), sources_.size(), cell_bytes,
                              memory_.threads());
}

void GeneralSorting::merge_to_parts(std::uint64_t cell_bytes, std::size_t streams) {
  const GeneralMergeOptions merge{options_.output_syntax(), emit_rules(options_, *keys_),
                                  options_.dropped_bytes(), &stopped_};
  const auto extra_bytes = static_cast<std::ptrdiff_t>(merge.syntax.frame_bytes()) -
                           static_cast<std::ptrdiff_t>(merge.dropped_bytes);
  SpreadMerger merger(sources_, {keys_.get(), nullptr}, cell_bytes, extra_bytes,
                      memory_.workspaces(), *workers_, monitor_);
  merger.lay_out(*destination_.parts(), destination_.text());
  CellEmitter emitter(merge, destination_.text(), merger.places(), monitor_);
  merger.run(emitter, streams, [this](std::uint64_t bytes) { meter_.advance(bytes); });
  totals_ += emitter.totals();
}

// sort -m.
void GeneralSorting::merge_files() {
  memory_.divide(0);
  meter_.begin(Phase::merging, inputs_.size_known ? inputs_.bytes : 0);
  const std::size_t degree =
      files_at_once(options_, inputs_, memory_.geometry(), memory_.threads(), is_little_);
  report_.runs = inputs_.files.size();
  report_.passes = 1;
  std::size_t count = group_from(options_, inputs_, 0, degree);
  auto cursors = open_files(0, count);
  if (count == inputs_.files.size()) {
    report_.merge_degree = inputs_.files.size();
    begin_output(inputs_.bytes);
    write_merge(std::move(cursors), on_disorder());
  } else {
    // More files than can be merged at once: groups of them become runs.
    RunReducer reducer(options_, *keys_, memory_, *scratch_, *workers_, monitor_);
    std::vector<MergeSource> sources;
    for (std::size_t first = 0;;) {
      sources.emplace_back().run =
          &reducer.merge_to_run(std::move(cursors), RunReducer::Table::in_scratch, on_disorder());
      first += count;
      if (first == inputs_.files.size()) break;
      count = group_from(options_, inputs_, first, degree);
      cursors = open_files(first, count);
    }
    BlockMemory blocks(monitor_);
    blocks.extents().add(memory_.regions());
    needs_ = long_records(sources, options_.has_groups());
    sources = reducer.reduce(std::move(sources), blocks);
    totals_.removed += reducer.removed();
    report_.passes += reducer.passes() + 1;
    report_.merge_degree = sources.size();
    begin_output(inputs_.bytes);
    write_merge(cursors_of(sources, scratch_->opened(), blocks));
  }
  destination_.text().finish();
  meter_.end("merge");
}

RecordMerge::OnDisorder GeneralSorting::on_disorder() const {
  if (assumes_sorted_) return [](const RecordCursor&) { throw GivenUp{&Attempt::assumes_order}; };
  if (!options_.check_merged) return {};
  return [](const RecordCursor& cursor) {
    static_cast<const FileCursor&>(cursor).fail(
        "not in order: merging needs sorted inputs, sort this one without -m");
  };
}

// Cursors over inputs `first` to `first` + `count`, which share the memory.
std::vector<std::unique_ptr<RecordCursor>> GeneralSorting::open_files(std::size_t first,
                                                                      std::size_t count) {
  const FileMergePlan plan =
      plan_file_merge(memory_.geometry(), std::span(inputs_.files).subspan(first, count));
  Carver buffers(memory_.regions());
  joined_bytes_ = plan.joined_bytes;
  std::vector<std::unique_ptr<RecordCursor>> cursors;
  for (std::size_t i = 0; i < count; ++i) {
    auto cursor = std::make_unique<FileCursor>(inputs_.files[first + i], options_,
                                               buffers.take(plan.buffer_bytes[i]), joined_bytes_,
                                               *io_, monitor_, input_hash_, row_faults_, first + i);
    if (first + count < inputs_.files.size()) cursor->expect_others();
    if (options_.syntax.header) {
      if (const auto header = cursor->take_header()) take_header(first + i, *header);
    }
    cursors.push_back(std::move(cursor));
  }
  if (keys_ == nullptr) keys_ = std::make_shared<DescendingRecord>();  // no header, no records
  return cursors;
}

// Writes all records of `cursors` to the output.
void GeneralSorting::write_merge(std::vector<std::unique_ptr<RecordCursor>> cursors,
                                 RecordMerge::OnDisorder on_disorder) {
  RecordMerge merge(std::move(cursors), *keys_, options_.has_groups(), std::move(on_disorder));
  PieceWriter writer(destination_.text().begin_open_ended(destination_.tickets()++),
                     options_.output_syntax(), options_.dropped_bytes());
  RecordEmitter emitter(writer, emit_rules(options_, *keys_));
  while (!stopped_ && merge.next() && emitter.add(merge.record(), merge.same_key())) {
    meter_.advance(merge.record().size() + 1);
  }
  totals_ += emitter.finish();
  if (is_one_row_of_none()) {
    std::string row;
    options_.fold()->finish(row);
    writer.add(row);
    ++totals_.records_out;
  }
  writer.finish();
}

// Whether a row is due though there are no records. Not if the inputs are without the header.
bool GeneralSorting::is_one_row_of_none() const {
  return options_.folds_to_one && input_hash_.records == 0 && options_.skip == 0 &&
         options_.limit != 0 && (header_ || !options_.syntax.header);
}

void GeneralSorting::check() {
  meter_.begin(Phase::finishing, 0);
  monitor_.check();
  const MultisetHash skipped{row_faults_.skipped(), 0};
  const auto sums =
      destination_.sums(std::array{totals_.written, totals_.removed, input_hash_, skipped});
  row_faults_.check(sums[2].records, sums[3].records);
  if (!stopped_) check_output(sums[0], sums[1], sums[2]);
  if (options_.check_input) options_.check_input(input_hash_);
}

void GeneralSorting::publish() {
  if (rejects_ != nullptr) rejects_->publish();
  report_.output_in_place = destination_.publish(*io_, meter_, reader_of_output());
  static_cast<RowFaults&>(report_) = row_faults_.faults();
  // (A merge may stop at its limit. Of several sorts, each has read a part.)
  const bool has_read_all = options_.shared == nullptr && (!options_.merge_only || !options_.limit);
  if (options_.missing_members && has_read_all) {
    report_.missing_members = options_.missing_members();
  }
  report_.records_in = input_hash_.records;
  report_.records_out = totals_.records_out;
  report_.checksum = totals_.written.sum;
  meter_.finish(scratch_->store());
}

// Checks what is read back, unless records are not in the order of their own keys, or not those
// that were read, or cannot be told apart.
io::ReadBack::Reader GeneralSorting::reader_of_output() {
  const bool is_sorted =
      !options_.tags.any() && !options_.fold && !options_.output_as && !options_.keeps_malformed;
  if (!is_sorted || keys_ == nullptr) return {};
  return [this](io::File& output) {
    check_sorted_general(options_, keys_, totals_.written, output, memory_.regions());
  };
}

void GeneralSorting::check_output(const MultisetHash& written, const MultisetHash& removed,
                                  const MultisetHash& input) const {
  if (options_.limit && !options_.has_groups() &&
      written.records != options_.written_of(input.records)) {
    throw Error(ErrorCode::corrupt,
                "records were lost on the way: the output was discarded; check "
                "this machine's memory and disks");
  }
  if (!options_.limit) {
    MultisetHash accounted = written;
    accounted += removed;
    check_permutation(input, accounted);
  }
}

}  // namespace

SortReport general_sort(const GeneralSortOptions& options) {
  const Attempt first{.assumes_order = may_be_sorted(options)};
  return run_attempts(first, [&](const Attempt& attempt) {
    GeneralSortOptions now = for_attempt(attempt, options);
    if (attempt.assumes_order) {
      now.merge_only = true;
      now.acceleration = Acceleration::never;
    }
    return GeneralSorting(now, attempt.assumes_order);
  });
}

std::unique_ptr<CallerSort> make_general_caller_sort(const GeneralSortOptions& options,
                                                     Inputs inputs) {
  return std::make_unique<GeneralSorting>(options, std::move(inputs));
}

SortPlan plan_general_sort(const GeneralSortOptions& options) {
  return GeneralSorting(options).plan();
}

SortPlan plan_general_caller_sort(const GeneralSortOptions& options, Inputs inputs) {
  return GeneralSorting(options, std::move(inputs)).plan();
}

}  // namespace xxl
