#include "columns/row_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "columns/value_bytes.h"
#include "xxl/error.h"

namespace xxl {
namespace {

constexpr std::size_t kCounts = 2 * sizeof(RecordCount);

}  // namespace

void RowFormat::add_field(const ColumnType& table, std::size_t column, bool may_be_null_) {
  Field field{.column = column};
  field.may_be_null = may_be_null_ || may_be_null(table.children[column]);
  if (field.may_be_null) field.bit = bits++;
  fields.push_back(field);
}

RowFormat RowFormat::of_sort(const ColumnType& table, std::vector<KeyColumn> keys) {
  RowFormat format;
  for (KeyColumn& key : keys) {
    // What was sorted by before is equal.
    if (std::ranges::find(format.keys, key.column, &KeyColumn::column) == format.keys.end()) {
      format.keys.push_back(key);
    }
  }
  for (std::size_t i = 0; i < table.children.size(); ++i) {
    const auto key = std::ranges::find(format.keys, i, &KeyColumn::column);
    if (key != format.keys.end() && is_in_key(*key, table.children[i])) continue;
    format.add_field(table, i, false);
  }
  return format;
}

RowFormat RowFormat::of_join(const ColumnType& table, std::vector<KeyColumn> keys) {
  RowFormat format;
  format.keys = std::move(keys);
  for (std::size_t i = 0; i < table.children.size(); ++i) {
    if (std::ranges::find(format.keys, i, &KeyColumn::column) != format.keys.end()) continue;
    format.add_field(table, i, true);
  }
  format.flags_null_keys = true;
  format.zeros.resize(bitmap_bytes(format.bits) + 1);
  return format;
}

RowFormat RowFormat::key_only() const {
  RowFormat format = *this;
  format.fields.clear();
  format.bits = 0;
  return format;
}

void check_nulls(const ColumnView& column, std::size_t first, std::size_t count) {
  if (may_be_null(*column.type) || has_all_values(column)) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!has_value(column, first + i)) throw_unexpected_null(column);
  }
}

RowWriter::Written RowWriter::write(const ColumnView& batch, std::size_t first, std::size_t left) {
  const std::size_t count = measure(batch, first, std::min(left, kRowsAtOnce));
  begin_records(count);
  if (format_.flags_null_keys) flag_null_keys(batch, first);
  for (const KeyColumn& key : format_.keys) {
    const ColumnView& column = batch.children[key.column];
    if (key.kind == KeyKind::place) {
      write_keys(key, column, first, at_, dictionaries_[column.type->dictionary_id].places());
    } else {
      write_keys(key, column, first, at_);
    }
  }
  set_bits(batch, first);
  for (const RowFormat::Field& field : format_.fields) {
    write_values(batch.children[field.column], first, dictionaries_, at_);
  }
  return {{records_.data(), records_.size()}, count};
}

// The sizes of rows, as many as are written at a time: one in any case.
std::size_t RowWriter::measure(const ColumnView& batch, std::size_t first, std::size_t most) {
  key_bytes_.assign(most, format_.flags_null_keys ? 1 : 0);
  for (const KeyColumn& key : format_.keys) {
    add_key_bytes(key, batch.children[key.column], first, key_bytes_);
  }
  bytes_ = key_bytes_;
  for (std::size_t& bytes : bytes_) bytes += kCounts + bitmap_bytes(format_.bits);
  for (const RowFormat::Field& field : format_.fields) {
    add_value_bytes(batch.children[field.column], first, bytes_);
  }
  std::size_t rows = 1;
  for (std::size_t total = bytes_[0]; rows < most; ++rows) {
    total += bytes_[rows];
    if (total > kBytesAtOnce) break;
  }
  key_bytes_.resize(rows);
  bytes_.resize(rows);
  return rows;
}

// Room for all, with the counts of each; at_ is behind them.
void RowWriter::begin_records(std::size_t count) {
  std::size_t total = 0;
  for (const std::size_t bytes : bytes_) {
    if (bytes > std::numeric_limits<RecordCount>::max()) {
      throw Error(ErrorCode::bad_input, "a row takes more than 4 GiB");
    }
    total += bytes;
  }
  records_.truncate(0);
  std::byte* to = records_.extend(total);
  at_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const RecordCount counts[] = {static_cast<RecordCount>(bytes_[i] - sizeof(RecordCount)),
                                  static_cast<RecordCount>(key_bytes_[i])};
    std::memcpy(to, counts, kCounts);
    at_[i] = to + kCounts;
    to += bytes_[i];
  }
}

void RowWriter::flag_null_keys(const ColumnView& batch, std::size_t first) {
  for (std::size_t i = 0; i < at_.size(); ++i) {
    bool null = false;
    for (const KeyColumn& key : format_.keys) {
      null |= key.marks_null && !has_value(batch.children[key.column], first + i);
    }
    *at_[i]++ = static_cast<std::byte>(null);
  }
}

void RowWriter::set_bits(const ColumnView& batch, std::size_t first) {
  const std::size_t bytes = bitmap_bytes(format_.bits);
  bitmaps_.assign(at_.begin(), at_.end());
  for (std::byte*& at : at_) {
    std::memset(at, 0, bytes);
    at += bytes;
  }
  for (const RowFormat::Field& field : format_.fields) {
    const ColumnView& column = batch.children[field.column];
    check_nulls(column, first, at_.size());
    if (!field.may_be_null) continue;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (has_value(column, first + i)) set_bit(bitmaps_[i], field.bit);
    }
  }
}

void RowReader::read_keys(std::span<const std::byte* const> keys,
                          std::span<const std::byte* const> ends,
                          std::span<ColumnBuilder* const> columns) {
  at_.assign(keys.begin(), keys.end());
  if (format_.flags_null_keys) {
    for (const std::byte*& at : at_) ++at;
  }
  for (std::size_t k = 0; k < format_.keys.size(); ++k) {
    xxl::read_keys(format_.keys[k], at_, ends, columns[k]);
  }
}

void RowReader::read_values(std::span<const std::byte* const> values,
                            std::span<ColumnBuilder* const> columns) {
  at_.assign(values.begin(), values.end());
  for (const std::byte*& at : at_) at += bitmap_bytes(format_.bits);
  for (std::size_t f = 0; f < format_.fields.size(); ++f) {
    const RowFormat::Field& field = format_.fields[f];
    columns[f]->append_values(at_, field.may_be_null ? RowBits{values, field.bit} : RowBits{});
  }
}

}  // namespace xxl
