#include "io/decoder.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace xxl::io {

Decoder::Decoder(int fd, Codec codec, std::string path, std::size_t max_window_bytes)
    : fd_(fd), codec_(codec), path_(std::move(path)), max_window_bytes_(max_window_bytes) {}

std::int64_t Decoder::read(std::span<std::byte> to) {
  try {
    return finished_ ? 0 : read_on(to);
  } catch (...) {
    failure_ = std::current_exception();
    return -EBADMSG;
  }
}

std::int64_t Decoder::read_on(std::span<std::byte> to) {
  if (!decompressor_) {
    decompressor_.emplace(codec_, path_, max_window_bytes_);
    memory_ = MemoryRegion(kPieceBytes);
  }
  if (decompressor_->wants_input()) {
    const ssize_t bytes = ::read(fd_, memory_.data(), kPieceBytes);
    if (bytes < 0) return -errno;
    if (bytes > 0) {
      decompressor_->give(memory_.span().first(static_cast<std::size_t>(bytes)));
    } else {
      decompressor_->finish_input();
    }
  }
  const std::size_t made = decompressor_->read(to);
  if (decompressor_->at_end()) {
    finished_ = true;
    decompressor_.reset();
    memory_ = {};
  }
  return made > 0 || finished_ ? static_cast<std::int64_t>(made) : -EAGAIN;
}

}  // namespace xxl::io
