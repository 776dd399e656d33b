// The blocks of a slice of a run, as they are described to the rank that merges it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cluster/message.h"
#include "io/scratch_store.h"
#include "run/run_store.h"

namespace xxl {

// Where the blocks of a slice are.
struct SliceOrigin {
  std::uint32_t rank = 0;
  std::uint32_t run = 0;
};
using SliceOrigins = std::unordered_map<const StoredRun*, SliceOrigin>;

// Blocks [first, last) of `run`. Their places are where they lie, if the rank that merges them can
// read them there; otherwise their numbers in the run, by which they are fetched.
template <class R>
void put_blocks(MessageWriter& writer, const R& run, std::size_t first, std::size_t last,
                bool with_places) {
  using Block = typename decltype(run.blocks)::value_type;
  std::vector<io::ScratchPlace> places;  // of blocks that have several
  std::vector<Block> blocks;
  for (std::size_t number = first; number < last; ++number) {
    Block& block = blocks.emplace_back(run.blocks[number]);
    if (!with_places) {
      block.places = 1;
      block.place = {.slot = static_cast<std::uint32_t>(number)};
    } else if (block.places > 1) {
      const auto from = run.places_of(block);
      block.place.slot = static_cast<std::uint32_t>(places.size());
      places.insert(places.end(), from.begin(), from.end());
    }
  }
  writer.put(blocks.size());
  writer.put(places.size());
  writer.put_bytes(std::as_bytes(std::span(blocks)));
  writer.put_bytes(std::as_bytes(std::span(places)));
}

template <class R>
void get_blocks(MessageReader& reader, R& run) {
  const auto blocks = reader.get<std::size_t>();
  const auto places = reader.get<std::size_t>();
  for (std::size_t i = 0; i < blocks; ++i) {
    run.blocks.push_back(reader.get<typename decltype(run.blocks)::value_type>());
  }
  for (std::size_t i = 0; i < places; ++i) {
    run.places.push_back(reader.get<io::ScratchPlace>());
  }
}

}  // namespace xxl
