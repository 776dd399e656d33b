// The inputs of a text sort, opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"

namespace xxl {

// Bytes that come one after the other.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `to`; returns fewer bytes only at the end. Throws Error.
  virtual std::size_t read(std::span<std::byte> to) = 0;
};

struct TextInput {
  io::File file;
  std::unique_ptr<ByteSource> decoder;  // of a compressed file; null: bytes are as they lie

  // True if it can be read at any place.
  bool stored() const { return decoder == nullptr && file.seekable(); }
};

struct TextInputs : std::vector<TextInput> {
  std::uint64_t bytes = 0;  // of the files whose size is known, as they lie
  bool size_known = true;   // false if one is a pipe or compressed
};

// Opens `paths` ("-": standard input; none: likewise). Throws Error.
TextInputs open_text_inputs(const std::vector<std::string>& paths);

}  // namespace xxl
