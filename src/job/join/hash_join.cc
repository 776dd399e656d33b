// The hash join from end to end, in the steps of every job (job_steps.h): one side becomes a table
// in memory, the other is streamed past it, and what remains of the first is written.
#include "job/join/hash_join.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/in_flight.h"
#include "base/least_memory.h"
#include "base/memory_region.h"
#include "base/task.h"
#include "base/units.h"
#include "io/sequential_reader.h"
#include "job/inputs.h"
#include "job/job_io.h"
#include "job/job_steps.h"
#include "job/join/hash_probe.h"
#include "job/output.h"
#include "job/phase_meter.h"
#include "join/hash_partitions.h"
#include "join/hash_table.h"
#include "join/output_layout.h"

namespace xxl {
namespace {

using Clock = std::chrono::steady_clock;

const char* side_name(JoinSide side) {
  return side == JoinSide::r ? "the left side" : "the right side";
}
std::size_t index_of(JoinSide side) {
  return static_cast<std::size_t>(side);
}
JoinSide other(JoinSide side) {
  return side == JoinSide::r ? JoinSide::s : JoinSide::r;
}

bool says_empty(const io::File& file) {
  return file.is_stored() && file.size() == 0 && file.decoder_bytes() == 0;
}

// One join.
class HashJoining {
 public:
  explicit HashJoining(const FixedJoinOptions& options);

  // Chooses the side to be held in memory. False if the join cannot be done; join_plan().because
  // says why.
  bool plan();
  const JoinPlan& join_plan() const { return report_.plan; }
  void open();
  void form();   // the table
  void merge();  // the other side with it
  void check();
  void publish();
  const JoinReport& report() const { return report_; }

 private:
  using Work = std::function<void(std::size_t partition, const RecordNumbers& numbers)>;

  HashPlanInput plan_input(JoinSide build) const;
  const Inputs& input(JoinSide side) const { return inputs_[index_of(side)]; }
  std::size_t record_bytes(JoinSide side) const { return layouts_[index_of(side)].record_bytes(); }
  JoinReport::Side& report_of(JoinSide side) { return report_.sides[index_of(side)]; }

  void for_partitions(const Work& work);
  WaitTimes read_build_side();
  std::unique_ptr<ProbeInput> make_probe_input(io::SequentialReader& reader);
  ProbeWants probe_wants() const;
  void count_matched();
  std::uint64_t rows_of_build_side() const;

  FixedJoinOptions options_;
  std::array<KeyLayout, kJoinSides> layouts_;
  RowLayout rows_;
  KeyLayout row_records_;
  std::array<Inputs, kJoinSides> inputs_;
  JoinSide build_ = JoinSide::r;
  JoinSide probe_ = JoinSide::s;
  std::size_t build_records_ = 0;
  HashGeometry geometry_;
  JoinReport report_;
  PhaseMeter meter_{report_, options_};

  MemoryRegion region_;
  std::span<std::byte> read_memory_, output_memory_, list_memory_, batch_memory_, table_memory_;
  std::vector<ScatterScratch> scratch_;  // one a worker
  std::optional<SlabPool> slabs_;        // of the build side
  std::optional<HashPartitions> partitions_;
  std::span<std::byte*> slab_map_;
  std::vector<RecordNumbers> numbers_;  // of the records of each partition
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<HashTable> table_;
  std::size_t running_ = 0;  // tasks of for_partitions()
  WaitTimes finish_waits_ = meter_.no_waits();
  MultisetHash output_hash_;

  Mailbox mailbox_{options_.stop};
  std::unique_ptr<io::IoService> io_;
  InFlight in_flight_;  // tasks of for_partitions(), and of reading the build side
};

HashJoining::HashJoining(const FixedJoinOptions& options)
    : options_(options),
      layouts_{KeyLayout(options.formats[0]), KeyLayout(options.formats[1])},
      rows_((check_compatible(options.formats), options.formats), options.how, options.layout),
      row_records_(rows_.row_format()) {
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    inputs_[side] = open_inputs({options.inputs[side]}, options.formats[side].record_bytes,
                                recognize_suffix(options.compressed_by_suffix));
    report_.plan.sides[side].input_bytes = inputs_[side].bytes;
    report_.plan.sides[side].size_known = inputs_[side].size_known;
    report_.plan.sides[side].presorted = options.presorted[side];
  }
  JoinPlan& plan = report_.plan;
  plan.method = JoinMethod::hash;
  plan.memory_bytes = options.memory_bytes;
  plan.output_bytes = rows_.row_bytes();
}

HashPlanInput HashJoining::plan_input(JoinSide build) const {
  HashPlanInput plan;
  plan.memory_bytes = memory_beside_decoders(options_.memory_bytes, {&inputs_[0], &inputs_[1]}) -
                      output_packing_bytes(options_);
  plan.threads = options_.thread_count();
  plan.build_records = input(build).bytes / record_bytes(build);
  plan.build_record_bytes = record_bytes(build);
  plan.probe_record_bytes = record_bytes(other(build));
  plan.row_bytes = rows_.row_bytes();
  if (input(other(build)).size_known) plan.probe_bytes = input(other(build)).bytes;
  return plan;
}

bool HashJoining::plan() {
  std::string& reason = report_.plan.because;
  if (options_.acceleration == Acceleration::always) {
    reason = "accelerators do not join by a table";
    return false;
  }
  bool r_known = input(JoinSide::r).size_known, s_known = input(JoinSide::s).size_known;
  // Files of size 0 are usually empty, except those of /proc.
  if (!r_known && !s_known) {
    r_known = says_empty(input(JoinSide::r).files.front());
    s_known = says_empty(input(JoinSide::s).files.front());
  }
  if (!r_known && !s_known) {
    reason = "the size of neither input is known";
    return false;
  }
  const auto table_bytes = [&](JoinSide side) {
    const std::uint64_t records = input(side).bytes / record_bytes(side);
    return input(side).bytes + HashTable::memory_bytes({records, records});
  };
  if (r_known && s_known) {
    build_ = table_bytes(JoinSide::s) < table_bytes(JoinSide::r) ? JoinSide::s : JoinSide::r;
  } else {
    build_ = r_known ? JoinSide::r : JoinSide::s;
  }
  probe_ = other(build_);
  report_.plan.build = build_;
  const HashPlanInput plan = plan_input(build_);
  const auto geometry = plan_hash_geometry(plan);
  if (!geometry) {
    const auto least = least_hash_memory(plan);
    reason = std::string("a table of ") + side_name(build_) + " (" +
             format_bytes(input(build_).bytes) + ") " +
             (least ? "does not fit: " + memory_advice(least) : "has too many records");
    return false;
  }
  geometry_ = *geometry;
  build_records_ = static_cast<std::size_t>(plan.build_records);
  report_.plan.threads = geometry_.threads;
  report_.plan.table_bytes = geometry_.records_bytes + geometry_.table_bytes;
  reason = std::string("a table of ") + side_name(build_) + " takes " +
           format_bytes(report_.plan.table_bytes) + " of memory";
  return true;
}

void HashJoining::open() {
  if (!options_.count_only) output_ = std::make_unique<Output>(options_, 0);
  workers_ = std::make_unique<Workers>(geometry_.threads);
  region_ = MemoryRegion(geometry_.region_bytes);
  Carver carver(region_.span());
  read_memory_ = carver.take(geometry_.read_bytes);
  output_memory_ = carver.take(geometry_.output_bytes);
  list_memory_ = carver.take(geometry_.lists * geometry_.list_matches * sizeof(HashMatch));
  for (unsigned thread = 0; thread < geometry_.threads; ++thread) {
    scratch_.push_back(ScatterScratch::carve(carver.take(geometry_.scatter_bytes),
                                             geometry_.scatter_records,
                                             geometry_.table.partitions));
  }
  batch_memory_ = carver.take(geometry_.batch_bytes);
  slabs_.emplace(carver.take(geometry_.records_bytes), record_bytes(build_)
                                                           << geometry_.slab_shift);
  const auto map = carver.take(geometry_.slabs * sizeof(std::byte*));
  slab_map_ = {reinterpret_cast<std::byte**>(map.data()), geometry_.slabs};
  table_memory_ = carver.take(geometry_.table_bytes);
  io_ = open_io(options_, region_.span().first(read_memory_.size() + output_memory_.size()));
  report_.plan.backend = io_->backend_name();
  meter_.watch(*io_, *workers_);
}

// Has the workers do `work` with the numbers of each partition, and waits for them. `work` may
// refer only to members: when this throws, it may still be running.
void HashJoining::for_partitions(const Work& work) {
  const auto shared = std::make_shared<const Work>(work);
  for (std::size_t partition = 0; partition < numbers_.size(); ++partition) {
    ++running_;
    run_task(*workers_, mailbox_, in_flight_, [this, shared, partition](unsigned) {
      if (!options_.stop.stop_requested()) (*shared)(partition, numbers_[partition]);
      mailbox_.post([this] { --running_; });
    });
  }
  while (running_ > 0) mailbox_.wait_and_run();
}

void HashJoining::form() {
  meter_.begin(Phase::building_table, input(build_).bytes);
  table_ = std::make_unique<HashTable>(layouts_[index_of(build_)], layouts_[index_of(probe_)],
                                       RecordSlabs{slab_map_.data(), geometry_.slab_shift},
                                       geometry_.table, table_memory_);
  partitions_.emplace(*table_, layouts_[index_of(build_)], *slabs_);
  const WaitTimes waits = read_build_side();
  numbers_ = partitions_->number(slab_map_);
  for_partitions([this](std::size_t partition, const RecordNumbers& numbers) {
    table_->build(partition, numbers);
  });
  report_of(build_).records = build_records_;
  meter_.end("build", waits);
}

// Copies the records to their partitions.
WaitTimes HashJoining::read_build_side() {
  const std::size_t record_bytes = this->record_bytes(build_);
  io::SequentialReader reader(inputs_[index_of(build_)].files, record_bytes,
                              geometry_.read_block_bytes, read_memory_, *io_, mailbox_);
  WaitTimes waits = meter_.no_waits();
  std::size_t read = 0;
  std::size_t under_way = 0;
  Ticket tickets{};
  // The tasks use the reader's buffers, which outlive it; their messages use it, and are run here
  // or never.
  for (;;) {
    reader.pump();
    while (const auto block = reader.next()) {
      // The table is sized for the records that were there: what was added to the file since is not
      // read.
      const std::size_t count =
          std::min(block->records.size() / record_bytes, build_records_ - read);
      ++under_way;
      run_task(
          *workers_, mailbox_, in_flight_,
          [this, &reader, &under_way, block = *block, count, ticket = tickets++](unsigned thread) {
            partitions_->distribute(ticket, {block.records.data(), count}, scratch_[thread]);
            mailbox_.post([this, &reader, &under_way, block] {
              --under_way;
              meter_.advance(block.records.size());
              reader.release(block);
            });
          });
      read += count;
      reader.pump();
    }
    if (reader.finished() && under_way == 0) break;
    const bool idle = under_way == 0;
    const auto start = Clock::now();
    mailbox_.wait_and_run();
    if (idle) waits.add_read(start);
  }
  XXL_CHECK(read == build_records_);
  return waits;
}

void HashJoining::merge() {
  meter_.begin(Phase::probing, input(probe_).size_known ? input(probe_).bytes : 0);
  io::BufferPool output_blocks(output_memory_, geometry_.output_block_bytes);
  std::unique_ptr<BlockSink> sink;
  std::unique_ptr<OutputStage> stage;
  if (output_ != nullptr) {
    sink = output_->make_record_sink(row_records_.record_bytes(), geometry_.output_block_bytes,
                                     geometry_.threads, output_blocks, *io_, mailbox_);
    stage =
        std::make_unique<OutputStage>(row_records_, OutputRules{}, output_blocks, *sink, mailbox_);
  }
  io::SequentialReader reader(inputs_[index_of(probe_)].files, record_bytes(probe_),
                              geometry_.read_block_bytes, read_memory_, *io_, mailbox_);
  const HashSides sides{build_, table_.get(), record_bytes(probe_)};
  const std::span lists(reinterpret_cast<HashMatch*>(list_memory_.data()),
                        list_memory_.size() / sizeof(HashMatch));
  HashProbe probe({*table_, sides, rows_, *workers_, mailbox_, meter_, stage.get(), lists,
                   geometry_.list_matches});
  const auto probe_input = make_probe_input(reader);
  const WaitTimes waits = probe.probe(*probe_input, probe_wants());
  report_of(probe_).records = probe.probed();
  report_of(probe_).matched = probe.matched();
  report_.rows = probe.rows();
  meter_.end("probe", waits);

  meter_.begin(Phase::finishing, 0);
  count_matched();
  const std::uint64_t rest = rows_of_build_side();
  report_.rows += rest;
  if (stage == nullptr) return;
  if (rest > 0) {
    finish_waits_ = probe.write_build_side(options_.how == JoinKind::semi, numbers_);
  }
  stage->finish();
  const auto start = Clock::now();
  while (sink->pending() > 0) mailbox_.wait_and_run();
  sink->finish();
  finish_waits_.add_write(start);
  output_hash_ = stage->hash();
}

std::unique_ptr<ProbeInput> HashJoining::make_probe_input(io::SequentialReader& reader) {
  if (geometry_.batch_bytes == 0) {
    return std::make_unique<ProbeBlocks>(reader, record_bytes(probe_), meter_);
  }
  return std::make_unique<ProbeBatches>(ProbeBatches::Context{
      reader, *table_, layouts_[index_of(probe_)], batch_memory_, geometry_.batch_slab_bytes,
      geometry_.batch_records, scratch_, *workers_, mailbox_, meter_});
}

// Which rows are made while the other side streams past the table.
ProbeWants HashJoining::probe_wants() const {
  const JoinKind kind = options_.how;
  const bool is_r = probe_ == JoinSide::r;
  ProbeWants wants;
  wants.pairs = keeps_pairs(kind);
  wants.unmatched = is_r ? keeps_unmatched_r(kind) : keeps_unmatched_s(kind);
  wants.matched = is_r && kind == JoinKind::semi;
  return wants;
}

// Counts the records of the table that have been matched.
void HashJoining::count_matched() {
  for_partitions([this](std::size_t, const RecordNumbers& numbers) {
    const std::uint64_t matched = table_->matched(numbers);
    mailbox_.post([this, matched] { report_of(build_).matched += matched; });
  });
}

// Rows of records of the table alone: known when the other side has been read.
std::uint64_t HashJoining::rows_of_build_side() const {
  const JoinKind kind = options_.how;
  const bool is_r = build_ == JoinSide::r;
  const std::uint64_t matched = report_.sides[index_of(build_)].matched;
  if (is_r && kind == JoinKind::semi) return matched;
  return (is_r ? keeps_unmatched_r(kind) : keeps_unmatched_s(kind)) ? build_records_ - matched : 0;
}

void HashJoining::check() {
  const std::uint64_t probed = report_of(probe_).records;
  const std::uint64_t expected = input(probe_).records(record_bytes(probe_)).value_or(probed);
  const bool all_written = output_ == nullptr || output_hash_.records == report_.rows;
  if (probed != expected || !all_written) {
    throw Error(ErrorCode::corrupt,
                "the join lost count (" + std::to_string(probed) + " of " +
                    std::to_string(expected) + " records, " + std::to_string(output_hash_.records) +
                    " of " + std::to_string(report_.rows) +
                    " rows): its output was discarded; check this machine's memory");
  }
}

void HashJoining::publish() {
  if (output_ != nullptr) {
    report_.bytes_written = report_.rows * rows_.row_bytes();
    report_.checksum = output_hash_.sum;
    output_->publish(report_.bytes_written, *io_, meter_, finish_waits_);
    report_.output_in_place = output_->in_place();
  } else {
    meter_.end("finish", finish_waits_);
  }
  meter_.finish(nullptr);
}

}  // namespace

std::optional<JoinPlan> plan_hash_join(const FixedJoinOptions& options, std::string& reason) {
  HashJoining joining(options);
  const bool possible = joining.plan();
  reason = joining.join_plan().because;
  if (!possible) return std::nullopt;
  JoinPlan plan = joining.join_plan();
  plan.backend = backend_name(options);
  return plan;
}

JoinReport hash_join(const FixedJoinOptions& options) {
  HashJoining joining(options);
  if (!joining.plan()) {
    throw Error(ErrorCode::usage, "cannot join by hash: " + joining.join_plan().because);
  }
  return run_steps(joining);
}

}  // namespace xxl
