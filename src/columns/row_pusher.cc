#include "columns/row_pusher.h"

#include <algorithm>
#include <utility>

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

RowPusher::RowPusher(BatchReader& reader, const RowFormat& format, PushOptions options,
                     const resources& shared, DictionaryNumbers numbers)
    : reader_(reader),
      options_(std::move(options)),
      any_(reader.next()),
      memory_(memory_of(reader, any_, options_.in_memory, shared)),
      dictionaries_(dictionary_tables(reader.type(), memory_.dictionary_bytes, numbers)),
      writer_(format, dictionaries_) {}

RowPusher::Rest RowPusher::rest() {
  if (any_ && first_ == reader_.batch().rows) {
    if (options_.on_batch) options_.on_batch(reader_.rows());
    first_ = 0;
    any_ = false;  // should that fail
    any_ = reader_.next();
  }
  if (!any_) return {nullptr, 0, 0};
  const ColumnView& batch = reader_.batch();
  if (first_ == 0) {
    if (!options_.in_memory) check_batch(reader_, memory_);
    begin_batch(dictionaries_, batch);
  }
  return {&batch, first_, batch.rows - first_};
}

std::span<const std::byte> RowPusher::next() {
  const Rest left = rest();
  if (left.rows == 0) return {};
  const auto written = writer_.write(*left.batch, left.first, left.rows);
  skip(written.rows, written.records.size());
  return written.records;
}

// How many bytes all rows will be is estimated from those before.
void RowPusher::skip(std::size_t rows, std::uint64_t bytes) {
  first_ += rows;
  given_rows_ += rows;
  given_bytes_ += bytes;
  if (options_.progress == nullptr || given_rows_ == 0 || options_.expected_rows == 0) return;
  const double of_all =
      static_cast<double>(options_.expected_rows) / static_cast<double>(given_rows_);
  options_.progress->phase_bytes_total = std::max(
      given_bytes_, static_cast<std::uint64_t>(static_cast<double>(given_bytes_) * of_all));
}

void RowPusher::push(const std::function<void(std::span<const std::byte> records)>& put) {
  for (auto records = next(); !records.empty(); records = next()) put(records);
}

}  // namespace xxl
