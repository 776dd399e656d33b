#include "mpi/mpi_columns.h"

#include <algorithm>
#include <cstdint>
#include <memory>
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
#include "sort/column_order.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

using module_table::Format;

// One sort. What is under way at a failure is not waited for before peers are told: it is all in
// here.
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

  ClusterReport run();

 private:
  void open();
  void sort();
  void write();

  const ParsedOptions& options_;
  const JobOptions& job_;
  Peers& peers_;
  const std::string record_;
  const Format format_;
  const ColumnCompression compression_;
  std::optional<ColumnSource> source_;
  column_sort_options sort_;
  std::optional<RankColumns> target_;
  ColumnFileMemory memory_;
  ClusterText cluster_;
  SortReport sorted_;
  OwnedStream rows_;
  std::uint64_t written_rows_ = 0;
};

ClusterReport ColumnsOfRank::run() {
  open();
  sort();
  write();
  ClusterReport report = cluster_.report(sorted_, sorted_.runs);
  report.records = written_rows_;
  return report;
}

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

void ColumnsOfRank::open() {
  refuse_options_of_others(options_, Scope::columns);
  const std::vector<ColumnKeyOption> keys = column_key_options(options_);
  if (!is_rank_directory(job_, peers_)) {
    throw Error(ErrorCode::usage,
                "several ranks write columns to a directory only: give its name with a slash",
                job_.output);
  }
  const RankPaths inputs(options_.operands(), peers_.rank());
  source_.emplace(format_, expand_inputs(inputs.paths, format_), job_.parallel);
  if (!inputs.are_of_rank) check_same(source_->facts(), peers_);
  sort_ = column_sort_option(options_, keys, *source_);
  if (!inputs.are_of_rank) source_->take_share({peers_.rank(), peers_.ranks()});
  target_.emplace(job_, "." + record_, peers_);
  memory_ = plan_column_memory(job_.memory_bytes, source_->facts().reading_bytes, format_, false);
}

void ColumnsOfRank::sort() {
  const resources shared({.memory_bytes = memory_.engine_bytes,
                          .scratch_dirs = job_.scratch_dirs,
                          .threads = job_.parallel,
                          .backend = job_.backend,
                          .scratch_codec = job_.temp_codec,
                          .scratch_level = job_.temp_level,
                          .device = Device::cpu});
  load_arrow_module().limit_memory(memory_.module_bytes);
  cluster_.state_memory(job_.memory_bytes);
  OwnedStream in;
  source_->start(memory_.batches, &in);
  try {
    cluster_sort_columns(&in, &rows_, sort_, shared, cluster_, peers_, sorted_);
  } catch (...) {
    source_->rethrow();  // it says more
    throw;
  }
  load_arrow_module().limit_memory(0);  // writing looks after itself
}

void ColumnsOfRank::write() {
  const auto order = sorted_by(sort_);
  module_table::TargetOptions target{};
  target.format = format_;
  target.compression = compression_.method.c_str();
  target.level = compression_.level;
  target.sorted_by = order.data();
  target.sorted_by_count = order.size();
  target.memory_bytes = memory_.writing_bytes;
  target.row_group_rows = kRowGroupRows;
  target.threads = job_.parallel;
  target.parts.parts = 1;
  written_rows_ = target_->write(target, &rows_).rows;
  rows_.end();  // its memory and scratch space
  const module_table::SourceFacts facts = source_->facts();
  check_rows_read(facts);
  if (facts.rows_read != sorted_.records_in || written_rows_ != sorted_.records_out) {
    throw Error(ErrorCode::corrupt, std::to_string(sorted_.records_in) + " rows were sorted of " +
                                        std::to_string(facts.rows_read) + " that were read, " +
                                        std::to_string(written_rows_) + " were written of " +
                                        std::to_string(sorted_.records_out));
  }
  target_->publish();
}

}  // namespace

ClusterReport sort_columns(const ParsedOptions& options, const JobOptions& job, Peers& peers) {
  ColumnsOfRank rank(options, job, peers);
  return work_of_rank(peers, [&] { return rank.run(); });
}

}  // namespace xxl::cli
