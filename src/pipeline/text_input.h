// The inputs of a text sort, opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "io/codec.h"
#include "io/file.h"
#include "io/io_queue.h"

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
  Codec codec = Codec::none;
  std::unique_ptr<ByteSource> decoder;  // of a compressed file, once reading may begin

  // True if it can be read at any place.
  bool stored() const { return codec == Codec::none && file.seekable(); }
};

struct TextInputs : std::vector<TextInput> {
  std::uint64_t bytes = 0;     // of the files whose size is known, as they lie
  bool size_known = true;      // false if one is a pipe or compressed
  std::size_t compressed = 0;  // files

  // Must be called before compressed files are read, when the vector has its final place. Either
  // the references outlive the inputs, or `io` ends first and `monitor` next.
  void make_decoders(io::IoService& io, Monitor& monitor);
};

// Opens `paths` ("-": standard input; none: likewise). With `by_suffix`, names tell which files are
// compressed. Throws Error.
TextInputs open_text_inputs(const std::vector<std::string>& paths, bool by_suffix = true);

}  // namespace xxl
