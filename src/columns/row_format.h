// Rows of a table as records of bytes, which the engine sorts and joins
// (docs/internals/columns.md):
//
//   [ bytes of the record ][ bytes of the key ][ key ][ bitmap ][ values ]
//        4 bytes                 4 bytes
//
// The key holds the columns that are sorted by, in the forms of columns/key_bytes.h; the values are
// the other columns, and those of the key that it does not give back as they were. A bit of the
// bitmap is set where a column that may be null has a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "columns/column_builder.h"
#include "columns/column_type.h"
#include "columns/column_view.h"
#include "columns/dictionary_table.h"
#include "columns/key_bytes.h"
#include "record/record_syntax.h"

namespace xxl {

struct RowFormat {
  // A column that is among the values.
  struct Field {
    std::size_t column = 0;
    bool may_be_null = false;
    std::size_t bit = 0;  // in the bitmap, if it may
  };

  // All columns of `table`, sorted by `keys`.
  static RowFormat of_sort(const ColumnType& table, std::vector<KeyColumn> keys);
  // The same for a side of a join: columns of the key are there only, and rows begin with a byte
  // that is not 0 if a key is null. There may be no row at all (no_row()).
  static RowFormat of_join(const ColumnType& table, std::vector<KeyColumn> keys);

  std::vector<KeyColumn> keys;
  std::vector<Field> fields;
  std::size_t bits = 0;  // of the bitmap
  bool flags_null_keys = false;

  // Of the same rows, the key alone.
  RowFormat key_only() const;

  // The values of a row that is not there: all are null. REQUIRES: of_join().
  const std::byte* no_row() const { return zeros.data(); }

 private:
  void add_field(const ColumnType& table, std::size_t column, bool may_be_null);
  std::vector<std::byte> zeros;
};

// Throws Error{bad_input} if any of the rows [first, first + count) is null, where the type of the
// column says that none is.
void check_nulls(const ColumnView& column, std::size_t first, std::size_t count);

// Writes rows of batches.
class RowWriter {
 public:
  // Rows that are written, and read, at a time: they stay in a core's cache.
  static constexpr std::size_t kRowsAtOnce = 1024;

  // The references must outlive it.
  RowWriter(const RowFormat& format, DictionaryTables& dictionaries)
      : format_(format), dictionaries_(dictionaries) {}

  struct Written {
    std::span<const std::byte> records;  // until the next call
    std::size_t rows;
  };
  // Some of the rows first, ..., first + left - 1 of `batch`, from the first one on. Throws
  // Error{bad_input}.
  Written write(const ColumnView& batch, std::size_t first, std::size_t left);

 private:
  static constexpr std::size_t kBytesAtOnce = std::size_t{256} << 10;

  std::size_t measure(const ColumnView& batch, std::size_t first, std::size_t most);
  void begin_records(std::size_t count);
  void flag_null_keys(const ColumnView& batch, std::size_t first);
  void set_bits(const ColumnView& batch, std::size_t first);

  const RowFormat& format_;
  DictionaryTables& dictionaries_;
  std::vector<std::size_t> key_bytes_, bytes_;  // of each row
  std::vector<std::byte*> at_;
  std::vector<std::byte*> bitmaps_;
  ArrayBuffer records_;
};

// Reads rows into the builders of columns.
class RowReader {
 public:
  // `format` must outlive it.
  explicit RowReader(const RowFormat& format) : format_(format) {}

  // Of each row, the columns of its key, which lies from `keys[i]` to `ends[i]`. `columns[k]` gets
  // key column k; null: it is not wanted.
  void read_keys(std::span<const std::byte* const> keys, std::span<const std::byte* const> ends,
                 std::span<ColumnBuilder* const> columns);
  // Of each row, what stands behind the key. `columns[f]` gets field f.
  void read_values(std::span<const std::byte* const> values,
                   std::span<ColumnBuilder* const> columns);

 private:
  const RowFormat& format_;
  std::vector<const std::byte*> at_;
};

}  // namespace xxl
