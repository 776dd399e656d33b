// Sorts pieces by keys, as their words: radix sort of numbers, of pairs, or of (prefix, pointer)
// items (docs/internals/piece-sort.md).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "record/key_layout.h"
#include "sort/piece_sorter.h"

namespace xxl {

// As of make_piece_sorter.h, for layouts with words_are_key().
std::size_t key_sorter_bytes(const KeyLayout& layout, std::size_t capacity);
std::unique_ptr<PieceSorter> make_key_sorter(const KeyLayout& layout, bool unique,
                                             std::size_t capacity, std::span<std::byte> scratch);

}  // namespace xxl
