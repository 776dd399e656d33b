#include "run/part_sink.h"

#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/sector_checksum.h"
#include "base/units.h"

namespace xxl {
namespace {

// The writes of a block, of which there is one for each part in it.
struct BlockWrites {
  std::mutex mutex;
  std::size_t left;
  std::exception_ptr failure;
  ByteSink::Done done;

  void end(std::exception_ptr write_failed) {
    {
      std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::move(write_failed);
      if (--left > 0) return;
    }
    done(std::move(failure));
  }
};

}  // namespace

// The last block of all is filled up with zeros, if parts begin at sectors: files are written in
// whole sectors then.
void PartSink::put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) {
  const bool by_sectors = parts_.alignment() == kSectorBytes;
  const std::size_t padded = by_sectors ? round_up(bytes, kSectorBytes) : bytes;
  std::memset(buffer + bytes, 0, padded - bytes);
  const std::uint64_t begin = index * block_bytes_;
  const auto stretches = parts_.stretches(begin, begin + padded);
  if (stretches.empty()) return done(nullptr);
  const auto writes = std::make_shared<BlockWrites>();
  writes->left = stretches.size();
  writes->done = std::move(done);
  // One by one, as there may be more parts in a block than files that can be open.
  for (const auto& [part, offset, size] : stretches) {
    const std::span<std::byte> data(buffer, size);
    buffer += size;
    if (by_sectors) parts_.note_checksum(part, sector_checksum(data, offset / kSectorBytes));
    std::shared_ptr<const io::File> file;
    try {
      file = file_of_(part, offset + size);
    } catch (...) {
      writes->end(std::current_exception());
      continue;
    }
    file->note_write(offset, data);
    io::Request request{io::Op::write, file.get(), offset, data, {}};
    io::IoQueue& queue = io_.queue_for(*file);
    request.done = [file, offset = offset, size = size, writes,
                    token = in_flight_.begin()](const io::Completion& completion) mutable {
      std::exception_ptr failure = write_failure(completion, size, *file, offset);
      file.reset();
      writes->end(std::move(failure));
      token.reset();
    };
    file.reset();
    queue.submit(std::move(request));
  }
}

}  // namespace xxl
