// The general join from end to end, in the steps of every job (job_steps.h): by cells of all runs,
// or record by record where an input comes sorted.
#include "job/join/general_join.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/memory_plan.h"
#include "base/memory_region.h"
#include "io/codec.h"
#include "io/output_file.h"
#include "job/fixed_sort/plan.h"
#include "job/general_sort/cell_size.h"
#include "job/general_sort/general_destination.h"
#include "job/general_sort/long_records.h"
#include "job/general_sort/shared_job.h"
#include "job/general_sort/stored_records.h"
#include "job/job_io.h"
#include "job/job_steps.h"
#include "job/join/counted_first.h"
#include "job/join/general_join_budget.h"
#include "job/join/join_side.h"
#include "job/order_guess.h"
#include "job/output.h"
#include "job/phase_meter.h"
#include "join/cell_joiner.h"
#include "join/general_joiner.h"
#include "join/group_store.h"
#include "join/row_output.h"
#include "run/compressed_bytes.h"
#include "run/general_output.h"
#include "xxl/sort.h"

namespace xxl {
namespace {

// One join.
class GeneralJoining final : public GeneralJoin {
 public:
  // `guessed`: which inputs are only assumed to be sorted. Then run() may give up.
  GeneralJoining(const GeneralJoinOptions& options, std::array<bool, kJoinSides> guessed)
      : GeneralJoining(options, guessed,
                       {open_side(options, JoinSide::r), open_side(options, JoinSide::s)}) {}
  GeneralJoining(const GeneralJoinOptions& options, std::array<bool, kJoinSides> guessed,
                 std::array<Inputs, kJoinSides> inputs);

  JoinPlan plan() const;
  std::string planned_backend() const { return backend_name(options_, is_little_); }
  JoinReport run() override { return run_steps(*this); }
  void open();
  void form() {
    perform([this] { form_runs(); });
  }
  void merge() {
    perform([this] { join(); });
  }
  void check();
  void publish();
  const JoinReport& report() const { return report_; }
  bool may_start_again() const { return false; }  // no accelerator is used

 private:
  GeneralJoinSide& side(JoinSide which) { return sides_[static_cast<std::size_t>(which)]; }
  bool sorts_both() const { return !sides_[0].is_presorted() && !sides_[1].is_presorted(); }
  JoinInputs join_inputs() const;
  GeneralJoinBudget budget_of(std::uint64_t memory) const;
  GeneralJoinBudget budget_or_refuse() const;
  bool fits(std::uint64_t given, const JoinLongRecords& longest) const;
  void plan_memory();
  GeneralMemory& memory() const;
  std::size_t table_bytes() const;
  void perform(const std::function<void()>& work);
  void form_runs();
  void reduce_runs(BlockMemory& blocks);
  void set_rules();
  void open_sink();
  void write_header();
  void join();
  void join_shared(BlockMemory& blocks);
  void join_cells(std::vector<MergeSource> sources, std::uint64_t cell_bytes, BlockMemory& blocks,
                  const KeyRange& range = {});
  void join_streams(BlockMemory& blocks);
  void check_sides() const;
  const GeneralJoinOptions& options_;
  const std::array<bool, kJoinSides> guessed_;
  SortReport sort_report_;  // phases
  JoinReport report_;
  PhaseMeter meter_{sort_report_, options_};
  Monitor monitor_{options_.stop};
  std::unique_ptr<io::IoService> io_;
  std::unique_ptr<Workers> workers_;
  std::array<GeneralJoinSide, kJoinSides> sides_;
  const bool is_little_;
  const GeneralJoinBudget budget_;
  std::unique_ptr<GeneralMemory> output_memory_;  // if nothing is sorted
  MemoryRegion group_memory_;
  MemoryRegion file_memory_;
  std::optional<GroupStore> group_;
  JoinRules rules_;
  GeneralDestination destination_{options_, options_.shared, monitor_};
  GeneralOutput* output_ = nullptr;  // null if rows are only counted
  Ticket tickets_{};
  JoinTotals totals_;
  std::unique_ptr<RejectsFile> rejects_;
};

bool are_little(const GeneralJoinOptions& options,
                const std::array<GeneralJoinSide, kJoinSides>& sides) {
  std::uint64_t bytes = 0;
  for (const GeneralJoinSide& side : sides) {
    if (!side.inputs().size_known) return false;
    bytes += side.inputs().bytes;
  }
  return is_little(options, bytes);
}

GeneralJoining::GeneralJoining(const GeneralJoinOptions& options,
                               std::array<bool, kJoinSides> guessed,
                               std::array<Inputs, kJoinSides> inputs)
    : options_(options),
      guessed_(guessed),
      sides_{GeneralJoinSide(options, JoinSide::r, std::move(inputs[0])),
             GeneralJoinSide(options, JoinSide::s, std::move(inputs[1]))},
      is_little_(options.shared == nullptr && are_little(options, sides_)),
      budget_(budget_or_refuse()) {
  plan_memory();
}

JoinInputs GeneralJoining::join_inputs() const {
  JoinInputs inputs;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const Inputs& files = sides_[i].inputs();
    inputs[i] = {files.bytes, files.size_known, sides_[i].is_presorted()};
  }
  return inputs;
}

GeneralJoinBudget GeneralJoining::budget_of(std::uint64_t memory) const {
  return make_budget(options_,
                     memory_beside_decoders(memory, {&sides_[0].inputs(), &sides_[1].inputs()}),
                     is_little_);
}

// Whether it would be enough if `given` were given in place of -S. `longest`: nothing is known to
// be long.
bool GeneralJoining::fits(std::uint64_t given, const JoinLongRecords& longest) const {
  if (options_.shared != nullptr &&
      !options_.shared->can_send(std::max(longest[0][0], longest[1][0]), given)) {
    return false;
  }
  const double part = static_cast<double>(options_.memory_bytes) /
                      static_cast<double>(options_.given_memory_bytes());
  try {
    const auto memory = static_cast<std::uint64_t>(part * static_cast<double>(given));
    return has_room_for(options_, budget_of(memory), join_inputs(), longest);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;
    return false;
  }
}

GeneralJoinBudget GeneralJoining::budget_or_refuse() const {
  const std::uint64_t given = options_.given_memory_bytes();
  memory_beside_decoders(options_.memory_bytes, {&sides_[0].inputs(), &sides_[1].inputs()});
  if (fits(given, {})) return budget_of(options_.memory_bytes);
  refuse_memory(given, memory_of_name(given) + " is too small to join these inputs",
                [this](std::uint64_t memory) { return fits(memory, {}); });
}

void GeneralJoining::plan_memory() {
  std::array<GeneralPlanInput, kJoinSides> inputs = plan_inputs(options_, budget_, join_inputs());
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (!inputs[i].size_known || sides_[i].is_presorted()) continue;
    inputs[i].stored = sample_records(sides_[i].inputs(), options_.input_syntax(i));
  }
  unsigned threads = budget_.threads;
  bool any = false;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (sides_[i].is_presorted()) continue;
    sides_[i].plan(inputs[i], monitor_);
    threads = std::min(threads, sides_[i].memory().threads());
    any = true;
  }
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (sides_[i].is_presorted() || sides_[i].memory().threads() == threads) continue;
    inputs[i].threads = threads;
    sides_[i].plan(inputs[i], monitor_);
  }
  if (any) return;
  GeneralPlanInput output = plan_input_of_output(options_, budget_);
  output.threads = 1;
  output_memory_ = std::make_unique<GeneralMemory>(output, monitor_);
}

// The side whose buffers and workspaces are used in the end: the larger.
GeneralMemory& GeneralJoining::memory() const {
  if (output_memory_ != nullptr) return *output_memory_;
  GeneralMemory* best = nullptr;
  for (const GeneralJoinSide& each : sides_) {
    if (each.is_presorted()) continue;
    GeneralMemory& memory = const_cast<GeneralJoinSide&>(each).memory();
    if (best == nullptr || memory.geometry().item_capacity > best->geometry().item_capacity) {
      best = &memory;
    }
  }
  return *best;
}

// Memory for the tables of both.
std::size_t GeneralJoining::table_bytes() const {
  std::size_t bytes = 0;
  for (const GeneralJoinSide& each : sides_) {
    if (!each.is_presorted()) bytes += each.memory().geometry().table_bytes;
  }
  return bytes;
}

JoinPlan GeneralJoining::plan() const {
  JoinPlan plan;
  plan.method = JoinMethod::sort_merge;
  plan.memory_bytes = options_.memory_bytes;
  plan.threads = memory().threads();
  plan.because = "text is joined in the order of its keys";
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const Inputs& inputs = sides_[i].inputs();
    JoinPlan::Side& side = plan.sides[i];
    side.input_bytes = inputs.bytes;
    side.size_known = inputs.size_known;
    side.presorted = sides_[i].is_presorted();
    if (side.presorted || !inputs.size_known) continue;
    const GeneralMemory& memory = sides_[i].memory();
    if (memory.holds_input()) {
      side.expected_runs = 1;
      continue;
    }
    const GeneralGeometry& geometry = memory.geometry();
    side.expected_runs = inputs.bytes / (geometry.region_bytes / 5 * 4) + 1;
    std::uint64_t degree =
        geometry.regions * geometry.region_bytes / 8 * 7 / (2 * geometry.block_bytes);
    if (options_.batch_size != 0) degree = std::min<std::uint64_t>(degree, options_.batch_size);
    side.passes = std::max(1U, merge_passes(side.expected_runs, degree)) - 1;
    side.scratch_bytes = memory.scratch_bytes();
  }
  return plan;
}

void GeneralJoining::open() {
  report_.plan = plan();
  if (!options_.count_only) destination_.open(options_.expected_bytes.has_value(), 0);
  io_ = open_io(options_, {}, is_little_);
  report_.plan.backend = is_little_ ? "inline" : io_->backend_name();
  workers_ = std::make_unique<Workers>(
      memory().threads(), is_little_ ? Workers::Threads::none : Workers::Threads::wanted);
  rejects_ = make_rejects_file(options_, options_.scratch_dirs);
  for (GeneralJoinSide& each : sides_) {
    if (rejects_ != nullptr) each.row_faults().write_to(rejects_.get());
    if (options_.shared != nullptr) each.row_faults().count_later();
    each.start(*io_, *workers_, monitor_);
  }
  meter_.watch(*io_, *workers_);
  group_memory_ = MemoryRegion(budget_.group_bytes);
  group_.emplace(group_memory_.span(), options_.scratch_dirs.front());
}

void GeneralJoining::perform(const std::function<void()>& work) {
  std::optional<JoinLongRecords> longest;
  with_memory_advice(
      options_.given_memory_bytes(), [&] { monitor_.run(work); }, [] { return LongRecords{}; },
      [&](std::uint64_t memory, const LongRecords& needs) {
        if (!longest) {
          longest = {sides_[0].longest_records(needs.longest),
                     sides_[1].longest_records(needs.longest)};
        }
        return fits(memory, *longest);
      });
}

void GeneralJoining::form_runs() {
  std::array<JoinSide, kJoinSides> order{JoinSide::r, JoinSide::s};
  if (options_.s_first) std::swap(order[0], order[1]);
  for (const JoinSide which : order) {
    GeneralJoinSide& each = side(which);
    if (each.is_presorted()) continue;
    meter_.begin(Phase::forming_runs, each.inputs().size_known ? each.inputs().bytes : 0);
    each.form_runs();
    if (options_.shared == nullptr) {
      each.row_faults().check(each.hash().records, each.row_faults().skipped());
    }
    meter_.end(which == JoinSide::r ? "form left runs" : "form right runs");
  }
}

// As few as fit, two blocks each. The side that needs little keeps what it has.
void GeneralJoining::reduce_runs(BlockMemory& blocks) {
  for (const GeneralJoinSide& each : sides_) {
    if (each.is_presorted()) continue;
    for (const auto span : each.free_memory()) blocks.extents().add(span);
  }
  std::size_t most = RunReducer::most_for_runs(blocks);
  if (options_.shared != nullptr) most /= options_.shared->ranks();
  if (!sorts_both()) {
    for (GeneralJoinSide& each : sides_) {
      if (!each.is_presorted()) each.reduce(blocks, most);
    }
    return;
  }
  const std::array<std::size_t, kJoinSides> needed{RunReducer::bytes_for_runs(sides_[0].sources()),
                                                   RunReducer::bytes_for_runs(sides_[1].sources())};
  std::array<std::size_t, kJoinSides> share{most / 2, most / 2};
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (needed[0] + needed[1] <= most) {
      share[i] = needed[i];
    } else if (needed[i] <= most / 2) {
      share[i] = needed[i];
      share[1 - i] = most - needed[i];
      break;
    }
  }
  for (std::size_t i = 0; i < kJoinSides; ++i) sides_[i].reduce(blocks, share[i]);
}

// Once both inputs have keys.
void GeneralJoining::set_rules() {
  static_cast<RowRules&>(rules_) = options_;
  rules_.keys = {&sides_[0].keys(), &sides_[1].keys()};
  rules_.syntax = options_.row_syntax();
  rules_.buffer_bytes = static_cast<std::size_t>(budget_.rows_bytes);
}

// Output goes here from now on; memory is not divided again.
void GeneralJoining::open_sink() {
  if (options_.count_only) return;
  output_ = &destination_.begin(options_.expected_bytes.value_or(0),
                                options_.keys_of_parts ? options_.keys_of_parts() : PartKey(),
                                options_.row_bytes, memory(), *io_);
  write_header();
}

void GeneralJoining::write_header() {
  if (!options_.header_row || !(sides_[0].header() || sides_[1].header())) return;
  const std::string header = options_.header_row({sides_[0].header(), sides_[1].header()});
  output_->write_header(tickets_++, header, options_.syntax);
}

// Merges what was sorted: both inputs by cells, if there is room for that.
void GeneralJoining::join() {
  if (output_memory_ != nullptr) output_memory_->divide(0);
  std::uint64_t bytes = 0;
  for (const GeneralJoinSide& each : sides_) {
    bytes += each.is_presorted() ? each.inputs().bytes : each.record_bytes();
  }
  meter_.begin(Phase::joining, bytes);
  BlockMemory blocks(monitor_);
  reduce_runs(blocks);
  if (options_.shared != nullptr) return join_shared(blocks);
  give_back_free_memory();
  std::vector<MergeSource> sources = sides_[0].sources();
  sources.insert(sources.end(), sides_[1].sources().begin(), sides_[1].sources().end());
  const std::uint64_t of_cell =
      cell_bytes(sides_[0].hash().records + sides_[1].hash().records, bytes, memory());
  if (sorts_both() && merges_by_cells(sources, bytes / of_cell, table_bytes())) {
    join_cells(std::move(sources), of_cell, blocks);
  } else {
    join_streams(blocks);
  }
  if (output_ != nullptr) output_->finish();
  meter_.end("join");
}

// Joins what of the runs of all joins is to be joined by this one.
void GeneralJoining::join_shared(BlockMemory& blocks) {
  std::vector<SharedRuns> runs;
  for (GeneralJoinSide& each : sides_) {
    GeneralScratch& scratch = each.scratch().get();
    scratch.wait_for_writes();
    runs.push_back({each.sources(), scratch, *each.scratch().store()});
  }
  SharedMerge merge = options_.shared->exchange(runs, *io_);
  meter_.end("split runs");
  meter_.begin(Phase::joining, merge.bytes);
  give_back_free_memory();
  const std::uint64_t of_cell = cell_bytes(merge.records, merge.bytes, memory());
  if (!merges_by_cells(merge.sources, merge.bytes / of_cell, table_bytes())) {
    throw Error(ErrorCode::no_space, too_many_tables());
  }
  join_cells(std::move(merge.sources), of_cell, blocks, merge.range);
  if (output_ != nullptr) output_->finish();
  meter_.end("join");
}

// All workers join cells of the runs of both.
void GeneralJoining::join_cells(std::vector<MergeSource> sources, std::uint64_t cell_bytes,
                                BlockMemory& blocks, const KeyRange& range) {
  set_rules();
  open_sink();
  CellJoiner joiner(rules_, output_, tickets_, *group_, monitor_);
  const bool releases = options_.shared == nullptr;
  for (GeneralJoinSide& side : sides_) {
    if (releases) side.scratch().give_back_released();
  }
  GeneralMerger merger(std::move(sources),
                       {MergeSide{&sides_[0].keys(), sides_[0].scratch().opened(), releases},
                        MergeSide{&sides_[1].keys(), sides_[1].scratch().opened(), releases}},
                       cell_bytes, memory().workspaces(), blocks, joiner, *workers_, monitor_,
                       range);
  merger.run([this](std::uint64_t done) { meter_.advance(done); });
  totals_ += joiner.totals();
}

// Both are read from beginning to end: a sorted input, or the merge of a side's runs.
void GeneralJoining::join_streams(BlockMemory& blocks) {
  file_memory_ = MemoryRegion(kJoinSides * budget_.file_bytes);
  auto joined_bytes = static_cast<std::size_t>(budget_.record_bytes);
  std::array<std::unique_ptr<RecordCursor>, kJoinSides> merges;
  std::array<RecordCursor*, kJoinSides> cursors{};
  std::array<std::function<void()>, kJoinSides> on_disorder;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    GeneralJoinSide& each = sides_[i];
    if (each.is_presorted()) {
      FileChain& file = each.read(
          file_memory_.span().subspan(i * budget_.file_bytes, budget_.file_bytes), joined_bytes);
      cursors[i] = &file;
      on_disorder[i] = [&file, guessed = guessed_[i]] {
        if (guessed) throw GivenUp{&Attempt::assumes_order};
        file.fail(
            "its key is below that of the record before: leave out --presorted or --check-order");
      };
    } else {
      merges[i] = each.merge(blocks);
      cursors[i] = merges[i].get();
      on_disorder[i] = [] {
        throw Error(ErrorCode::corrupt,
                    "a run is not in order: check this machine's memory and disks");
      };
    }
  }
  set_rules();
  open_sink();
  RowOutput output(output_, tickets_++, rules_.syntax, rules_.buffer_bytes);
  JoinEmitter emitter(rules_, output);
  KeyedRecords r(*cursors[0], *rules_.keys[0], on_disorder[0]);
  KeyedRecords s(*cursors[1], *rules_.keys[1], on_disorder[1]);
  GeneralJoiner(r, s, rules_, *group_, emitter).run([this](std::uint64_t done) {
    meter_.advance(done);
  });
  output.finish();
  totals_ += emitter.totals();
}

// What was read must have been joined, by this join or by all together.
void GeneralJoining::check_sides() const {
  std::vector<MultisetHash> counts{{totals_.rows, totals_.written.sum}};
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    counts.push_back(totals_.sides[i].records);
    counts.push_back(sides_[i].hash());
  }
  for (const GeneralJoinSide& side : sides_) counts.push_back({side.row_faults().skipped(), 0});
  counts = destination_.sums(counts);
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const MultisetHash &joined = counts[1 + 2 * i], &read = counts[2 + 2 * i];
    sides_[i].row_faults().check(read.records, counts[1 + 2 * kJoinSides + i].records);
    if (joined == read) continue;
    throw Error(ErrorCode::corrupt,
                "the records that were joined are not those that were read (" +
                    std::to_string(joined.records) + " of " + std::to_string(read.records) +
                    ", or their checksum): the output was discarded; check this machine's memory "
                    "and disks",
                sides_[i].path());
  }
}

void GeneralJoining::check() {
  meter_.begin(Phase::finishing, 0);
  monitor_.check();
  check_sides();
  if (options_.count_only || totals_.written.records == totals_.rows) return;
  throw Error(ErrorCode::corrupt, std::to_string(totals_.written.records) + " of " +
                                      std::to_string(totals_.rows) +
                                      " rows were written: the output was discarded; check "
                                      "this machine's memory");
}

void GeneralJoining::publish() {
  if (rejects_ != nullptr) rejects_->publish();
  if (!options_.count_only) {
    report_.bytes_written = output_->bytes();
    report_.output_in_place = destination_.publish(*io_, meter_);
  } else {
    meter_.end("finish");
  }
  meter_.finish(nullptr);
  report_.scratch_bytes = group_->file_bytes();
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    JoinReport::Side& of = report_.sides[i];
    of.records = sides_[i].hash().records;
    static_cast<RowFaults&>(of) = sides_[i].row_faults().faults();
    of.matched = totals_.sides[i].matched;
    of.runs = sides_[i].runs();
    of.passes = sides_[i].passes();
    if (sides_[i].is_presorted()) continue;
    if (const io::ScratchStore* const store = sides_[i].scratch().store()) {
      report_.scratch_bytes += store->peak_bytes();
    }
  }
  report_.rows = totals_.rows;
  report_.checksum = totals_.written.sum;
  report_.spilled_bytes = group_->spilled_bytes();
  report_.seconds = sort_report_.seconds;
  report_.phases = sort_report_.phases;
  report_.peak_memory_bytes = sort_report_.peak_memory_bytes;
}

void check_method(const GeneralJoinOptions& options) {
  if (options.acceleration == Acceleration::always) {
    throw Error(ErrorCode::device, "text is joined on processors");
  }
  if (options.method == JoinMethod::hash) {
    throw Error(ErrorCode::usage,
                "text is joined in the order of its keys: the hash method is for binary records");
  }
}

// Which inputs look sorted without being given as such, and are too large to be sorted in memory.
// None if the join could not start again: the output is a stream, or an input a pipe.
std::array<bool, kJoinSides> guess_sorted(const GeneralJoinOptions& options) {
  std::array<bool, kJoinSides> guessed{};
  if (options.input_callers[0] != nullptr) return guessed;
  if (!output_appears_at_end(options) && !options.count_only) return guessed;
  const auto inputs =
      inputs_to_guess({options.inputs.begin(), options.inputs.end()},
                      recognize_general(options.syntax, options.compressed_by_suffix));
  if (!inputs) return guessed;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    guessed[i] = !options.presorted[i] && options.rules[i].keys != nullptr &&
                 (*inputs)[i].size() >= options.memory_bytes / 2 &&
                 looks_sorted((*inputs)[i], options.syntax, *options.rules[i].keys);
  }
  return guessed;
}

// `options`, with what was guessed.
GeneralJoinOptions with_guess(const GeneralJoinOptions& options,
                              const std::array<bool, kJoinSides>& guessed) {
  GeneralJoinOptions join = options;
  for (std::size_t i = 0; i < kJoinSides; ++i) join.presorted[i] |= guessed[i];
  return join;
}

}  // namespace

std::unique_ptr<GeneralJoin> make_general_join(const GeneralJoinOptions& options,
                                               std::array<Inputs, kJoinSides> inputs) {
  check_method(options);
  return std::make_unique<GeneralJoining>(options, std::array<bool, kJoinSides>{},
                                          std::move(inputs));
}

JoinReport general_join(const GeneralJoinOptions& options) {
  check_method(options);
  if (options.parts != 0 && !options.count_only && !options.expected_bytes) {
    return join_counted_first(
        options,
        [](GeneralJoinOptions rows) {
          rows.output = "/dev/null";  // which nobody can read back
          rows.verify = false;
          JoinReport report = general_join(rows);
          return std::pair(report, report.bytes_written);
        },
        general_join);
  }
  const std::array<bool, kJoinSides> guessed = guess_sorted(options);
  const GeneralJoinOptions guess = with_guess(options, guessed);
  const Attempt first{.assumes_order = guessed[0] || guessed[1]};
  return run_attempts(first, [&](const Attempt& attempt) {
    return attempt.assumes_order ? GeneralJoining(guess, guessed) : GeneralJoining(options, {});
  });
}

JoinPlan plan_general_join(const GeneralJoinOptions& options) {
  check_method(options);
  const std::array<bool, kJoinSides> guessed = guess_sorted(options);
  const GeneralJoinOptions join = with_guess(options, guessed);
  GeneralJoining joining(join, guessed);
  JoinPlan plan = joining.plan();
  plan.backend = joining.planned_backend();
  return plan;
}

}  // namespace xxl
