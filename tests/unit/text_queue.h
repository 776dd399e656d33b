// A text that is read as a stream: File::of_caller().
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "io/io_queue.h"

namespace xxl::test {

class TextQueue final : public io::IoQueue {
 public:
  explicit TextQueue(std::string text) : text_(std::move(text)) {}

  // `name`: of the file. Once.
  io::File file(const std::string& name) { return io::File::of_caller(*this, name); }
  std::size_t bytes_read() const { return position_; }

  void submit(io::Request request) noexcept override {
    const std::size_t bytes = std::min(request.data.size(), text_.size() - position_);
    std::memcpy(request.data.data(), text_.data() + position_, bytes);
    position_ += bytes;
    request.done({0, bytes});
  }
  void register_memory(std::span<std::byte>) override {}
  io::QueueStats stats() const override { return {}; }
  std::string name() const override { return "text"; }

 private:
  const std::string text_;
  std::size_t position_ = 0;
};

}  // namespace xxl::test
