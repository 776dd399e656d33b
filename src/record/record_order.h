// Whether binary records are in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "record/key_layout.h"

namespace xxl {

// Number of the first of the consecutive `records` whose key is smaller than that of the record
// before it.
std::optional<std::uint64_t> first_disorder(const KeyLayout& layout,
                                            std::span<const std::byte> records);

}  // namespace xxl
