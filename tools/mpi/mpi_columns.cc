#include "mpi/mpi_columns.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "columns/cluster_columns.h"
#include "columns/files/column_source.h"
#include "columns/files/input_names.h"
#include "columns/files/load_module.h"
#include "columns/files/memory_plan.h"
#include "columns/rank_columns.h"
#include "engine/cluster/cluster_text.h"
#include "engine/cluster/input_share.h"
#include "engine/cluster/message.h"
#include "engine/cluster/rank_directory.h"
#include "engine/part_directory.h"
#include "engine/phase_meter.h"
#include "join/join_shared.h"
#include "sort/column_order.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

using module_table::Format;

// One sort or join. What is under way at a failure is not waited for before peers are told: it is
// all in here.
class ColumnsOfRank {
 public:
  ColumnsOfRank(const ParsedOptions& options, const JobOptions& job, Peers& peers)
      : options_(options),
        job_(job),
        peers_(peers),
        record_(options.value("record", "")),
        format_(column_format(record_)),
        compression_(compression_option(options, format_)),
        cluster_(peers) {}

  ClusterReport sort();
  ClusterReport join(const JoinArguments& arguments);

 private:
  using Inputs = std::array<OwnedStream, kJoinSides>;

  void check_output() const;
  ColumnSource& open(const std::vector<std::string>& names);
  template <class Begin>
  void begin(Begin&& begin);
  void write(const std::vector<module_table::SortedBy>& sorted_by);
  void check_rows() const;
  FileTraffic all_traffic() const;
  ClusterReport report() const;

  const ParsedOptions& options_;
  const JobOptions& job_;
  Peers& peers_;
  const std::string record_;
  const Format format_;
  const ColumnCompression compression_;
  std::deque<ColumnSource> sources_;
  std::vector<ColumnSource*> cut_;  // of these, those that ranks have shares of
  column_sort_options sort_;
  column_join_options join_;
  std::optional<RankColumns> target_;
  ColumnFileMemory memory_;
  ClusterText cluster_;
  SortReport done_;
  OutsideTraffic traffic_{[this] { return all_traffic(); }};
  OwnedStream rows_;
  std::uint64_t given_rows_ = 0;  // counted or written
};

// Throws Error unless all ranks have found the same files.
void check_same(const module_table::SourceFacts& facts, Peers& peers) {
  struct Sizes {
    std::uint64_t rows, bytes;
  };
  const Sizes first = gather(peers, Sizes{facts.rows, facts.file_bytes}).front();
  if (facts.rows == first.rows && facts.file_bytes == first.bytes) return;
  throw Error(ErrorCode::bad_input, "rank " + std::to_string(peers.rank()) +
                                        " has found other files than rank 0: give files that all "
                                        "ranks see");
}

void ColumnsOfRank::check_output() const {
  if (is_rank_directory(job_, peers_)) return;
  throw Error(ErrorCode::usage,
              "several ranks write columns to a directory only: give its name with a slash",
              job_.output);
}

ColumnSource& ColumnsOfRank::open(const std::vector<std::string>& names) {
  const RankPaths inputs(names, peers_.rank());
  load_arrow_module().limit_memory(memory_for_metadata(job_.memory_bytes));
  check_parts(inputs.paths);
  ColumnSource& source =
      sources_.emplace_back(format_, expand_inputs(inputs.paths, format_), job_.parallel);
  if (inputs.are_of_rank) return source;
  check_same(source.facts(), peers_);
  cut_.push_back(&source);
  return source;
}

// Calls begin(in, shared), which makes `rows_` of the streams `in`: of the shares of all inputs.
template <class Begin>
void ColumnsOfRank::begin(Begin&& begin) {
  for (ColumnSource* const each : cut_) each->take_share({peers_.rank(), peers_.ranks()});
  std::vector<module_table::SourceFacts> facts;
  for (const ColumnSource& each : sources_) facts.push_back(each.facts());
  memory_ = plan_column_memory(job_.memory_bytes, format_, facts);
  const resources shared = resources_of_columns(job_, memory_.engine_bytes, job_.parallel);
  load_arrow_module().limit_memory(memory_.module_bytes);
  cluster_.state_memory(job_.memory_bytes);
  Inputs in;
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i].start(memory_.batches, &in[i]);
  try {
    begin(in, shared);
  } catch (...) {
    std::vector<ColumnSource*> sources;
    for (ColumnSource& each : sources_) sources.push_back(&each);
    rethrow_failure(job_.memory_bytes, format_, sources);  // it says more
    throw;
  }
  load_arrow_module().limit_memory(0);  // writing looks after itself
}

void ColumnsOfRank::write(const std::vector<module_table::SortedBy>& sorted_by) {
  module_table::TargetOptions target{};
  target.format = format_;
  target.compression = compression_.method.c_str();
  target.level = compression_.level;
  target.sorted_by = sorted_by.data();
  target.sorted_by_count = sorted_by.size();
  target.memory_bytes = memory_.writing_bytes;
  target.row_group_rows = kRowGroupRows;
  target.threads = job_.parallel;
  target.parts.parts = 1;
  given_rows_ = target_->write(target, &rows_).rows;
  check_rows();
  target_->publish(nullptr);
}

void ColumnsOfRank::check_rows() const {
  std::uint64_t read = 0;
  for (const ColumnSource& each : sources_) {
    check_rows_read(each.facts());
    read += each.facts().rows_read;
  }
  if (read == done_.records_in && given_rows_ == done_.records_out) return;
  throw Error(ErrorCode::corrupt, std::to_string(done_.records_in) + " rows were sorted of " +
                                      std::to_string(read) + " that were read, " +
                                      std::to_string(given_rows_) + " were given of " +
                                      std::to_string(done_.records_out));
}

FileTraffic ColumnsOfRank::all_traffic() const {
  FileTraffic traffic;
  for (const ColumnSource& each : sources_) traffic.read += each.facts().bytes_read;
  if (target_) traffic.written = target_->bytes_written();
  return traffic;
}

ClusterReport ColumnsOfRank::report() const {
  ClusterReport report = cluster_.report(done_, done_.runs);
  report.records = given_rows_;
  if (!report.phases.empty()) traffic_.extend(report.phases.back());
  return report;
}

ClusterReport ColumnsOfRank::sort() {
  refuse_options_of_others(options_, Scope::columns);
  const std::vector<ColumnKeyOption> keys = column_key_options(options_);
  check_output();
  sort_ = column_sort_option(options_, keys, open(options_.operands()));
  target_.emplace(job_, "." + record_, peers_);
  sort_.file_traffic = [this] { return traffic_.tell(); };
  begin([&](Inputs& in, const resources& shared) {
    cluster_sort_columns(&in[0], &rows_, sort_, shared, cluster_, peers_, done_);
  });
  write(sorted_by(sort_));
  return report();
}

ClusterReport ColumnsOfRank::join(const JoinArguments& arguments) {
  const bool counts = options_.has("count");
  join_ = column_join_option(arguments);
  if (!counts) check_output();
  const ColumnSource& r = open({arguments.files[0]});
  set_key_columns(options_, r, open({arguments.files[1]}), join_);
  if (!counts) target_.emplace(job_, "." + record_, peers_);
  join_.file_traffic = [this] { return traffic_.tell(); };
  begin([&](Inputs& in, const resources& shared) {
    cluster_join_columns(&in[0], &in[1], &rows_, join_, shared, cluster_, peers_, done_);
  });
  if (counts) {
    given_rows_ = count_rows(&rows_);
    check_rows();
  } else {
    write(sorted_by(join_));
  }
  return report();
}

}  // namespace

ClusterReport sort_columns(const ParsedOptions& options, const JobOptions& job, Peers& peers) {
  ColumnsOfRank rank(options, job, peers);
  return work_of_rank(peers, [&] { return rank.sort(); });
}

ClusterReport join_columns(const JoinArguments& arguments, const JobOptions& job, Peers& peers) {
  ColumnsOfRank rank(arguments.options, job, peers);
  return work_of_rank(peers, [&] { return rank.join(arguments); });
}

}  // namespace xxl::cli
