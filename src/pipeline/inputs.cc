#include "pipeline/inputs.h"

#include <utility>

#include "base/units.h"
#include "io/input_checks.h"
#include "io/io_queue.h"

namespace xxl {

Inputs open_inputs(std::vector<std::string> paths, std::size_t record_bytes) {
  Inputs inputs;
  if (paths.empty()) paths = {"-"};
  for (const std::string& path : paths) {
    io::File file = io::File::open_input(path);
    if (file.seekable()) {
      io::check_whole_records(file, file.size(), record_bytes);
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
  io::check_whole_records(stream, bytes, record_bytes);
  return file;
}

}  // namespace xxl
