// The rows that a join of tables gives, some at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

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

class JoinedRowSource {
 public:
  virtual ~JoinedRowSource() = default;
  // Adds the next rows to `rows`, which is empty, at most `most`; none at the end. They last until
  // the next call. Throws Error.
  virtual void next(std::size_t most, JoinedRows& rows) = 0;
};

}  // namespace xxl
