// Joins of tables: rows of both become records (columns/row_format.h) of a join of any length, and
// what it gives becomes batches.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "columns/column_builder.h"
#include "columns/column_memory.h"
#include "columns/column_stream.h"
#include "columns/joined_type.h"
#include "columns/row_blocks.h"
#include "columns/row_format.h"
#include "columns/row_pusher.h"
#include "engine/callers/join_core.h"
#include "xxl/columns.h"
#include "xxl/room.h"

namespace xxl {
namespace {

template <class T>
using Sides = std::array<T, kJoinSides>;

// Where the parts of rows are, of some rows.
struct RowParts {
  std::vector<const std::byte*> keys, key_ends;
  Sides<std::vector<const std::byte*>> values;

  void clear() {
    keys.clear();
    key_ends.clear();
    for (auto& each : values) each.clear();
  }
  // As engine/callers/join_core.h has it; a side that is not there has the values `none`.
  void add(RowBlocks::Row row, const Sides<const std::byte*>& none) {
    const std::byte sides = row[0];
    const std::byte* at = row.data() + 1;
    const auto count = [&at] {
      RecordCount bytes;
      std::memcpy(&bytes, at, sizeof(bytes));
      at += sizeof(bytes);
      return bytes;
    };
    const RecordCount key_bytes = count();
    keys.push_back(at);
    at += key_bytes;
    key_ends.push_back(at);
    const RecordCount r_bytes = count();
    const bool has_r = (sides & detail::JoinCore::kHasR) != std::byte{0};
    const bool has_s = (sides & detail::JoinCore::kHasS) != std::byte{0};
    values[0].push_back(has_r ? at : none[0]);
    values[1].push_back(has_s ? at + r_bytes : none[1]);
  }
};

// Joined rows as batches.
class JoinedBatches final : public BatchSource {
 public:
  JoinedBatches(JoinedColumns columns, Sides<RowFormat> formats, std::uint64_t output_bytes,
                std::uint64_t batch_rows, std::unique_ptr<detail::JoinCore> join)
      : type_(std::move(columns.type)),
        has_s_(columns.has_s),
        formats_(std::move(formats)),
        dictionaries_(type_, columns.dictionaries),
        output_bytes_(output_bytes),
        batch_rows_(std::max<std::uint64_t>(1, batch_rows)),
        builder_(type_, &dictionaries_),
        readers_{RowReader(formats_[0]), RowReader(formats_[1])},
        join_(std::move(join)),
        rows_([this] { return join_->next(); }) {
    for (const std::size_t column : columns.keys) keys_.push_back(&builder_.child(column));
    for (std::size_t side = 0; side < kJoinSides; ++side) {
      for (const std::size_t column : columns.values[side]) {
        values_[side].push_back(&builder_.child(column));
      }
    }
  }

  const ColumnType& type() const override { return type_; }

  bool next(ArrowArray* array) override {
    std::uint64_t count = 0, bytes = 0;
    while (count < batch_rows_ && bytes < output_bytes_) {
      const auto rows =
          rows_.read(std::min<std::uint64_t>(RowWriter::kRowsAtOnce, batch_rows_ - count));
      if (rows.empty()) break;
      parts_.clear();
      for (const RowBlocks::Row row : rows) {
        bytes += row.size();
        parts_.add(row, {formats_[0].no_row(), formats_[1].no_row()});
      }
      readers_[0].read_keys(parts_.keys, parts_.key_ends, keys_);
      readers_[0].read_values(parts_.values[0], values_[0]);
      if (has_s_) readers_[1].read_values(parts_.values[1], values_[1]);
      count += rows.size();
    }
    if (count == 0) return false;
    builder_.finish_table(count, array);
    return true;
  }

 private:
  const ColumnType type_;
  const bool has_s_;
  const Sides<RowFormat> formats_;
  const Dictionaries dictionaries_;
  const std::uint64_t output_bytes_;
  const std::uint64_t batch_rows_;
  ColumnBuilder builder_;
  Sides<RowReader> readers_;
  std::vector<ColumnBuilder*> keys_;
  Sides<std::vector<ColumnBuilder*>> values_;
  RowParts parts_;
  std::unique_ptr<detail::JoinCore> join_;
  RowBlocks rows_;
};

// The first batch of the right table is there while the left one is read.
std::uint64_t engine_bytes(const ColumnMemory& left, const ColumnMemory& right) {
  return left.engine_bytes - std::min(right.input_bytes, left.engine_bytes / 2);
}

}  // namespace

void join_columns(ArrowArrayStream* left, ArrowArrayStream* right, ArrowArrayStream* out,
                  const column_join_options& options, const resources& shared) {
  BatchReader left_reader(left, "the left table");
  BatchReader right_reader(right, "the right table");
  const JoinKeys keys = join_keys(left_reader.type(), right_reader.type(), options);
  Sides<RowFormat> formats{RowFormat::of_join(left_reader.type(), keys.sides[0]),
                           RowFormat::of_join(right_reader.type(), keys.sides[1])};
  RowPusher left_pusher(left_reader, formats[0], options.in_memory, options.on_batch, shared);
  RowPusher right_pusher(right_reader, formats[1], options.in_memory, options.on_batch, shared);
  detail::JoinSpec spec;
  spec.kind = options.kind;
  spec.memory_bytes = engine_bytes(left_pusher.memory(), right_pusher.memory());
  spec.progress = options.progress;
  // The flag before a key that has a null.
  spec.matches_nothing = [](std::string_view key) { return key[0] != '\0'; };
  auto join = std::make_unique<detail::JoinCore>(shared, spec);
  detail::Room room;
  const auto put = [&](std::span<const std::byte> records) {
    room.put_all(records.data(), records.size(), [&] { return join->room(); });
  };
  left_pusher.push(put);
  join->end(room.close());
  left_reader.close();
  right_pusher.push(put);
  join->end(room.close());
  right_reader.close();

  JoinedColumns columns(left_reader.type(), right_reader.type(), keys, formats[1], options.kind,
                        options.suffix, left_pusher.take_dictionaries(),
                        right_pusher.take_dictionaries());
  export_stream(std::make_unique<JoinedBatches>(std::move(columns), std::move(formats),
                                                left_pusher.memory().output_bytes,
                                                options.batch_rows, std::move(join)),
                out);
}

}  // namespace xxl
