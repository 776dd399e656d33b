#include "engine/inputs.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "io/input_checks.h"
#include "io/io_queue.h"
#include "io/transfer.h"

namespace xxl {

std::vector<std::string> input_paths(std::vector<std::string> paths) {
  if (paths.empty()) return {"-"};
  const auto first = std::find(paths.begin(), paths.end(), "-");
  if (first != paths.end()) paths.erase(std::remove(first + 1, paths.end(), "-"), paths.end());
  return paths;
}

std::optional<std::uint64_t> Inputs::records(std::size_t record_bytes) const {
  if (!size_known) return std::nullopt;
  std::uint64_t records = 0;
  for (const io::File& file : files) records += file.size() / record_bytes;
  return records;
}

Inputs open_inputs(std::vector<std::string> paths, std::size_t record_bytes) {
  Inputs inputs;
  for (const std::string& path : input_paths(std::move(paths))) {
    io::File file = io::File::examine_input(path);
    if (file.seekable()) {
      io::check_whole_records(file, file.size(), record_bytes);
    } else {
      inputs.size_known = false;
    }
    inputs.bytes += file.size();
    inputs.files.empty() ? file.open() : file.close();
    inputs.files.push_back(std::move(file));
  }
  return inputs;
}

std::uint64_t spool(io::File& stream, const io::File& file, std::uint64_t offset,
                    std::size_t record_bytes, std::span<std::byte> buffer) {
  stream.open();
  std::uint64_t bytes = 0;
  for (std::size_t filled = buffer.size(); filled == buffer.size();) {
    filled = io::read_at(stream, io::Request::kStream, buffer);
    io::write_at(file, offset + bytes, buffer.first(round_up(filled, kSectorBytes)));
    bytes += filled;
  }
  io::check_whole_records(stream, bytes, record_bytes);
  stream.close();
  return bytes;
}

}  // namespace xxl
