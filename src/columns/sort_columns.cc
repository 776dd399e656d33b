// Sorts of tables: rows of batches become records (columns/row_format.h) of a sorter of any length,
// and what it gives becomes batches.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "callers/shared_resources.h"
#include "columns/cluster_columns.h"
#include "columns/column_builder.h"
#include "columns/column_memory.h"
#include "columns/column_stream.h"
#include "columns/files/column_metadata.h"
#include "columns/row_blocks.h"
#include "columns/row_format.h"
#include "columns/row_pusher.h"
#include "columns/shared_dictionaries.h"
#include "columns/shared_schema.h"
#include "record/caller_keys.h"
#include "xxl/columns.h"
#include "xxl/sorter_core.h"

namespace xxl {
namespace {

std::vector<KeyColumn> keys_of(const ColumnType& table, const std::vector<column_key>& by) {
  if (by.empty()) throw Error(ErrorCode::usage, "there is no column to sort by");
  std::vector<KeyColumn> keys;
  for (const column_key& each : by) {
    const std::size_t column = column_of(table, each.column, "the table");
    const ColumnType& type = table.children[column];
    if (const auto why = type.metadata_of(kNoOrderKey)) {
      throw Error(ErrorCode::usage, "column " + type.name + ": " + std::string(*why));
    }
    KeyColumn key = key_column(column, type);
    key.descending = each.descending;
    key.nulls_first = each.nulls_first;
    keys.push_back(key);
  }
  return keys;
}

detail::SorterSpec spec_of(const column_sort_options& options, std::uint64_t memory_bytes) {
  detail::SorterSpec spec{.length = detail::RecordLength::any_with_key};
  spec.any_length = &detail::any_length_engine();
  spec.options.unique = options.unique;
  spec.options.skip = options.skip;
  spec.options.limit = options.limit;
  spec.options.memory_bytes = memory_bytes;
  spec.options.progress = options.progress;
  spec.file_traffic = options.file_traffic;
  return spec;
}

// Rows in order as batches.
class SortedBatches final : public BatchSource {
 public:
  using Ended = std::function<void(const SortReport& report)>;

  // `ended` is called at the end.
  SortedBatches(const ColumnType& table, RowFormat format, SharedDictionaries dictionaries,
                const ColumnMemory& memory, std::uint64_t batch_rows, detail::SorterBytes rows,
                Ended ended)
      : table_(with_wide_indices(table, dictionaries.tables)),
        format_(std::move(format)),
        dictionaries_(table, dictionaries.tables, std::move(dictionaries.places)),
        memory_(memory),
        batch_rows_(std::max<std::uint64_t>(1, batch_rows)),
        ended_(std::move(ended)),
        builder_(table_, &dictionaries_),
        reader_(format_),
        sorted_(std::move(rows)),
        rows_([this] { return sorted_.next(); }) {
    for (const KeyColumn& key : format_.keys) {
      const bool is_value = !is_in_key(key, table_.children[key.column]);
      keys_.push_back(is_value ? nullptr : &builder_.child(key.column));
    }
    for (const RowFormat::Field& field : format_.fields) {
      values_.push_back(&builder_.child(field.column));
    }
  }

  const ColumnType& type() const override { return table_; }

  bool next(ArrowArray* array) override {
    std::uint64_t count = 0, bytes = 0;
    while (count < batch_rows_ && bytes < memory_.output_bytes) {
      const auto rows =
          rows_.read(std::min<std::uint64_t>(RowWriter::kRowsAtOnce, batch_rows_ - count));
      if (rows.empty()) break;
      for (const RowBlocks::Row row : rows) bytes += row.size();
      append(rows);
      count += rows.size();
    }
    if (count == 0) {
      ended_(sorted_.report());
      return false;
    }
    builder_.finish_table(count, array);
    return true;
  }

 private:
  void append(std::span<const RowBlocks::Row> rows) {
    begins_.clear();
    ends_.clear();
    for (const RowBlocks::Row row : rows) {
      const auto key = std::as_bytes(
          std::span(LeadingKey::key_of({reinterpret_cast<const char*>(row.data()), row.size()})));
      begins_.push_back(key.data());
      ends_.push_back(key.data() + key.size());
    }
    reader_.read_keys(begins_, ends_, keys_);
    reader_.read_values(ends_, values_);
  }

  const ColumnType table_;
  const RowFormat format_;
  const Dictionaries dictionaries_;
  const ColumnMemory memory_;
  const std::uint64_t batch_rows_;
  const Ended ended_;
  ColumnBuilder builder_;
  RowReader reader_;
  std::vector<ColumnBuilder*> keys_, values_;    // of format_
  std::vector<const std::byte*> begins_, ends_;  // of keys
  detail::SorterBytes sorted_;
  RowBlocks rows_;
};

// `rank`: null if the sort is the only one.
void sort(ArrowArrayStream* in, ArrowArrayStream* out, const column_sort_options& options,
          const resources& shared, const JobOfRank* rank) {
  Peers* const peers = rank != nullptr ? &rank->peers : nullptr;
  BatchReader reader(in, "the input");
  const ColumnType type = share_schema(reader.type(), peers);
  const RowFormat format = RowFormat::of_sort(type, keys_of(type, options.by));
  RowPusher pusher(reader, format,
                   {options.in_memory, options.on_batch, options.progress, options.expected_rows},
                   shared, numbers_of(peers));
  JobOptions job;
  job.memory_bytes = pusher.memory().engine_bytes;
  if (rank != nullptr) {
    rank->cluster.add_input();
    rank->cluster.plan(job);
    // How many rows come before a range is not known, so one rank counts them all.
    if (options.limit || options.skip > 0) rank->cluster.merge_at_first();
    shared.shared()->job = &rank->cluster;
  }
  detail::SorterBytes rows(shared, spec_of(options, job.memory_bytes));
  pusher.push(
      [&](std::span<const std::byte> records) { rows.put_all(records.data(), records.size()); });
  // A rank's input ends when the first batch is asked for. Until then no other rank waits for this
  // one, and its sort can end alone.
  if (rank == nullptr) rows.end();
  reader.close();
  SharedDictionaries dictionaries =
      share_dictionaries(type, pusher.take_dictionaries(), pusher.memory().dictionary_bytes, peers);
  SortedBatches::Ended ended;
  if (rank != nullptr) {
    ended = [&report = rank->report](const SortReport& done) { report = done; };
  } else {
    ended = [measurements = options.measurements](const SortReport& done) {
      if (measurements != nullptr) *measurements = done;
    };
  }
  export_stream(
      std::make_unique<SortedBatches>(type, format, std::move(dictionaries), pusher.memory(),
                                      options.batch_rows, std::move(rows), std::move(ended)),
      out);
}

}  // namespace

void sort_columns(ArrowArrayStream* in, ArrowArrayStream* out, const column_sort_options& options,
                  const resources& shared) {
  sort(in, out, options, shared, nullptr);
}

void cluster_sort_columns(ArrowArrayStream* in, ArrowArrayStream* out,
                          const column_sort_options& options, const resources& shared,
                          ClusterGeneral& cluster, Peers& peers, SortReport& report) {
  const JobOfRank rank{cluster, peers, report};
  sort(in, out, options, shared, &rank);
}

}  // namespace xxl
