#include "pipeline/inputs.h"

#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "io/io_queue.h"

namespace xxl {
namespace {

void check_whole_records(const io::File& file, std::uint64_t bytes, std::size_t record_bytes) {
  const std::uint64_t cut = bytes % record_bytes;
  if (cut == 0) return;
  throw Error(ErrorCode::bad_input,
              "the last " + std::to_string(cut) + " bytes are not a whole record of " +
                  std::to_string(record_bytes) + " bytes: check --record",
              file.path(), bytes - cut);
}

}  // namespace

Inputs open_inputs(std::vector<std::string> paths, std::size_t record_bytes) {
  Inputs inputs;
  if (paths.empty()) paths = {"-"};
  for (const std::string& path : paths) {
    io::File file = io::File::open_input(path);
    if (file.seekable()) {
      check_whole_records(file, file.size(), record_bytes);
    } else {
      inputs.size_known = false;
    }
    inputs.bytes += file.size();
    inputs.files.push_back(std::move(file));
  }
  return inputs;
}

io::File spool(const io::File& stream, const std::string& directory, std::size_t record_bytes,
               std::span<std::byte> buffer, std::uint64_t& bytes) {
  io::File file = io::File::create_unnamed(directory);
  bytes = 0;
  for (std::size_t filled = buffer.size(); filled == buffer.size();) {
    filled = stream.read_at(io::Request::kStream, buffer);
    file.write_at(bytes, buffer.first(round_up(filled, kSectorBytes)));
    bytes += filled;
  }
  check_whole_records(stream, bytes, record_bytes);
  return file;
}

}  // namespace xxl
