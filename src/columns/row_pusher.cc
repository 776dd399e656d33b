#include "columns/row_pusher.h"

#include <algorithm>

#include "columns/value_bytes.h"

namespace xxl {
namespace {

ColumnMemory memory_of(const BatchReader& reader, bool any, bool in_memory,
                       const resources& shared) {
  const bool counts = any && !in_memory;
  return divide_memory(shared, reader.type().children.size(), counts ? bytes_of(reader.batch()) : 0,
                       any ? reader.place() : reader.what());
}

}  // namespace

RowPusher::RowPusher(BatchReader& reader, const RowFormat& format, bool in_memory,
                     const std::function<void(std::uint64_t rows)>& on_batch,
                     const resources& shared, DictionaryNumbers numbers)
    : reader_(reader),
      in_memory_(in_memory),
      on_batch_(on_batch),
      any_(reader.next()),
      memory_(memory_of(reader, any_, in_memory, shared)),
      dictionaries_(dictionary_tables(reader.type(), memory_.dictionary_bytes, numbers)),
      writer_(format, dictionaries_) {}

RowPusher::Rest RowPusher::rest() {
  if (any_ && first_ == reader_.batch().rows) {
    if (on_batch_) on_batch_(reader_.rows());
    first_ = 0;
    any_ = false;  // should that fail
    any_ = reader_.next();
  }
  if (!any_) return {nullptr, 0, 0};
  const ColumnView& batch = reader_.batch();
  if (first_ == 0) {
    if (!in_memory_) check_batch(reader_, memory_);
    begin_batch(dictionaries_, batch);
  }
  return {&batch, first_, batch.rows - first_};
}

std::span<const std::byte> RowPusher::next() {
  const Rest left = rest();
  if (left.rows == 0) return {};
  const auto written = writer_.write(*left.batch, left.first, left.rows);
  skip(written.rows);
  return written.records;
}

void RowPusher::push(const std::function<void(std::span<const std::byte> records)>& put) {
  for (auto records = next(); !records.empty(); records = next()) put(records);
}

}  // namespace xxl
