// What all joins of arrays require of their records and devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "gpu/device/device.h"
#include "record/key_layout.h"

namespace xxl::gpu {

// The shape of records that can be joined: a number in front. Throws Error{usage} if it is not.
RecordShape joinable_shape(const KeyLayout& layout);

// Throws Error{usage} if keys of the two shapes cannot be compared: they must be of one size and
// order. Keys are equal if all of their bits are.
void check_same_keys(const RecordShape& r, const RecordShape& s);

// Memory that may be used of each device: what is free on all, less a little for others, and at
// most `limit_bytes` if that is not 0.
std::uint64_t usable_memory(const std::vector<Device*>& devices, std::uint64_t limit_bytes);

// Pins arrays while it lives.
class PinnedArrays {
 public:
  PinnedArrays(Device& device, std::initializer_list<std::span<const std::byte>> arrays);
  ~PinnedArrays();
  PinnedArrays(const PinnedArrays&) = delete;
  PinnedArrays& operator=(const PinnedArrays&) = delete;

 private:
  Device& device_;
  std::vector<std::span<std::byte>> arrays_;
};

}  // namespace xxl::gpu
