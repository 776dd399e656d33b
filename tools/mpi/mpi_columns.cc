#include "mpi/mpi_columns.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/cluster_general.h"
#include "cluster/input_share.h"
#include "cluster/message.h"
#include "cluster/rank_directory.h"
#include "columns/cluster_columns.h"
#include "columns/files/column_source.h"
#include "columns/rank_columns.h"
#include "join/join_shared.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

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

// The job with a single part: the rows that the rank gets.
JobOptions one_part(JobOptions job) {
  job.parts = 1;
  return job;
}

// One sort or join. What is under way at a failure is not waited for before peers are told: it is
// all in here.
class ColumnsOfRank {
 public:
  ColumnsOfRank(const ParsedOptions& options, const JobOptions& job, Peers& peers)
      : options_(options),
        job_(job),
        peers_(peers),
        counts_(options.has("count")),
        columns_(options, one_part(job), counts_),
        cluster_(peers) {}

  ClusterReport sort();
  ClusterReport join(const JoinArguments& arguments);

 private:
  void check_output() const;
  ColumnSource& open(const std::vector<std::string>& names);
  ClusterReport run(const std::vector<module_table::SortedBy>& sorted_by,
                    const ColumnsJob::Begin& begin);
  void check_rows(std::uint64_t read, std::uint64_t given) const;

  const ParsedOptions& options_;
  const JobOptions& job_;
  Peers& peers_;
  const bool counts_;
  ColumnsJob columns_;
  std::vector<ColumnSource*> cut_;  // those that ranks have shares of
  column_sort_options sort_;
  column_join_options join_;
  ClusterGeneral cluster_;
  SortReport done_;
  OwnedStream rows_;
};

void ColumnsOfRank::check_output() const {
  if (is_rank_directory(job_, peers_)) return;
  throw Error(ErrorCode::usage,
              "several ranks write columns to a directory only: give its name with a slash",
              job_.output);
}

ColumnSource& ColumnsOfRank::open(const std::vector<std::string>& names) {
  const RankPaths inputs(names, peers_.rank());
  ColumnSource& source = columns_.open(inputs.paths);
  if (inputs.are_of_rank) return source;
  check_same(source.facts(), peers_);
  cut_.push_back(&source);
  return source;
}

// Writes or counts the rows that `begin` makes of the shares of all inputs.
ClusterReport ColumnsOfRank::run(const std::vector<module_table::SortedBy>& sorted_by,
                                 const ColumnsJob::Begin& begin) {
  if (!counts_) {
    columns_.write_to(std::make_unique<RankColumns>(job_, peers_));
  }
  for (ColumnSource* const each : cut_) each->take_share({peers_.rank(), peers_.ranks()});
  columns_.make_plan();
  cluster_.state_memory(job_.memory_bytes);
  const ColumnsJob::Result result{
      .sorted_by = sorted_by, .check = [this](auto read, auto given) { check_rows(read, given); }};
  columns_.give_rows(result, begin, rows_);
  const std::uint64_t rows = columns_.finish(result);
  ClusterReport report = cluster_.report(done_, done_.runs);
  report.records = rows;
  if (!report.phases.empty()) columns_.extend(report.phases.back());
  return report;
}

void ColumnsOfRank::check_rows(std::uint64_t read, std::uint64_t given) const {
  if (read == done_.records_in && given == done_.records_out) return;
  throw Error(ErrorCode::corrupt, std::to_string(done_.records_in) + " rows were sorted of " +
                                      std::to_string(read) + " that were read, " +
                                      std::to_string(given) + " were given of " +
                                      std::to_string(done_.records_out));
}

ClusterReport ColumnsOfRank::sort() {
  refuse_options_of_others(options_, Scope::columns);
  const std::vector<CsvKey> keys = column_key_options(options_);
  check_output();
  sort_ = column_sort_option(options_, keys, open(options_.operands()));
  sort_.file_traffic = columns_.file_traffic();
  return run(sorted_by(sort_), [&](auto& in, ArrowArrayStream* out, const resources& shared) {
    cluster_sort_columns(&in[0], out, sort_, shared, cluster_, peers_, done_);
  });
}

ClusterReport ColumnsOfRank::join(const JoinArguments& arguments) {
  join_ = column_join_option(arguments);
  if (!counts_) check_output();
  const std::size_t first = swaps_sides(options_) ? 1 : 0;
  const ColumnSource& left = open({arguments.files[first]});
  set_key_columns(arguments, left, open({arguments.files[1 - first]}), join_);
  join_.file_traffic = columns_.file_traffic();
  return run(sorted_by(join_), [&](auto& in, ArrowArrayStream* out, const resources& shared) {
    cluster_join_columns(&in[0], &in[1], out, join_, shared, cluster_, peers_, done_);
  });
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
