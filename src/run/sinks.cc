#include "run/sinks.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl {

void WritingSink::write(const io::File& file, std::uint64_t offset, std::byte* buffer,
                        std::size_t bytes) {
  io::Request request;
  request.op = io::Op::write;
  request.file = &file;
  request.offset = offset;
  request.data = {buffer, bytes};
  request.done = [this, &file, offset, buffer,
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    mailbox_.post([this, &file, offset, buffer, completion] {
      --pending_;
      buffers_.give_back(buffer);
      if (completion.error != 0) {
        throw_io_error(completion.error, Operation::write, file.path(), offset);
      }
      written();
    });
    token.reset();
  };
  ++pending_;
  io_.queue_for(file).submit(std::move(request));
}

void ScratchSink::put(const FinishedBlock& block) {
  if (run_.blocks.size() <= block.index) run_.blocks.resize(block.index + 1);
  const io::ScratchPlace place = store_.allocate(stripe_);
  run_.blocks[block.index] = {block.trigger, block.checksum, place};
  run_.records += block.bytes / record_bytes_;
  write(store_.file(place), store_.offset(place), block.buffer,
        round_up(block.bytes, kSectorBytes));
}

void FileSink::put(const FinishedBlock& block) {
  const std::size_t bytes = round_up(block.bytes, kSectorBytes);
  std::memset(block.buffer + block.bytes, 0, bytes - block.bytes);
  const std::uint64_t offset = block.index * block_bytes_;
  if (reserve_) reserve_(offset + bytes);
  write(file_, offset, block.buffer, bytes);
}

void StreamSink::put(const FinishedBlock& block) {
  waiting_.emplace(block.index, block);
  if (WritingSink::pending() == 0) written();
}

void StreamSink::written() {
  const auto block = waiting_.find(next_);
  if (block == waiting_.end()) return;
  ++next_;
  const FinishedBlock next = block->second;
  waiting_.erase(block);
  write(file_, io::Request::kStream, next.buffer, next.bytes);
}

}  // namespace xxl
