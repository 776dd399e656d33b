// The two tables of a join, while they are read.
#pragma once

#include <array>

#include "columns/column_stream.h"
#include "columns/joined_type.h"
#include "columns/row_format.h"
#include "columns/row_pusher.h"
#include "xxl/columns.h"

namespace xxl {

struct JoinedTables {
  // Reads the first batch of each. Throws Error.
  JoinedTables(ArrowArrayStream* left_stream, ArrowArrayStream* right_stream,
               const column_join_options& options, const resources& shared)
      : left(left_stream, "the left table"),
        right(right_stream, "the right table"),
        keys(join_keys(left.type(), right.type(), options)),
        formats{RowFormat::of_join(left.type(), keys.sides[0]),
                RowFormat::of_join(right.type(), keys.sides[1])},
        left_rows(left, formats[0], options.in_memory, options.on_batch, shared),
        right_rows(right, formats[1], options.in_memory, options.on_batch, shared) {}

  BatchReader left, right;
  const JoinKeys keys;
  const std::array<RowFormat, kJoinSides> formats;
  RowPusher left_rows, right_rows;
};

// The flag before a key that has a null, which equals nothing.
inline bool has_null(std::string_view key) {
  return key[0] != '\0';
}

}  // namespace xxl
