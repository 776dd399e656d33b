// Counted records (record/record_syntax.h) out of blocks that cut them anywhere.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "record/record_syntax.h"

namespace xxl {

class RowBlocks {
 public:
  using Row = std::span<const std::byte>;
  // `next` gives the next block, which ends the one before; empty at the end.
  explicit RowBlocks(std::function<std::span<const std::byte>()> next) : next_(std::move(next)) {}

  // The next rows, at most `most`, until the next call; none at the end.
  std::span<const Row> read(std::size_t most) {
    rows_.clear();
    while (rows_.size() < most) {
      const std::size_t bytes = whole_row();
      if (bytes == 0) break;
      rows_.push_back(block_.subspan(sizeof(RecordCount), bytes - sizeof(RecordCount)));
      block_ = block_.subspan(bytes);
    }
    if (rows_.empty() && fill()) return read(most);
    return rows_;
  }

 private:
  // Of the row at the start of the block, if all of it is there: its bytes with its count.
  std::size_t whole_row() const {
    if (block_.size() < sizeof(RecordCount)) return 0;
    const std::size_t bytes = sizeof(RecordCount) + count_at(block_.data());
    return bytes <= block_.size() ? bytes : 0;
  }
  static RecordCount count_at(const std::byte* from) {
    RecordCount bytes;
    std::memcpy(&bytes, from, sizeof(bytes));
    return bytes;
  }

  // The next block or, if the last one ended within a row, that row, which a block of its own
  // holds. False at the end.
  bool fill() {
    if (!after_joined_.empty()) {
      block_ = std::exchange(after_joined_, {});
      return true;
    }
    if (block_.empty()) {
      block_ = next_();
      return !block_.empty();
    }
    joined_.assign(block_.begin(), block_.end());
    std::span<const std::byte> rest;
    extend(sizeof(RecordCount), rest);
    extend(sizeof(RecordCount) + count_at(joined_.data()), rest);
    block_ = joined_;
    after_joined_ = rest;
    return true;
  }
  void extend(std::size_t bytes, std::span<const std::byte>& rest) {
    while (joined_.size() < bytes) {
      if (rest.empty()) {
        rest = next_();
        XXL_CHECK(!rest.empty());
      }
      const std::size_t some = std::min(bytes - joined_.size(), rest.size());
      joined_.insert(joined_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(some));
      rest = rest.subspan(some);
    }
  }

  std::function<std::span<const std::byte>()> next_;
  std::span<const std::byte> block_ = {};
  std::span<const std::byte> after_joined_ = {};
  std::vector<std::byte> joined_;
  std::vector<Row> rows_;
};

}  // namespace xxl
