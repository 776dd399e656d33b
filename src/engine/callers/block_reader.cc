#include "engine/callers/block_reader.h"

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "io/input_checks.h"

namespace xxl {
namespace {

constexpr std::size_t kBlockBytes = kMiB;

}  // namespace

BlockReader::BlockReader(const io::File& file, std::uint64_t begin, std::uint64_t end,
                         std::size_t record_bytes, std::size_t buffer_bytes, io::IoService& io)
    : file_(file),
      io_(io),
      record_bytes_(record_bytes),
      end_(end),
      block_bytes_(round_up(std::max(kBlockBytes, record_bytes), kSectorBytes)),
      blocks_(std::max<std::size_t>(3, buffer_bytes / block_bytes_)),
      position_(round_down<std::uint64_t>(begin, kSectorBytes)),
      skip_(static_cast<std::size_t>(begin - position_)) {
  const std::size_t headroom = round_up(record_bytes, kSectorBytes);
  memory_ = MemoryRegion(blocks_.size() * (headroom + block_bytes_));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].memory = memory_.data() + i * (headroom + block_bytes_) + headroom;
  }
  issue();
}

BlockReader::~BlockReader() {
  if (!file_.seekable()) io_.cancel_streams();
}

// As many as there are blocks for, but the one that the caller has; of a stream, one.
void BlockReader::issue() {
  const std::size_t most = file_.seekable() ? blocks_.size() - 1 : 1;
  while (position_ < end_ && issued_ - taken_ < most) issue_next();
}

void BlockReader::issue_next() {
  Block& block = blocks_[issued_++ % blocks_.size()];
  block.offset = position_;
  block.wanted = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes_, end_ - position_));
  block.done = false;
  position_ += block.wanted;
  io::Request request;
  request.op = io::Op::read;
  request.file = &file_;
  request.offset = file_.seekable() ? block.offset : io::Request::kStream;
  request.data = {block.memory,
                  file_.direct() ? round_up(block.wanted, kSectorBytes) : block.wanted};
  request.done = [this, &block,
                  token = in_flight_.begin()](const io::Completion& completion) mutable {
    {
      auto lock = monitor_.lock();
      block.completion = completion;
      block.done = true;
    }
    monitor_.notify();
    token.reset();
  };
  io_.queue_for(file_).submit(std::move(request));
}

// Returns the bytes that have arrived.
std::size_t BlockReader::wait(Block& block) {
  {
    auto lock = monitor_.lock();
    monitor_.wait(lock, [&] { return block.done; });
  }
  if (file_.seekable()) {
    io::check_read(file_, block.offset, block.wanted, block.completion);
    return block.wanted;
  }
  io::check_read(file_, block.offset, 0, block.completion);
  if (block.completion.bytes < block.wanted) {
    position_ = end_;
    io::check_whole_records(file_, block.offset + block.completion.bytes, record_bytes_);
  }
  return block.completion.bytes;
}

std::span<const std::byte> BlockReader::next() {
  while (taken_ < issued_) {
    Block& block = blocks_[taken_ % blocks_.size()];
    const std::size_t arrived = wait(block);
    std::byte* begin = block.memory + skip_;
    skip_ = 0;
    std::byte* const end = block.memory + arrived;
    if (!cut_.empty()) {
      begin -= cut_.size();
      std::memcpy(begin, cut_.data(), cut_.size());
    }
    ++taken_;
    issue();
    const std::size_t whole = round_down(static_cast<std::size_t>(end - begin), record_bytes_);
    cut_ = {begin + whole, end};
    if (whole > 0) return {begin, whole};
  }
  return {};
}

}  // namespace xxl
