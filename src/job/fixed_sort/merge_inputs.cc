#include "job/fixed_sort/merge_inputs.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/units.h"
#include "io/file.h"
#include "io/input_checks.h"
#include "io/io_queue.h"
#include "io/transfer.h"
#include "io/wake_event.h"
#include "run/file_run.h"

namespace xxl {
namespace {

// Reads `stream` to its end into `file` at `offset`. Adds it to `sums`. Returns its size.
std::uint64_t spool(io::File& stream, const io::File& file, std::uint64_t offset,
                    std::size_t record_bytes, std::span<std::byte> buffer, FileRunSums& sums,
                    const std::stop_token& stop) {
  io::WakeEvent stopped;
  const std::stop_callback on_stop(stop, [&] { stopped.send(); });
  stream.open();
  std::uint64_t bytes = 0;
  for (std::size_t filled = buffer.size(); filled == buffer.size();) {
    filled = io::read_at(stream, io::Request::kStream, buffer, stopped.fd());
    sums.add(buffer.first(filled));
    io::write_at(file, offset + bytes, buffer.first(round_up(filled, kSectorBytes)));
    bytes += filled;
  }
  io::check_whole_records(stream, bytes, record_bytes);
  stream.close();
  return bytes;
}

}  // namespace

std::vector<Run> open_merge_inputs(Inputs& inputs, const KeyLayout& layout,
                                   const MergeInputs& means) {
  const std::size_t record_bytes = layout.record_bytes();
  std::vector<Run> runs;
  std::shared_ptr<io::File> spooled;  // of all inputs that are streams
  std::uint64_t spooled_bytes = 0;
  for (io::File& input : inputs.files) {
    std::shared_ptr<io::File> file{std::shared_ptr<void>(), &input};  // `inputs` owns it
    std::uint64_t bytes = input.size(), offset = 0;
    FileRunSums sums(record_bytes, means.block_bytes);
    input.open();
    if (!input.seekable()) {
      if (spooled == nullptr) {
        spooled = std::make_shared<io::File>(io::File::create_unnamed(means.scratch_directory));
      }
      file = spooled;
      offset = spooled_bytes;
      bytes = spool(input, *file, offset, record_bytes, means.buffer, sums, means.stop);
      spooled_bytes += round_up<std::uint64_t>(bytes, kSectorBytes);
    } else if (input.has_grown(record_bytes)) {
      bytes = input.size();
    }
    if (bytes > 0) {
      runs.push_back(open_file_run(std::move(file), offset, bytes / record_bytes, layout,
                                   means.block_bytes, sums.sums()));
    }
    if (inputs.files.size() > means.most_open) input.close();
  }
  return runs;
}

}  // namespace xxl
