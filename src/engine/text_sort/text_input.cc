#include "engine/text_sort/text_input.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "engine/inputs.h"
#include "io/transfer.h"

namespace xxl {
namespace {

// The constant beside -S has room for the usual decoder.
constexpr std::uint64_t kDecoderBytesOfConstant = 12 * kMiB;
constexpr std::uint64_t kDecoderPart = 4;  // of -S, at most, unless one alone takes more

// Frames behind the first may refer back further: as far as is usual, they may.
constexpr std::size_t kUsualWindow = 8 * kMiB;

std::size_t window_of(const io::File& file, Codec codec) {
  std::span<const std::byte> head;
  const MemoryRegion memory(kSectorBytes);  // direct reads
  if (file.seekable()) {
    const auto sector = memory.span().first(kSectorBytes);
    head = sector.first(std::min(io::read_at(file, 0, sector), io::Decompressor::kHeadBytes));
  }
  return io::Decompressor::window_bytes(codec, head);
}

}  // namespace

std::size_t TextInput::decoder_bytes() const {
  if (codec == Codec::none) return 0;
  return io::Decompressor::memory_bytes(codec, window_bytes) + io::Decoder::kPieceBytes;
}

const TextInput& TextInputs::largest_decoder() const {
  return *std::max_element(begin(), end(), [](const TextInput& a, const TextInput& b) {
    return a.decoder_bytes() < b.decoder_bytes();
  });
}

std::uint64_t TextInputs::most_for_decoders(std::uint64_t memory_bytes) const {
  return std::max<std::uint64_t>(largest_decoder().decoder_bytes(),
                                 kDecoderBytesOfConstant + memory_bytes / kDecoderPart);
}

std::uint64_t TextInputs::set_aside_for_decoders(std::uint64_t memory_bytes, bool merges) const {
  const std::uint64_t taken = merges ? std::min(decoder_bytes, most_for_decoders(memory_bytes))
                                     : largest_decoder().decoder_bytes();
  return taken - std::min(taken, kDecoderBytesOfConstant);
}

void TextInputs::refuse_decoders(std::uint64_t given, std::uint64_t enough) const {
  const TextInput& largest = largest_decoder();
  throw Error(ErrorCode::no_space,
              "decompressing it takes " + format_bytes(largest.decoder_bytes()) +
                  " of memory, too much for -S " + format_bytes(given) + ": -S " +
                  std::to_string(ceil_div<std::uint64_t>(enough, kMiB)) + "M is enough",
              largest.file.path());
}

TextInputs open_text_inputs(const std::vector<std::string>& paths, bool by_suffix) {
  TextInputs inputs;
  for (const std::string& path : input_paths(paths)) {
    TextInput input;
    input.file = io::File::examine_input(path);
    if (by_suffix) input.codec = io::codec_of(path);
    if (input.codec != Codec::none) {
      ++inputs.compressed;
      input.window_bytes = window_of(input.file, input.codec);
      inputs.decoder_bytes += input.decoder_bytes();
      input.file.decompress(input.codec, std::max(input.window_bytes, kUsualWindow));
    }
    if (input.file.seekable()) {
      inputs.bytes += input.file.size();
    } else {
      inputs.size_known = false;
    }
    inputs.empty() ? input.file.open() : input.file.close();
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace xxl
