// Joins of tables: rows of both become records (columns/row_format.h) of a join of any length, and
// what it gives becomes batches.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/of_process.h"
#include "callers/join_core.h"
#include "callers/shared_resources.h"
#include "columns/cluster_columns.h"
#include "columns/column_builder.h"
#include "columns/column_memory.h"
#include "columns/column_stream.h"
#include "columns/join_meter.h"
#include "columns/joined_rows.h"
#include "columns/joined_tables.h"
#include "columns/joined_type.h"
#include "columns/probed_rows.h"
#include "columns/row_blocks.h"
#include "columns/row_format.h"
#include "columns/row_table.h"
#include "columns/shared_dictionaries.h"
#include "xxl/columns.h"
#include "xxl/room.h"

namespace xxl {
namespace {

template <class T>
using Sides = std::array<T, kJoinSides>;

// Rows of a sort-merge join, as callers/join_core.h has them.
//
// The input of the join ends when the first row is asked for, and with it what other ranks may wait
// for: until then it can be ended by itself.
class MergedRows final : public JoinedRowSource {
 public:
  using Ended = std::function<void(const SortReport& report)>;

  // `room`: of `join`, with what is put last. `ended` is called at the end.
  MergedRows(std::unique_ptr<JoinedTables> tables, std::unique_ptr<detail::JoinCore> join,
             detail::Room room, Ended ended)
      : tables_(std::move(tables)),
        join_(std::move(join)),
        room_(std::move(room)),
        ended_(std::move(ended)),
        rows_([this] { return next_bytes(); }) {}
  ~MergedRows() override { leave_to_parent(join_); }

  void next(std::size_t most, std::uint64_t /*most_bytes*/, JoinedRows& rows) override {
    const auto read = rows_.read(most);
    for (const RowBlocks::Row row : read) add(row, rows);
    if (read.empty()) ended_(join_->report());
  }

 private:
  std::span<const std::byte> next_bytes() {
    if (!std::exchange(has_ended_, true)) join_->end(room_.close());
    return join_->next();
  }

  void add(RowBlocks::Row row, JoinedRows& rows) const {
    const std::byte sides = row[0];
    const std::byte* at = row.data() + 1;
    const auto count = [&at] {
      RecordCount bytes;
      std::memcpy(&bytes, at, sizeof(bytes));
      at += sizeof(bytes);
      return bytes;
    };
    const RecordCount key_bytes = count();
    const std::string_view key(reinterpret_cast<const char*>(at), key_bytes);
    at += key_bytes;
    const RecordCount r_bytes = count();
    const bool has_r = (sides & detail::JoinCore::kHasR) != std::byte{0};
    const bool has_s = (sides & detail::JoinCore::kHasS) != std::byte{0};
    rows.add(key, has_r ? at : tables_->formats[0].no_row(),
             has_s ? at + r_bytes : tables_->formats[1].no_row(), row.size());
  }

  const std::unique_ptr<JoinedTables> tables_;
  std::unique_ptr<detail::JoinCore> join_;
  detail::Room room_;
  const Ended ended_;
  bool has_ended_ = false;  // its input
  RowBlocks rows_;
};

// Joined rows as batches.
class JoinedBatches final : public BatchSource {
 public:
  // `formats` are of `rows`.
  JoinedBatches(JoinedColumns columns, const Sides<RowFormat>& formats, std::uint64_t output_bytes,
                std::uint64_t batch_rows, std::unique_ptr<JoinedRowSource> rows)
      : type_(std::move(columns.type)),
        has_s_(columns.has_s),
        dictionaries_(type_, columns.dictionaries.tables, std::move(columns.dictionaries.places)),
        output_bytes_(output_bytes),
        batch_rows_(std::max<std::uint64_t>(1, batch_rows)),
        builder_(type_, &dictionaries_),
        readers_{RowReader(formats[0]), RowReader(formats[1])},
        source_(std::move(rows)) {
    for (const std::size_t column : columns.keys) keys_.push_back(&builder_.child(column));
    for (std::size_t side = 0; side < kJoinSides; ++side) {
      for (const std::size_t column : columns.values[side]) {
        values_[side].push_back(&builder_.child(column));
      }
    }
  }

  const ColumnType& type() const override { return type_; }

  bool next(ArrowArray* array) override {
    if (PassedRows passed; source_->pass(batch_rows_, output_bytes_, passed)) {
      pass(passed, array);
      return true;
    }
    std::uint64_t count = 0, bytes = 0;
    while (count < batch_rows_ && bytes < output_bytes_) {
      rows_.clear();
      source_->next(std::min<std::uint64_t>(RowWriter::kRowsAtOnce, batch_rows_ - count),
                    output_bytes_ - bytes, rows_);
      if (rows_.size() == 0) break;
      readers_[0].read_keys(rows_.keys, rows_.key_ends, keys_);
      readers_[0].read_values(rows_.values[0], values_[0]);
      if (has_s_) readers_[1].read_values(rows_.values[1], values_[1]);
      count += rows_.size();
      bytes += rows_.bytes;
    }
    if (count == 0) return false;
    builder_.finish_table(count, array);
    return true;
  }

 private:
  // The left table's columns as they are, beside those of the right one.
  void pass(const PassedRows& passed, ArrowArray* array) {
    const std::span<const std::byte* const> values(passed.values);
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < passed.view->children.size(); ++i) {
      builder_.child(i).share(passed.batch, *passed.batch->children[i],
                              passed.view->children[i].offset + passed.first, count);
    }
    for (std::size_t i = 0; i < count; i += RowWriter::kRowsAtOnce) {
      readers_[1].read_values(values.subspan(i, std::min(RowWriter::kRowsAtOnce, count - i)),
                              values_[1]);
    }
    builder_.finish_table(count, array);
  }

  const ColumnType type_;
  const bool has_s_;
  const Dictionaries dictionaries_;
  const std::uint64_t output_bytes_;
  const std::uint64_t batch_rows_;
  ColumnBuilder builder_;
  Sides<RowReader> readers_;
  std::vector<ColumnBuilder*> keys_;
  Sides<std::vector<ColumnBuilder*>> values_;
  JoinedRows rows_;
  std::unique_ptr<JoinedRowSource> source_;
};

// Of the memory of the engine, what a table may take: where it does not fit, this has been filled
// when the sort begins, which takes it over bit by bit.
constexpr std::uint64_t kTablePart = 2;

// One join, until its first row.
class Joining {
 public:
  // `rank`: null if it is the only one.
  Joining(ArrowArrayStream* left, ArrowArrayStream* right, const column_join_options& options,
          const resources& shared, const JobOfRank* rank = nullptr)
      : options_(options),
        shared_(shared),
        rank_(rank),
        tables_(std::make_unique<JoinedTables>(left, right, options, shared, peers())),
        output_bytes_(tables_->left_rows.memory().output_bytes),
        meter_(std::make_unique<JoinMeter>(options)),
        file_traffic_(options.file_traffic) {
    if (shared.options().device == Device::gpu) {
      throw Error(ErrorCode::device, "tables are joined on processors");
    }
    if (!may_hash()) return;
    meter_->begin(Phase::building_table);
    grant_ = std::make_unique<detail::Grant>(shared, engine_bytes());
    table_ = std::make_unique<RowTable>(engine_bytes() / kTablePart);
  }

  std::unique_ptr<BatchSource> run() {
    tables_->right_rows.push([this](std::span<const std::byte> records) { put_right(records); });
    tables_->right.close();
    if (options_.used_method != nullptr) {
      *options_.used_method = table_ != nullptr ? JoinMethod::hash : JoinMethod::sort_merge;
    }
    if (table_ != nullptr) return probed();
    sort();
    sort_->end(room_.close());
    tables_->left_rows.push([this](std::span<const std::byte> records) { put(records); });
    tables_->left.close();
    const JoinedTables& tables = *tables_;
    JoinedColumns columns = joined_columns();
    return batches(std::move(columns), tables,
                   std::make_unique<MergedRows>(std::move(tables_), std::move(sort_),
                                                std::move(room_), ended()));
  }

 private:
  // Dictionaries of the left table are known when all of it has been read.
  bool may_hash() const {
    return rank_ == nullptr && options_.method != JoinMethod::sort_merge &&
           !has_dictionaries(tables_->left.type());
  }
  // The first batch of the right table is there while the left one is read.
  std::uint64_t engine_bytes() const {
    const std::uint64_t bytes = tables_->left_rows.memory().engine_bytes;
    return bytes - std::min(tables_->right_rows.memory().input_bytes, bytes / 2);
  }

  void put_right(std::span<const std::byte> records) {
    if (table_ != nullptr) {
      if (shared_.shared()->stop().stop_requested()) throw_stopped();
      meter_->advance(records.size());
      if (table_->add(records)) return;
      meter_->end("build");
      file_traffic_ = from_now(std::move(file_traffic_));
      grant_.reset();
      table_->give_back([this](std::span<const std::byte> rows) { put(rows); });
      table_.reset();
    }
    put(records);
  }

  // Begins a sort-merge join, if that has not been done.
  void sort() {
    if (sort_ != nullptr) return;
    JobOptions job;
    job.memory_bytes = engine_bytes();
    if (rank_ != nullptr) {
      for (std::size_t side = 0; side < kJoinSides; ++side) rank_->cluster.add_input();
      rank_->cluster.plan(job);
      shared_.shared()->job = &rank_->cluster;
    }
    detail::JoinSpec spec;
    spec.how = options_.how;
    spec.memory_bytes = job.memory_bytes;
    spec.progress = options_.progress;
    spec.file_traffic = file_traffic_;
    spec.matches_nothing = has_null;
    sort_ = std::make_unique<detail::JoinCore>(shared_, spec);
  }
  void put(std::span<const std::byte> records) {
    sort();
    room_.put_all(records.data(), records.size(), [this] { return sort_->room(); });
  }

  std::unique_ptr<BatchSource> probed() {
    table_->build(has_null);
    meter_->end("build");
    meter_->begin(Phase::probing);
    const JoinedTables& tables = *tables_;
    JoinedColumns columns = joined_columns();
    return batches(std::move(columns), tables,
                   std::make_unique<ProbedRows>(options_.how, std::move(tables_), std::move(table_),
                                                std::move(grant_), std::move(meter_),
                                                shared_.shared()->stop()));
  }

  JoinedColumns joined_columns() {
    return {tables_->types[0],
            tables_->types[1],
            tables_->keys,
            tables_->formats[1],
            options_.how,
            options_.suffix,
            dictionaries(tables_->types[0], tables_->left_rows),
            dictionaries(tables_->types[1], tables_->right_rows)};
  }
  MergedRows::Ended ended() {
    if (rank_ != nullptr) {
      return [&report = rank_->report](const SortReport& done) { report = done; };
    }
    return [meter = std::shared_ptr(std::move(meter_))](const SortReport& done) {
      meter->finish(done);
    };
  }
  SharedDictionaries dictionaries(const ColumnType& table, RowPusher& rows) const {
    return share_dictionaries(table, rows.take_dictionaries(), rows.memory().dictionary_bytes,
                              peers());
  }
  Peers* peers() const { return rank_ != nullptr ? &rank_->peers : nullptr; }
  std::unique_ptr<BatchSource> batches(JoinedColumns columns, const JoinedTables& tables,
                                       std::unique_ptr<JoinedRowSource> rows) const {
    return std::make_unique<JoinedBatches>(std::move(columns), tables.formats, output_bytes_,
                                           options_.batch_rows, std::move(rows));
  }

  const column_join_options& options_;
  const resources& shared_;
  const JobOfRank* const rank_;
  std::unique_ptr<JoinedTables> tables_;
  const std::uint64_t output_bytes_;
  std::unique_ptr<JoinMeter> meter_;
  std::function<FileTraffic()> file_traffic_;  // of what is measured next
  std::unique_ptr<detail::Grant> grant_;       // of the table
  std::unique_ptr<RowTable> table_;            // as long as the right table fits
  std::unique_ptr<detail::JoinCore> sort_;     // if it does not
  detail::Room room_;
};

}  // namespace

void join_columns(ArrowArrayStream* left, ArrowArrayStream* right, ArrowArrayStream* out,
                  const column_join_options& options, const resources& shared) {
  export_stream(Joining(left, right, options, shared).run(), out);
}

void cluster_join_columns(ArrowArrayStream* left, ArrowArrayStream* right, ArrowArrayStream* out,
                          const column_join_options& options, const resources& shared,
                          ClusterGeneral& cluster, Peers& peers, SortReport& report) {
  const JobOfRank rank{cluster, peers, report};
  export_stream(Joining(left, right, options, shared, &rank).run(), out);
}

}  // namespace xxl
