// The sorter of pieces for a kind of records.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "record/key_layout.h"
#include "sort/piece_sorter.h"

namespace xxl {

// Scratch memory in bytes that a sorter of `capacity` records needs.
std::size_t piece_scratch_bytes(const KeyLayout& layout, std::size_t capacity);

// `layout` and `scratch` (piece_scratch_bytes, aligned to 64) must outlive the sorter.
std::unique_ptr<PieceSorter> make_piece_sorter(const KeyLayout& layout, bool unique,
                                               std::size_t capacity, std::span<std::byte> scratch);

}  // namespace xxl
