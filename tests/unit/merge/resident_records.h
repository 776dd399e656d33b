// Sorted runs of text in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "merge/merge_source.h"
#include "sort/string_sort.h"

namespace xxl::test {

using Records = std::vector<std::string>;

class ResidentRecords {
 public:
  explicit ResidentRecords(Records records) : records_(std::move(records)) {
    std::sort(records_.begin(), records_.end());
    for (const std::string& record : records_) {
      items_.push_back({.word = 0, .ref = chunk_place(memory_.size(), record.size())});
      memory_ += record;
    }
  }
  const Records& records() const { return records_; }
  MergeSource source(std::size_t side = 0) const {
    return {.run = nullptr, .resident = {memory_.data(), items_, memory_.size()}, .side = side};
  }

 private:
  Records records_;
  std::string memory_;
  std::vector<StringItem> items_;
};

}  // namespace xxl::test
