#include "engine/callers/block_writer.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace xxl {

BlockWriter::BlockWriter(ByteSink& sink, std::size_t buffer_bytes, Monitor& monitor)
    : sink_(sink),
      monitor_(monitor),
      memory_(std::max<std::size_t>(3, buffer_bytes / kBlockBytes) * kBlockBytes),
      blocks_(memory_.size() / kBlockBytes) {
  for (std::size_t i = 0; i < blocks_; ++i) free_.push_back(memory_.data() + i * kBlockBytes);
}

BlockWriter::~BlockWriter() {
  if (!finished_) sink_.give_up();
}

std::span<std::byte> BlockWriter::room() {
  if (filled_ != nullptr) hand_on(kBlockBytes);
  wait_for_blocks(1);
  auto lock = monitor_.lock();
  filled_ = free_.back();
  free_.pop_back();
  return {filled_, kBlockBytes};
}

void BlockWriter::finish(std::size_t bytes) {
  if (bytes > 0) {
    hand_on(bytes);
  } else if (filled_ != nullptr) {
    auto lock = monitor_.lock();
    free_.push_back(std::exchange(filled_, nullptr));
  }
  wait_for_blocks(blocks_);
  sink_.finish();
  monitor_.check();
  finished_ = true;
}

void BlockWriter::hand_on(std::size_t bytes) {
  std::byte* const block = std::exchange(filled_, nullptr);
  bytes_ += bytes;
  sink_.put(index_++, block, bytes,
            [this, block, token = in_flight_.begin()](std::exception_ptr failure) mutable {
              if (failure != nullptr) monitor_.fail(std::move(failure));
              {
                auto lock = monitor_.lock();
                free_.push_back(block);
              }
              monitor_.notify();
              token.reset();
            });
}

void BlockWriter::wait_for_blocks(std::size_t count) {
  try {
    auto lock = monitor_.lock();
    monitor_.wait(lock, [&] { return free_.size() >= count; });
  } catch (const Monitor::Abandoned&) {
    monitor_.check();
  }
}

}  // namespace xxl
