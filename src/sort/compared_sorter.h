// Sorts pieces by a comparator (record/key_labels.h), with the help of a guess of what it compares.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "record/key_layout.h"
#include "sort/piece_sorter.h"

namespace xxl {

// As of make_piece_sorter.h, for layouts with labels.
std::size_t compared_sorter_bytes(const KeyLayout& layout, std::size_t capacity);
std::unique_ptr<PieceSorter> make_compared_sorter(const KeyLayout& layout, bool unique,
                                                  std::size_t capacity,
                                                  std::span<std::byte> scratch);

}  // namespace xxl
