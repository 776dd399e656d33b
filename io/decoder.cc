#include "io/decoder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace xxl::io {

Decoder::Decoder(int fd, Codec codec, bool is_text, std::string path, std::size_t max_window_bytes)
    : fd_(fd),
      codec_(codec),
      path_(std::move(path)),
      max_window_bytes_(max_window_bytes),
      checks_content_(is_text) {}

void Decoder::start(std::span<const std::byte> head) {
  decompressor_.emplace(codec_, path_, max_window_bytes_);
  memory_ = MemoryRegion(kPieceBytes);
  if (!head.empty()) decompressor_->give(head);
}

std::int64_t Decoder::recognize() {
  while (head_bytes_ < head_.size()) {
    const ssize_t bytes = ::read(fd_, head_.data() + head_bytes_, head_.size() - head_bytes_);
    if (bytes < 0) return -errno;
    if (bytes == 0) break;
    head_bytes_ += static_cast<std::size_t>(bytes);
  }
  const auto head = std::span<const std::byte>(head_).first(head_bytes_);
  codec_ = recognize_content(head, path_);
  is_plain_ = codec_ == Codec::none;
  if (!is_plain_) start(head);
  return 0;
}

std::int64_t Decoder::read_plain(std::span<std::byte> to) {
  if (head_bytes_ == 0) {
    const ssize_t bytes = ::read(fd_, to.data(), to.size());
    return bytes < 0 ? -errno : bytes;
  }
  const std::size_t taken = std::min(head_bytes_, to.size());
  std::copy_n(head_.begin(), taken, to.begin());
  std::copy(head_.begin() + static_cast<std::ptrdiff_t>(taken),
            head_.begin() + static_cast<std::ptrdiff_t>(head_bytes_), head_.begin());
  head_bytes_ -= taken;
  return static_cast<std::int64_t>(taken);
}

std::int64_t Decoder::read(std::span<std::byte> to) {
  try {
    return finished_ ? 0 : read_on(to);
  } catch (...) {
    failure_ = std::current_exception();
    return -EBADMSG;
  }
}

std::int64_t Decoder::read_on(std::span<std::byte> to) {
  if (!decompressor_ && !is_plain_) {
    if (codec_ != Codec::none) {
      start({});
    } else if (const std::int64_t error = recognize(); error < 0) {
      return error;
    }
  }
  if (is_plain_) return read_plain(to);
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
  if (made > 0 && std::exchange(checks_content_, false)) {
    recognize_content(to.first(std::min(made, kContentBytes)), path_);
  }
  if (decompressor_->at_end()) {
    finished_ = true;
    decompressor_.reset();
    memory_ = {};
  }
  return made > 0 || finished_ ? static_cast<std::int64_t>(made) : -EAGAIN;
}

}  // namespace xxl::io
