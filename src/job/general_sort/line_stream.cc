#include "job/general_sort/line_stream.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

constexpr std::size_t kBufferBytes = 64 * kKiB;

}  // namespace

LineStream::LineStream(int fd, std::string name, char terminator)
    : file_(io::File::stream(fd, std::move(name))),
      terminator_(terminator),
      buffer_(kBufferBytes) {}

// Makes room where there is none, and reads what there is. False at the end.
bool LineStream::read_more() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  for (;;) {
    const ssize_t bytes = read(file_.fd(), buffer_.data() + end_, buffer_.size() - end_);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) throw Error(ErrorCode::io, "read error", {}, Error::kNoOffset, errno);
    at_end_ = bytes == 0;
    end_ += static_cast<std::size_t>(bytes);
    return !at_end_;
  }
}

bool LineStream::advance() {
  std::size_t searched = 0;  // of what has not been handed out
  for (;;) {
    const char* const from = buffer_.data() + begin_;
    const std::size_t left = end_ - begin_;
    const void* const found = std::memchr(from + searched, terminator_, left - searched);
    if (found != nullptr) {
      const auto size = static_cast<std::size_t>(static_cast<const char*>(found) - from);
      record_ = {from, size};
      begin_ += size + 1;
      return true;
    }
    searched = left;
    if (read_more()) continue;
    if (left == 0) return false;
    record_ = {buffer_.data() + begin_, left};  // without its terminator
    begin_ = end_;
    return true;
  }
}

}  // namespace xxl
