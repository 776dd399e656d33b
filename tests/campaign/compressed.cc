#include "compressed.h"

#include <algorithm>
#include <span>

#include "io/codec.h"
#include "xxl/error.h"

namespace xxl::campaign {
namespace {

constexpr std::size_t kFrameBytes = 100'000;  // of content

}  // namespace

bool is_compressed(std::string_view path) {
  return io::codec_of(path) != Codec::none;
}

std::string as_file(std::string_view path, const std::string& bytes) {
  const Codec codec = io::codec_of(path);
  if (codec == Codec::none) return bytes;
  std::string file;
  std::span<const std::byte> rest = std::as_bytes(std::span(bytes));
  do {  // of no content there is a frame, too
    const auto part = rest.first(std::min(rest.size(), kFrameBytes));
    std::string frame(io::frame_bound(codec, part.size()), '\0');
    frame.resize(io::compress_frame(codec, 0, part, std::as_writable_bytes(std::span(frame))));
    file += frame;
    rest = rest.subspan(part.size());
  } while (!rest.empty());
  return file;
}

std::optional<std::string> content_of(std::string_view path, const std::string& file) {
  const Codec codec = io::codec_of(path);
  if (codec == Codec::none) return file;
  try {
    io::Decompressor decompressor(codec, std::string(path));
    decompressor.give(std::as_bytes(std::span(file)));
    std::string content, piece(kFrameBytes, '\0');
    while (!decompressor.at_end()) {
      content.append(piece, 0, decompressor.read(std::as_writable_bytes(std::span(piece))));
      if (decompressor.wants_input()) decompressor.finish_input();
    }
    return content;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Job uncompressed(Job job) {
  for (Input& input : job.inputs) {
    if (is_compressed(input.path)) input.path.resize(input.path.rfind('.'));
  }
  job.output_suffix.clear();
  return job;
}

}  // namespace xxl::campaign
