// The inputs of a text sort, measured. Only the first is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/codec.h"
#include "io/file.h"

namespace xxl {

struct TextInput {
  io::File file;
  Codec codec = Codec::none;
  std::size_t window_bytes = 0;  // of a compressed file, as it begins
  // What decompressing it takes, beside the memory that is divided; 0 if it is not compressed.
  std::size_t decoder_bytes() const;
};

struct TextInputs : std::vector<TextInput> {
  std::uint64_t bytes = 0;          // of the files whose size is known, as they lie
  bool size_known = true;           // false if one is a pipe or compressed
  std::size_t compressed = 0;       // files
  std::uint64_t decoder_bytes = 0;  // of all of them
  const TextInput& largest_decoder() const;

  // Of -S, what is set aside for decoders: one at a time, or with `merges` as many as may take
  // most_for_decoders().
  std::uint64_t set_aside_for_decoders(std::uint64_t memory_bytes, bool merges) const;
  std::uint64_t most_for_decoders(std::uint64_t memory_bytes) const;
  // Throws Error{no_space}: of -S `given` nothing is left beside the largest decoder, `enough`
  // does.
  [[noreturn]] void refuse_decoders(std::uint64_t given, std::uint64_t enough) const;
};

// Examines `paths` as open_inputs() does. With `by_suffix`, names tell which files are
// compressed. Throws Error.
TextInputs open_text_inputs(const std::vector<std::string>& paths, bool by_suffix = true);

}  // namespace xxl
