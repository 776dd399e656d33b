// The tables from which a device finds the key words of fixed records (key_view.h).
#pragma once

#include <cstddef>

#include "gpu/device/device.h"
#include "gpu/device/key_view.h"
#include "record/key_layout.h"

namespace xxl::gpu {

// For the tables of a KeyView, on each device.
inline constexpr std::size_t kKeyTableBytes = std::size_t{1} << 20;

// Copies the tables of `layout` to `table`, device memory of kKeyTableBytes that must outlive the
// view; on return they are visible to all streams of the device. Throws Error{no_space} if the key
// takes more.
KeyView upload_key_view(const KeyLayout& layout, std::byte* table, Stream& stream);

}  // namespace xxl::gpu
