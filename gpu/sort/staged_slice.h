// Sorted records that have come back from a device into staging memory, on their way out.
#pragma once

#include <cstddef>
#include <cstring>

#include "record/key_layout.h"
#include "sort/piece_sorter.h"

namespace xxl::gpu {

class StagedSlice final : public RecordSource {
 public:
  // `data`, as long as the slices that come, must outlive the slice.
  StagedSlice(std::byte* data, std::size_t record_bytes)
      : data_(data), record_bytes_(record_bytes) {}

  std::byte* data() const { return data_; }

  // `records` of them have come.
  void set(std::size_t records) {
    records_ = records;
    removed_ = {};
  }
  // Leaves only the first record of each key; the others move up.
  void deduplicate(const KeyLayout& layout) {
    if (records_ == 0) return;
    std::size_t kept = 1;
    for (std::size_t i = 1; i < records_; ++i) {
      if (layout.compare(record(kept - 1), record(i)) == 0) {
        add_records(removed_, record(i), 1, record_bytes_);
      } else {
        if (kept != i) std::memcpy(record(kept), record(i), record_bytes_);
        ++kept;
      }
    }
    records_ = kept;
  }

  std::size_t size() const override { return records_; }
  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    std::memcpy(out, record(first), count * record_bytes_);
  }

 private:
  std::byte* record(std::size_t i) const { return data_ + i * record_bytes_; }

  std::byte* data_;
  std::size_t record_bytes_;
  std::size_t records_ = 0;
};

}  // namespace xxl::gpu
