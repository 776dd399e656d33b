#include "job/general_sort/kept_order.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/on_stop.h"
#include "base/thread.h"
#include "io/caller_queue.h"
#include "job/general_sort/general_plan.h"
#include "job/general_sort/general_sort.h"
#include "job/general_sort/stored_records.h"
#include "job/inputs.h"
#include "job/phase_meter.h"

namespace xxl {
namespace {

using Answer = io::CallerQueue::Answer;
using Clock = std::chrono::steady_clock;

// Each of the two has half of the memory.
GeneralSortOptions half_of(const GeneralSortOptions& options) {
  GeneralSortOptions half = options;
  half.acceleration = Acceleration::never;
  half.memory_bytes = options.memory_bytes / 2;
  half.all_memory_bytes = options.memory_bytes;
  half.spare_table_bytes = options.spare_table_bytes.value_or(kSpareTableBytes) / 2;
  return half;
}

GeneralSortOptions options_by_key(const GeneralSortOptions& options) {
  GeneralSortOptions by_key = half_of(options);
  by_key.unique = true;
  by_key.skip = 0;
  by_key.limit.reset();
  by_key.tags.kind = RecordTags::Kind::place;
  by_key.writes_tags = true;
  by_key.output_as = RecordSyntax{.counted = true};
  by_key.output = "the records that are kept";
  by_key.parts = by_key.part_bytes = 0;
  return by_key;
}

GeneralSortOptions options_by_place(const GeneralSortOptions& options) {
  GeneralSortOptions by_place = half_of(options);
  by_place.unique = false;
  static_cast<RejectOptions&>(by_place) = {};
  by_place.tags.kind = RecordTags::Kind::given;
  static_cast<RecordRules&>(by_place) = {};
  by_place.output_as = options.syntax;
  by_place.syntax = RecordSyntax{.counted = true};
  return by_place;
}

// What the second sort gets if the first one keeps all of its `records`.
StoredRecords tagged(StoredRecords records) {
  records.input_bytes += records.records * (*records.tag_growth + sizeof(RecordCount));
  records.tag_growth.reset();
  return records;
}

// Of both.
SortPlan plan_of(SortPlan plan, const SortPlan& by_place, const GeneralSortOptions& options) {
  plan.memory_bytes = options.memory_bytes;
  plan.sort_memory_bytes *= 2;
  plan.passes *= 2;
  plan.scratch_bytes += by_place.scratch_bytes;
  plan.skip = options.skip;
  plan.limit = options.limit;
  return plan;
}

class KeptOrder {
 public:
  explicit KeptOrder(const GeneralSortOptions& options)
      : options_(options),
        inputs_(open_general_inputs(options.inputs, options.syntax, options.compressed_by_suffix)),
        by_key_options_(options_by_key(options)),
        by_place_options_(options_by_place(options)) {
    if (!inputs_.size_known) return;
    const StoredRecords records = sample_records(inputs_, options.syntax, by_key_options_.tags);
    by_key_options_.stored = records;
    by_place_options_.stored = tagged(records);
    by_place_options_.most_input_bytes = by_place_options_.stored->input_bytes;
  }
  SortPlan plan();
  SortReport run();

 private:
  void sort_by_key() noexcept;
  void move_records() noexcept;
  SortReport sort_by_place();
  Inputs kept_records() { return input_of_caller(kept_, "the records that are kept"); }
  SortReport report_of(SortReport by_place) const;

  const GeneralSortOptions& options_;
  Inputs inputs_;
  GeneralSortOptions by_key_options_, by_place_options_;
  const Clock::time_point start_ = Clock::now();
  io::CallerQueue found_;  // the output of the first sort
  io::CallerQueue kept_;   // the input of the second one
  std::stop_source stop_;  // of the first one
  std::optional<std::string> header_;
  std::unique_ptr<RejectsFile> rejects_;
  // Of the first sort, when found_ has been closed:
  SortReport by_key_;
  std::exception_ptr failure_;
  std::atomic<bool> by_key_failed_ = false;
};

// All of the first sort, on a thread of its own.
void KeptOrder::sort_by_key() noexcept {
  try {
    GeneralSortOptions& by_key = by_key_options_;
    by_key.rejects_file = rejects_.get();
    by_key.output_caller = &found_;
    by_key.stop = stop_.get_token();
    by_key.header_of_output = [this](std::optional<std::string> header) {
      header_ = std::move(header);
      return std::nullopt;
    };
    by_key_ = make_general_caller_sort(by_key, std::move(inputs_))->run();
  } catch (...) {
    failure_ = std::current_exception();
    by_key_failed_ = true;
  }
  found_.close();
}

// From the first sort to the second one, on a thread of its own.
void KeptOrder::move_records() noexcept {
  std::span<std::byte> room;
  std::size_t filled = 0;
  for (auto data = found_.next(); !data.empty(); data = found_.next()) {
    for (std::span<std::byte> left = data; !left.empty();) {
      if (filled == room.size()) {
        kept_.complete(std::exchange(filled, 0));
        room = kept_.next();
        if (room.empty()) {  // the second sort has failed
          found_.answer(Answer::cancelled);
          found_.complete(0);
          return;
        }
      }
      const std::size_t bytes = std::min(left.size(), room.size() - filled);
      std::memcpy(room.data() + filled, left.data(), bytes);
      filled += bytes;
      left = left.subspan(bytes);
    }
    found_.complete(data.size());
  }
  // Only when all of the first sort is known to be right does the second one go on.
  if (failure_ != nullptr) kept_.answer(Answer::cancelled);
  kept_.complete(filled);
  kept_.answer(Answer::nothing);
}

SortReport KeptOrder::sort_by_place() {
  GeneralSortOptions& by_place = by_place_options_;
  by_place.header_of_output = [this](const auto& /*none*/) { return header_; };
  by_place.check_input = [this](const MultisetHash& records) {
    check_permutation({by_key_.records_out, by_key_.checksum}, records);
    if (rejects_ != nullptr) rejects_->publish();
  };
  return make_general_caller_sort(by_place, kept_records())->run();
}

SortPlan KeptOrder::plan() {
  const SortPlan by_place = plan_general_caller_sort(by_place_options_, kept_records());
  return plan_of(plan_general_caller_sort(by_key_options_, std::move(inputs_)), by_place, options_);
}

SortReport KeptOrder::run() {
  rejects_ = make_rejects_file(options_, options_.scratch_dirs);
  OnStop on_stop;
  on_stop.set(options_.stop, [this] { stop_.request_stop(); });
  SortReport by_place;
  std::exception_ptr failure;
  bool is_first = true;  // that failure, or a consequence of the other one
  {
    Thread first, mover;
    try {
      first = Thread::start(
          "for --keep-order", [this] { sort_by_key(); }, Thread::kLargeStackBytes);
      mover = Thread::start("for --keep-order", [this] { move_records(); });
      by_place = sort_by_place();
    } catch (...) {
      failure = std::current_exception();
      is_first = !by_key_failed_;
      stop_.request_stop();
      found_.answer(Answer::cancelled);
    }
    kept_.close();
  }
  if (failure != nullptr) std::rethrow_exception(is_first ? failure : failure_);
  return report_of(std::move(by_place));
}

// One report of both. The merge of the first sort and the run formation of the second one are one
// phase.
SortReport KeptOrder::report_of(SortReport report) const {
  report.plan = plan_of(by_key_.plan, report.plan, options_);
  report.records_in = by_key_.records_in;
  static_cast<RowFaults&>(report) = by_key_;
  report.runs += by_key_.runs;
  report.merge_degree = std::max(report.merge_degree, by_key_.merge_degree);
  report.passes += by_key_.passes;
  report.seconds = seconds_since(start_);
  report.scratch_bytes += by_key_.scratch_bytes;  // all of the first is there until the end
  auto& written = report.scratch_bytes_written_per_dir;
  written.resize(std::max(written.size(), by_key_.scratch_bytes_written_per_dir.size()));
  for (std::size_t i = 0; i < by_key_.scratch_bytes_written_per_dir.size(); ++i) {
    written[i] += by_key_.scratch_bytes_written_per_dir[i];
  }
  PhaseReport both = by_key_.phases.at(1);
  const PhaseReport& forming = report.phases.at(0);
  both.name = "merge and form runs";
  both.seconds =
      std::chrono::duration<double>(forming.start - both.start).count() + forming.seconds;
  both.bytes_read += forming.bytes_read;
  both.bytes_written += forming.bytes_written;
  both.worker_busy_seconds += forming.worker_busy_seconds;
  report.phases.front() = both;
  report.phases.insert(report.phases.begin(), by_key_.phases.at(0));
  return report;
}

}  // namespace

SortReport sort_in_kept_order(const GeneralSortOptions& options) {
  return KeptOrder(options).run();
}

SortPlan plan_sort_in_kept_order(const GeneralSortOptions& options) {
  return KeptOrder(options).plan();
}

}  // namespace xxl
