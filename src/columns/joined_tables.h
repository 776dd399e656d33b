// The two tables of a join, while they are read.
#pragma once

#include <array>
#include <cstddef>

#include "cluster/peers.h"
#include "columns/column_stream.h"
#include "columns/dictionary_table.h"
#include "columns/joined_type.h"
#include "columns/row_format.h"
#include "columns/row_pusher.h"
#include "columns/shared_dictionaries.h"
#include "columns/shared_schema.h"
#include "xxl/columns.h"

namespace xxl {

struct JoinedTables {
  // Reads the first batch of each. With `peers`, these are the shares of this rank; then a step of
  // all ranks. Throws Error.
  JoinedTables(ArrowArrayStream* left_stream, ArrowArrayStream* right_stream,
               const column_join_options& options, const resources& shared, Peers* peers = nullptr)
      : left(left_stream, "the left table"),
        right(right_stream, "the right table"),
        types{share_schema(left.type(), peers), share_schema(right.type(), peers)},
        keys(join_keys(types[0], types[1], options)),
        formats{RowFormat::of_join(types[0], keys.sides[0]),
                RowFormat::of_join(types[1], keys.sides[1])},
        left_rows(left, formats[0], push_options(options, 0), shared, numbers_of(peers)),
        right_rows(right, formats[1], push_options(options, 1), shared, numbers_of(peers)) {}

  BatchReader left, right;
  const std::array<ColumnType, kJoinSides> types;  // with the metadata that the output has
  const JoinKeys keys;
  const std::array<RowFormat, kJoinSides> formats;
  RowPusher left_rows, right_rows;

 private:
  static PushOptions push_options(const column_join_options& options, std::size_t side) {
    return {options.in_memory, options.on_batch, options.progress, options.expected_rows[side]};
  }
};

// The flag before a key that has a null, which equals nothing.
inline bool has_null(std::string_view key) {
  return key[0] != '\0';
}

}  // namespace xxl
