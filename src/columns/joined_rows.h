// The rows that a join of tables gives, some at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "columns/column_view.h"
#include "xxl/arrow_c.h"
#include "xxl/join_kind.h"

namespace xxl {

// Where the parts of some rows are: the key, as both sides have it, and the values of each side
// (columns/row_format.h).
struct JoinedRows {
  std::vector<const std::byte*> keys, key_ends;
  std::array<std::vector<const std::byte*>, kJoinSides> values;
  std::uint64_t bytes = 0;  // that they take, about

  std::size_t size() const { return keys.size(); }
  void clear() {
    keys.clear();
    key_ends.clear();
    for (auto& each : values) each.clear();
    bytes = 0;
  }
  void add(std::string_view key, const std::byte* of_r, const std::byte* of_s,
           std::uint64_t row_bytes) {
    const auto* const begin = reinterpret_cast<const std::byte*>(key.data());
    keys.push_back(begin);
    key_ends.push_back(begin + key.size());
    values[0].push_back(of_r);
    values[1].push_back(of_s);
    bytes += row_bytes;
  }
};

// Rows of a batch of the left table, each of which gives one row, from `first` on.
struct PassedRows {
  std::shared_ptr<ArrowArray> batch;
  const ColumnView* view = nullptr;
  std::size_t first = 0;
  std::vector<const std::byte*> values;  // of the right table, for each
};

class JoinedRowSource {
 public:
  virtual ~JoinedRowSource() = default;
  // Where the next rows are those of the left table, with at most one of the right one each: fills
  // in `passed`, of at most `most` rows and about `most_bytes` of the right table. False if they
  // are not, or that is not known; then next() has them.
  virtual bool pass(std::size_t /*most*/, std::uint64_t /*most_bytes*/, PassedRows& /*passed*/) {
    return false;
  }
  // Adds the next rows to `rows`, which is empty, at most `most` and about `most_bytes`; none at
  // the end. They last until the next call. Throws Error.
  virtual void next(std::size_t most, std::uint64_t most_bytes, JoinedRows& rows) = 0;
};

}  // namespace xxl
