// The join of records of a fixed size by order, in the steps of every job (job_steps.h): runs of
// the sides that are not in order, one side after the other, each with all of the memory; then the
// merge of both and the join of their streams at the same time.
#include "job/join/sort_merge_join.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/memory_plan.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/output_file.h"
#include "job/fixed_sort/fixed_sorting.h"
#include "job/hive_name.h"
#include "job/inputs.h"
#include "job/job_io.h"
#include "job/job_steps.h"
#include "job/join/join_plan.h"
#include "job/join/join_source.h"
#include "job/output.h"
#include "job/phase_meter.h"
#include "join/output_layout.h"
#include "join/stream_joiner.h"
#include "record/format_key.h"
#include "record/key_text.h"

namespace xxl {
namespace {

using Clock = std::chrono::steady_clock;

// With less memory all of it is worth using: two sides share it.
constexpr std::uint64_t kAmpleForBothSides = kGiB;

constexpr std::array<const char*, kJoinSides> kSideNames = {"left", "right"};

// One join.
class SortMergeJoin {
 public:
  SortMergeJoin(const FixedJoinOptions& options, const Attempt& attempt);

  const JoinPlan& plan() const { return report_.plan; }
  void open();
  void form();
  void merge();
  void check();
  void publish();
  const JoinReport& report() const { return report_; }
  // After a failure of an optional accelerator: true if nothing has been output, and the inputs can
  // be read again.
  bool may_start_again() const {
    return options_.acceleration == Acceleration::if_it_pays &&
           (output_ == nullptr || output_->is_file()) && sides_[0].size_known &&
           sides_[1].size_known;
  }

 private:
  struct JoinedSide {
    std::unique_ptr<KeyLayout> layout;
    Inputs inputs;                          // if it is in order, or else:
    std::unique_ptr<FixedSorting> sorting;  // until its runs are there, and then with them
    bool presorted = false;
    bool assumed = false;  // it looks sorted
    std::uint64_t bytes = 0;
    bool size_known = true;
  };

  FixedSortOptions sort_options(std::size_t side) const;
  void open_side(std::size_t side, bool assumes_order);
  void find_plan(bool in_memory);
  void make_plan(bool in_memory);
  void divide(const JoinPlanInput& input);
  bool plan_in_memory(JoinPlanInput input);
  void plan_worthwhile_runs(const JoinPlanInput& input);
  void plan_runs(JoinPlanInput input);
  void report_plan();
  void open_rows();
  PartKey key_of_parts() const;
  std::unique_ptr<JoinSource> make_source(JoinSide which, std::span<std::byte> memory);
  void pump();

  FixedJoinOptions options_;
  const RowLayout rows_;
  JoinReport report_;
  PhaseMeter meter_{report_, options_};
  MemoryRegion region_;  // outlives what an accelerator has pinned
  std::array<JoinedSide, kJoinSides> sides_;
  std::uint64_t memory_bytes() const { return options_.memory_bytes - codec_bytes_; }

  std::uint64_t codec_bytes_ = 0;  // of -S, what decoders and compression take
  std::uint64_t runs_bytes_ = 0;   // of what is left, what forming and merging runs takes
  JoinGeometry geometry_;
  unsigned threads_ = 1;
  bool in_memory_ = false;  // sides are sorted there, and not in runs
  std::unique_ptr<Output> output_;
  Mailbox mailbox_{options_.stop};
  WaitTimes waits_ = meter_.no_waits();
  // For the merge. Each may use those above it until it ends.
  const KeyLayout row_layout_{rows_.row_format()};
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<io::IoService> io_;
  std::optional<io::BufferPool> output_blocks_;
  std::optional<GroupStore> group_store_;
  std::unique_ptr<BlockSink> sink_;
  std::unique_ptr<OutputStage> stage_;  // null if rows are only counted
  std::optional<StreamJoiner> joiner_;
  std::array<std::unique_ptr<JoinSource>, kJoinSides> sources_;
};

SortMergeJoin::SortMergeJoin(const FixedJoinOptions& options, const Attempt& attempt)
    : options_(options), rows_(options.formats, options.how, options.layout) {
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    sides_[i].inputs = open_inputs({options_.inputs[i]}, options_.formats[i].record_bytes,
                                   recognize_suffix(options_.compressed_by_suffix));
    sides_[i].bytes = sides_[i].inputs.bytes;
    sides_[i].size_known = sides_[i].inputs.size_known;
  }
  codec_bytes_ =
      options_.memory_bytes -
      memory_beside_decoders(options_.memory_bytes, {&sides_[0].inputs, &sides_[1].inputs}) +
      output_packing_bytes(options_);
  runs_bytes_ = memory_bytes();
  // If the input turns out not to be in order, it must be possible to start again.
  const bool assumes_order = attempt.assumes_order &&
                             (output_appears_at_end(options_) || options_.count_only) &&
                             sides_[0].size_known && sides_[1].size_known;
  for (std::size_t i = 0; i < kJoinSides; ++i) open_side(i, assumes_order);
  find_plan(attempt.in_memory);
}

FixedSortOptions SortMergeJoin::sort_options(std::size_t side) const {
  FixedSortOptions sort;
  static_cast<JobOptions&>(sort) = options_;
  sort.format = options_.formats[side];
  sort.inputs = {options_.inputs[side]};
  sort.output.assign(1, '-');  // the rows are compressed, if anything is
  sort.threads = threads_;
  sort.memory_bytes = runs_bytes_;
  sort.merge_on_accelerator = AcceleratedMerge::never;
  return sort;
}

void SortMergeJoin::open_side(std::size_t i, bool assumes_order) {
  JoinedSide& side = sides_[i];
  side.layout = std::make_unique<KeyLayout>(options_.formats[i]);
  side.presorted = options_.presorted[i];
  if (!side.presorted && assumes_order && side.bytes > 0 &&
      looks_sorted(side.inputs.files.front(), *side.layout)) {
    side.presorted = side.assumed = true;
  }
  if (side.presorted) return;
  side.sorting = std::make_unique<FixedSorting>(sort_options(i), std::move(side.inputs));
}

// Throws Error{no_space} that says how much memory would do.
void SortMergeJoin::find_plan(bool in_memory) {
  const std::uint64_t given = options_.memory_bytes;
  const auto accepts = [&](std::uint64_t memory) {
    options_.memory_bytes = memory;
    try {
      make_plan(in_memory);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space) throw;
      return false;
    }
  };
  if (accepts(given)) return;
  refuse_memory(given,
                memory_given(given) + " is too small to join records of " +
                    std::to_string(options_.formats[0].record_bytes) + " and " +
                    format_count(options_.formats[1].record_bytes, "byte"),
                accepts);
}

void SortMergeJoin::divide(const JoinPlanInput& input) {
  const auto geometry = plan_join_memory(input);
  if (!geometry)
    throw Error(ErrorCode::no_space, memory_of_name(options_.given_memory_bytes()) +
                                         " is too small for this join: give more");
  geometry_ = *geometry;
}

void SortMergeJoin::make_plan(bool in_memory) {
  JoinPlanInput input;
  input.memory_bytes = memory_bytes();
  input.row_bytes = rows_.row_bytes();
  threads_ = options_.thread_count();
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    input.sides[i] = {sides_[i].bytes, sides_[i].size_known, sides_[i].presorted,
                      options_.formats[i].record_bytes, 0};
  }
  // What should fit in memory may turn out not to: then runs must be possible.
  plan_worthwhile_runs(input);
  if (in_memory) {
    const unsigned threads = threads_;
    in_memory_ = plan_in_memory(input);
    if (!in_memory_) {
      threads_ = threads;
      plan_runs(input);
    }
  }
  report_plan();
}

// True if all sides that must be sorted fit in memory at the same time.
bool SortMergeJoin::plan_in_memory(JoinPlanInput input) {
  input.threads = threads_;
  divide(input);
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (!sides_[i].sorting) continue;
    if (!sides_[i].size_known) return false;
    FixedSortOptions sort = sort_options(i);
    sort.memory_bytes = geometry_.side_bytes[i];
    try {
      sides_[i].sorting->plan_again(sort, {});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space) throw;
      return false;
    }
    if (sides_[i].sorting->plan().passes > 0 || sides_[i].sorting->geometry().threads < threads_) {
      return false;
    }
  }
  return true;
}

// With as much memory as runs are worth, or all of it where records are too large for that.
void SortMergeJoin::plan_worthwhile_runs(const JoinPlanInput& input) {
  const std::uint64_t all = memory_bytes();
  const unsigned threads = threads_;
  runs_bytes_ = all;
  if (sides_[0].size_known && sides_[1].size_known && all >= kAmpleForBothSides) {
    runs_bytes_ = worthwhile_memory(all, sides_[0].bytes + sides_[1].bytes);
  }
  try {
    plan_runs(input);
    if (runs_bytes_ == all || threads_ == threads) return;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || runs_bytes_ == all) throw;
  }
  runs_bytes_ = all;
  threads_ = threads;
  plan_runs(input);
}

// Each side is planned with the memory that the tables of the other's runs leave, and with the same
// number of threads.
void SortMergeJoin::plan_runs(JoinPlanInput input) {
  input.memory_bytes = runs_bytes_;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (!sides_[i].sorting) continue;
    sides_[i].sorting->plan_again(sort_options(i), {.may_stay_in_memory = false});
    input.sides[i].table_bytes = sides_[i].sorting->geometry().table_bytes;
    threads_ = std::min(threads_, sides_[i].sorting->geometry().threads);
  }
  for (bool again = true; again;) {
    again = false;
    input.threads = threads_;
    divide(input);
    for (std::size_t i = 0; i < kJoinSides; ++i) {
      if (!sides_[i].sorting) continue;
      FixedSortOptions sort = sort_options(i);
      sort.memory_bytes -= std::min(sort.memory_bytes, input.sides[1 - i].table_bytes);
      SortSurroundings surroundings;
      surroundings.merge_memory_bytes = geometry_.side_bytes[i];
      surroundings.may_stay_in_memory = false;
      sides_[i].sorting->plan_again(sort, surroundings);
      if (sides_[i].sorting->geometry().threads < threads_) {
        threads_ = sides_[i].sorting->geometry().threads;
        again = true;
      }
    }
  }
}

void SortMergeJoin::report_plan() {
  JoinPlan& plan = report_.plan;
  plan.method = JoinMethod::sort_merge;
  plan.memory_bytes = options_.memory_bytes;
  plan.output_bytes = rows_.row_bytes();
  plan.threads = threads_;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const JoinedSide& side = sides_[i];
    JoinPlan::Side& planned = plan.sides[i];
    planned.input_bytes = side.bytes;
    planned.size_known = side.size_known;
    planned.presorted = side.presorted;
    if (!side.sorting) continue;
    const SortPlan& sort = side.sorting->plan();
    planned.expected_runs = sort.expected_runs;
    planned.passes = std::max(sort.passes, 1U) - 1;
    planned.scratch_bytes = sort.scratch_bytes;
    planned.device = sort.device;
    if (!sort.no_accelerator.empty()) plan.no_accelerator = sort.no_accelerator;
  }
}

void SortMergeJoin::open() {
  if (!options_.count_only) {
    check_parts(options_, options_.expected_bytes.has_value());
    output_ = std::make_unique<Output>(options_, 0);
  }
  region_ = MemoryRegion(static_cast<std::size_t>(memory_bytes()));
}

void SortMergeJoin::form() {
  if (in_memory_) return;
  for (const JoinedSide& side : sides_) {
    if (side.sorting) side.sorting->reserve_scratch();
  }
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (!sides_[i].sorting) continue;
    FixedSorting& sorting = *sides_[i].sorting;
    sorting.make_runs(region_.span());
    const SortReport& sorted = sorting.report();
    report_.sides[i].runs = sorted.runs;
    report_.sides[i].passes = sorted.passes;
    for (PhaseReport phase : sorted.phases) {
      phase.name = std::string(kSideNames[i]) + ": " + phase.name;
      report_.phases.push_back(std::move(phase));
    }
    if (!sorted.accelerator.devices.empty()) report_.accelerator = sorted.accelerator;
  }
}

// `memory`: of geometry_.side_bytes. All references must outlive the source.
std::unique_ptr<JoinSource> SortMergeJoin::make_source(JoinSide which,
                                                       std::span<std::byte> memory) {
  const auto index = static_cast<std::size_t>(which);
  JoinedSide& side = sides_[index];
  if (side.sorting && in_memory_) {
    // An accelerator's memory is planned when the side before has taken its part.
    if (index > 0) side.sorting->plan_again(side.sorting->options(), {});
    if (side.sorting->plan().passes > 0) throw GivenUp{&Attempt::in_memory};
    return std::make_unique<ResidentSource>(*side.sorting, memory, *io_, *workers_, mailbox_, which,
                                            *joiner_);
  }
  if (side.sorting) {
    FixedSorting& sorting = *side.sorting;
    OutputRules rules;
    rules.hash_output = false;
    if (sorting.scratch() != nullptr) sorting.scratch()->give_back_released();
    return std::make_unique<MergedSource>(
        RunMergeContext{*side.layout, sorting.geometry(), rules, *io_, *workers_, mailbox_,
                        sorting.scratch(), sorting.packer()},
        memory, sorting.runs(), sorting.input_hash(), which, *joiner_);
  }
  return std::make_unique<FileSource>(side.inputs, *side.layout, geometry_.read_block_bytes[index],
                                      memory, side.assumed, *io_, *workers_, mailbox_, which,
                                      *joiner_);
}

// Rows go to the output from now on.
void SortMergeJoin::open_rows() {
  options_.record_kind = "fixed:" + std::to_string(row_layout_.record_bytes());
  options_.key_text = key_text_of(rows_.whole_row_format());
  OutputRules rules;
  rules.parts = output_->cut_parts(options_.expected_bytes.value_or(0), key_of_parts(),
                                   row_layout_.record_bytes());
  sink_ = output_->make_record_sink(row_layout_.record_bytes(), geometry_.output_block_bytes,
                                    threads_, *output_blocks_, *io_, mailbox_);
  stage_ = std::make_unique<OutputStage>(row_layout_, rules, *output_blocks_, *sink_, mailbox_);
}

void SortMergeJoin::merge() {
  workers_ = std::make_unique<Workers>(threads_);
  io_ = open_io(options_, {});
  report_.plan.backend = io_->backend_name();
  meter_.watch(*io_, *workers_);
  meter_.begin(Phase::joining, sides_[0].bytes + sides_[1].bytes);

  Carver carver(region_.span());
  output_blocks_.emplace(carver.take(geometry_.output_bytes), geometry_.output_block_bytes);
  const auto row_memory = carver.take(geometry_.part_bytes);
  const auto list_memory = carver.take(geometry_.list_bytes);
  group_store_.emplace(carver.take(geometry_.group_bytes), options_.scratch_dirs.front());
  if (output_) open_rows();
  joiner_.emplace(StreamJoinContext{{sides_[0].layout.get(), sides_[1].layout.get()},
                                    options_.how,
                                    rows_,
                                    stage_.get(),
                                    *workers_,
                                    mailbox_,
                                    *group_store_,
                                    row_memory,
                                    list_memory,
                                    geometry_.piece_records,
                                    geometry_.part_bytes});
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    sources_[i] = make_source(static_cast<JoinSide>(i), carver.take(geometry_.side_bytes[i]));
  }
  pump();
  if (stage_) {
    stage_->finish();
    while (sink_->pending() > 0) mailbox_.wait_and_run();
    sink_->finish();
  }
  meter_.end("join", waits_);
}

// With parts by a key, which must be the first field of the join's.
PartKey SortMergeJoin::key_of_parts() const {
  if (options_.part_by.empty()) return {};
  RecordFormat rows = rows_.row_format();
  rows.key = {*rows_.first_key()};
  return xxl::key_of_parts(options_.part_by, rows);
}

// Until all has been joined.
void SortMergeJoin::pump() {
  constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  std::uint64_t stalled_at = kNowhere;  // the progress when all were stuck
  for (;;) {
    for (const auto& source : sources_) source->pump();
    joiner_->pump();
    for (const auto& source : sources_) source->pump();  // into what the join has released
    if (joiner_->finished()) return;
    const bool idle = joiner_->idle() && !joiner_->waits_for_output() &&
                      std::all_of(sources_.begin(), sources_.end(),
                                  [](const auto& source) { return source->idle(); });
    if (idle) {
      XXL_CHECK(stalled_at != joiner_->progress());
      stalled_at = joiner_->progress();
      joiner_->break_stall();
      continue;
    }
    stalled_at = kNowhere;
    const bool reads = joiner_->idle() && std::any_of(sources_.begin(), sources_.end(),
                                                      [](auto& s) { return s->waits_for_read(); });
    const bool writes = joiner_->idle() && joiner_->waits_for_output();
    const auto start = Clock::now();
    mailbox_.wait_and_run();
    if (writes) {
      waits_.add_write(start);
    } else if (reads) {
      waits_.add_read(start);
    }
  }
}

void SortMergeJoin::check() {
  meter_.begin(Phase::finishing, 0);
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const JoinedSide& side = sides_[i];
    const auto which = static_cast<JoinSide>(i);
    const Inputs& inputs = side.sorting ? side.sorting->inputs() : side.inputs;
    const std::optional<std::uint64_t> expected = inputs.records(options_.formats[i].record_bytes);
    check_joined(kSideNames[i], sources_[i]->input_hash().value_or(joiner_->hash(which)),
                 joiner_->hash(which), expected);
    report_.sides[i].records = joiner_->hash(which).records;
    report_.sides[i].matched = joiner_->matched(which);
  }
  report_.rows = joiner_->rows();
  if (stage_ == nullptr || stage_->records() == joiner_->rows()) return;
  throw Error(ErrorCode::corrupt,
              "rows were lost on the way: the output was discarded; check this machine's memory "
              "and disks");
}

void SortMergeJoin::publish() {
  report_.spilled_bytes = group_store_->spilled_bytes();
  report_.scratch_bytes = group_store_->file_bytes();
  for (const JoinedSide& side : sides_) {
    if (!side.sorting) continue;
    // The accelerator reports on its last sorter while that lives.
    if (in_memory_ && side.sorting->uses_accelerator()) {
      report_.accelerator = options_.accelerator->report();
    }
    if (const io::ScratchStore* const scratch = side.sorting->scratch()) {
      report_.scratch_bytes += scratch->peak_bytes();
    }
  }
  if (stage_ == nullptr) {
    meter_.end("finish");
  } else {
    report_.bytes_written = stage_->records() * rows_.row_bytes();
    report_.checksum = stage_->hash().sum;
    output_->publish(report_.bytes_written, *io_, meter_);
    report_.output_in_place = output_->in_place();
  }
  meter_.finish(nullptr);
}

}  // namespace

JoinReport sort_merge_join(const FixedJoinOptions& options) {
  return run_attempts({}, [&](const Attempt& attempt) {
    return SortMergeJoin(for_attempt(attempt, options), attempt);
  });
}

JoinPlan plan_sort_merge_join(const FixedJoinOptions& options) {
  return SortMergeJoin(options, {}).plan();
}

}  // namespace xxl
