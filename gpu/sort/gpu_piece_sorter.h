// Sorts pieces of a merge on a device.
//
// The segments of a piece are gathered in pinned host memory, cross the link, are sorted, and come
// back to where they were gathered:
//
//     segments --memcpy--> staging --copy_in--> records, load, sort, refine, store --copy_out--+
//                             ^----------------------------------------------------------------+
//
// Each sorter has a stream and memory of its own, so one copies while another one sorts: a few of
// them on as many threads keep both directions of the link busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/sort/chunk_geometry.h"
#include "gpu/sort/staged_slice.h"
#include "sort/piece_sorter.h"

namespace xxl::gpu {

class GpuPieceSorter final : public PieceSorter {
 public:
  // For pieces of up to `capacity` records, which `staging` must have room for; it should be
  // pinned. All references must outlive the sorter. `track` names it in `time_line`, which may be
  // null. Throws Error{no_space} if the device has too little memory.
  GpuPieceSorter(Device& device, const KeyLayout& layout, bool unique, std::size_t capacity,
                 std::span<std::byte> staging, std::string track, TimeLine* time_line);

  // Of the device.
  static std::uint64_t memory_bytes(Device& device, const KeyLayout& layout, std::size_t capacity);

  // From one thread at a time. Throws Error{device}. The segments are not needed afterwards.
  void sort(std::span<const Segment> segments) override;

  std::size_t size() const override { return staged_.size(); }
  void write(std::size_t first, std::size_t count, std::byte* out) const override {
    staged_.write(first, count, out);
  }

 private:
  std::size_t gather(std::span<const Segment> segments) const;

  const KeyLayout& layout_;
  const bool unique_;
  const std::size_t capacity_;
  const std::string track_;
  TimeLine* time_line_;
  RecordShape shape_;
  StagedSlice staged_;
  DeviceMemory memory_;
  std::byte* records_ = nullptr;  // as they come
  std::byte* stored_ = nullptr;   // sorted
  Items loaded_;
  Items sorted_;
  std::span<std::byte> scratch_;
  KeyView view_;
  std::unique_ptr<Stream> stream_;  // last: it ends before the memory is freed
};

}  // namespace xxl::gpu
