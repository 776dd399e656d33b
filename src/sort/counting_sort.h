// Sorts an array of numbers of one or two bytes: counts each, and writes them in order.
#pragma once

#include <cstddef>
#include <span>

#include "record/key_layout.h"

namespace xxl {

// False, and nothing is done, if records of `layout` are longer, or not only a key, or so few that
// the numbers that there are would cost more than they do. `to`, of as many bytes, is `from` or
// apart from it.
bool sort_by_counting(const KeyLayout& layout, std::span<const std::byte> from,
                      std::span<std::byte> to, unsigned threads);

}  // namespace xxl
