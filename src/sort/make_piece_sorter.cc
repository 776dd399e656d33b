#include "sort/make_piece_sorter.h"

#include "base/error.h"
#include "sort/compared_sorter.h"
#include "sort/key_sorter.h"

namespace xxl {

std::size_t piece_scratch_bytes(const KeyLayout& layout, std::size_t capacity) {
  return layout.words_are_key() ? key_sorter_bytes(layout, capacity)
                                : compared_sorter_bytes(layout, capacity);
}

std::unique_ptr<PieceSorter> make_piece_sorter(const KeyLayout& layout, bool unique,
                                               std::size_t capacity, std::span<std::byte> scratch) {
  XXL_CHECK(scratch.size() >= piece_scratch_bytes(layout, capacity));
  return layout.words_are_key() ? make_key_sorter(layout, unique, capacity, scratch)
                                : make_compared_sorter(layout, unique, capacity, scratch);
}

}  // namespace xxl
