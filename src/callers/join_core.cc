#include "callers/join_core.h"

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "job/join/general_join.h"
#include "job/join/join_side.h"
#include "join/join_rows.h"
#include "record/caller_keys.h"

namespace xxl::detail {
namespace {

// A record of an input.
struct KeyAndRest {
  std::string_view key;  // with its count
  std::string_view rest;
};

KeyAndRest parts_of(std::string_view record) {
  const std::size_t key = sizeof(RecordCount) + LeadingKey::key_of(record).size();
  return {record.substr(0, key), record.substr(key)};
}

class CallerRows final : public JoinRows {
 public:
  void set_r(std::string_view r) override {
    head_.clear();
    append_r(parts_of(r), JoinCore::kHasR | JoinCore::kHasS, head_);
  }
  void append_pair(std::string_view s, std::string& row) override {
    append_pair_of_part(parts_of(s).rest, row);
  }
  void append_part(std::string_view s, std::string& part) override { part += parts_of(s).rest; }
  void append_pair_of_part(std::string_view part, std::string& row) override {
    row += head_;
    row += part;
  }
  void append_alone(JoinSide side, std::string_view record, std::string& row) override {
    const KeyAndRest parts = parts_of(record);
    if (side == JoinSide::r) return append_r(parts, JoinCore::kHasR, row);
    append_r({parts.key, {}}, JoinCore::kHasS, row);
    row += parts.rest;
  }

 private:
  static void append_r(const KeyAndRest& r, std::byte sides, std::string& row) {
    row += static_cast<char>(sides);
    row += r.key;
    const auto bytes = static_cast<RecordCount>(r.rest.size());
    row.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    row += r.rest;
  }

  std::string head_;  // of all pairs of one R
};

// The join as what a caller's job does.
class CallerJoin final : public CallerSort {
 public:
  explicit CallerJoin(GeneralJoinOptions options) : options_(std::move(options)) {}

  SortReport run() override {
    join_ = make_general_join(options_,
                              {open_side(options_, JoinSide::r), open_side(options_, JoinSide::s)});
    const JoinReport joined = join_->run();
    SortReport report;
    static_cast<Measurements&>(report) = joined;
    for (const JoinReport::Side& side : joined.sides) {
      report.records_in += side.records;
      report.runs += side.runs;
    }
    report.records_out = joined.rows;
    return report;
  }
  void write_again() override { XXL_CHECK(false); }
  void stop_writing() override { XXL_CHECK(false); }

 private:
  GeneralJoinOptions options_;
  std::unique_ptr<GeneralJoin> join_;  // lasts: others may read its runs
};

GeneralJoinOptions options_of(const JoinSpec& spec, const Grant& grant, CallerJob::Inputs& inputs,
                              io::IoQueue& output, const std::stop_token& stop, SharedJob* shared) {
  GeneralJoinOptions options;
  grant.give_to(options);
  static_cast<JobMeans&>(options) = grant.means();
  options.acceleration = Acceleration::never;
  options.stop = stop;
  options.file_traffic = spec.file_traffic;
  options.compressed_by_suffix = false;
  options.output = "the rows of the join";
  options.output_caller = &output;
  options.progress = spec.progress;
  options.how = spec.how;
  options.shape = shape_of(spec.how);
  options.inputs = {"the left table", "the right table"};
  options.input_callers = {&inputs[1], &inputs[0]};
  options.s_first = true;
  options.syntax.counted = true;
  for (RecordRules& rules : options.rules) rules.keys = std::make_shared<LeadingKey>();
  options.shared = shared;
  options.make_rows = [] { return std::make_unique<CallerRows>(); };
  if (spec.matches_nothing) {
    options.matches_nothing = [matches = spec.matches_nothing](std::string_view record) {
      return matches(parts_of(record).key.substr(sizeof(RecordCount)));
    };
  }
  return options;
}

}  // namespace

JoinCore::JoinCore(const resources& shared, const JoinSpec& spec)
    : CallerJob(
          shared, spec.memory_bytes, kJoinSides,
          [&](const Grant& grant, Inputs& inputs, io::IoQueue& output,
              const std::stop_token& stop) -> std::unique_ptr<CallerSort> {
            return std::make_unique<CallerJoin>(
                options_of(spec, grant, inputs, output, stop, shared.shared()->job));
          },
          "a join") {}

}  // namespace xxl::detail
