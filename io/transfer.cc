#include "io/transfer.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <iterator>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/no_pipe_signal.h"
#include "base/units.h"

namespace xxl::io {
namespace {

// Linux moves at most 2 GiB less a page in one call; stay below it and aligned.
constexpr std::size_t kMaxCallBytes = kGiB;

// The file's size when it was measured: what was added since is not read.
std::uint64_t current_size(const File& file) {
  struct stat status;
  if (fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode)) return file.size();
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  return file.size() > 0 ? std::min(bytes, file.size()) : bytes;
}

// Bytes, or minus an errno value.
std::int64_t outcome(ssize_t result) {
  return result < 0 ? -errno : result;
}

// In a thread of the program, which a signal would end.
std::int64_t write_stream(int fd, std::span<const std::byte> data) {
  const NoPipeSignal no_signal;
  return outcome(write(fd, data.data(), data.size()));
}

// Waits for what the caller of the library writes.
Completion read_of_caller(IoQueue& caller, Request request) {
  const auto completion = std::make_shared<std::promise<Completion>>();
  request.done = [completion](const Completion& found) { completion->set_value(found); };
  caller.submit(std::move(request));
  return completion->get_future().get();
}

}  // namespace

std::uint64_t Transfer::offset() const {
  if (request_.offset == Request::kStream) return Request::kStream;
  return request_.offset + completion_.bytes;
}

std::span<std::byte> Transfer::next() const {
  const auto rest = request_.data.subspan(completion_.bytes);
  return rest.first(std::min(rest.size(), kMaxCallBytes));
}

bool Transfer::advance(std::int64_t result) {
  if (result == -EINTR || result == -EAGAIN) return false;
  if (result < 0) return fail(static_cast<int>(-result));

  completion_.bytes += static_cast<std::size_t>(result);
  if (completion_.bytes == request_.data.size()) return true;
  if (request_.op == Op::write) return result == 0 ? fail(EIO) : false;
  if (result == 0) return true;
  // A direct read cannot go on from an unaligned place. It gets there at the end of the file, or
  // when a device fails in the middle of a block.
  if (!request_.file->direct() || completion_.bytes % kSectorBytes == 0) return false;
  if (is_end_of_file()) return true;
  return request_.file->direct() ? fail(EIO) : false;  // has_grown() may have ended direct reads
}

Completion Transfer::carry_out(int cancel_fd) {
  if (!is_stream_read()) cancel_fd = -1;
  std::int64_t result = 0;
  do {
    const bool may_have_to_wait = cancel_fd >= 0 || result == -EAGAIN;
    const Decoder* const decoder = request_.file->decoder();
    const bool is_ready = decoder != nullptr && decoder->has_output();
    if (may_have_to_wait && !is_ready && !wait_until_ready(cancel_fd)) {
      cancel();
      return completion_;
    }
    result = call();
  } while (!advance(result));
  return completion_;
}

// One system call; bytes, or minus an errno value.
std::int64_t Transfer::call() const {
  const int fd = request_.file->fd();
  const auto data = next();
  const auto at = static_cast<off_t>(offset());
  const bool stream = request_.offset == Request::kStream;
  if (is_stream_read() && request_.file->decoder() != nullptr) {
    return request_.file->decoder()->read(data);
  }
  if (request_.op == Op::read) {
    return outcome(stream ? read(fd, data.data(), data.size())
                          : pread(fd, data.data(), data.size(), at));
  }
  const auto turn = request_.file->writing_turn();
  const std::int64_t result =
      stream ? write_stream(fd, data) : outcome(pwrite(fd, data.data(), data.size(), at));
  if (result < 0) return result;
  const int error = request_.file->wrote(static_cast<std::size_t>(result));
  return error != 0 ? -error : result;
}

// Sleeps until the file is ready: for one that must not block the thread, or is non-blocking (a
// pipe, set so by a process that shares it). False when `cancel_fd` (negative: none) is readable.
bool Transfer::wait_until_ready(int cancel_fd) const {
  const short events = request_.op == Op::read ? POLLIN : POLLOUT;
  pollfd watched[] = {{request_.file->fd(), events, 0}, {cancel_fd, POLLIN, 0}};
  while (poll(watched, std::size(watched), -1) < 0 && errno == EINTR) {
  }
  return watched[1].revents == 0;
}

bool Transfer::fail(int error) {
  completion_.error = error;
  return true;
}

bool Transfer::is_end_of_file() const {
  return request_.offset == Request::kStream || offset() >= current_size(*request_.file);
}

std::size_t read_at(const File& file, std::uint64_t offset, std::span<std::byte> data,
                    int cancel_fd) {
  Request request{Op::read, &file, offset, data, {}};
  const Completion completion = file.caller() != nullptr
                                    ? read_of_caller(*file.caller(), std::move(request))
                                    : Transfer(std::move(request)).carry_out(cancel_fd);
  if (completion.error != 0) throw_io_error(completion.error, Operation::read, file.path(), offset);
  return completion.bytes;
}

std::vector<std::byte> read_bytes(const File& file, std::uint64_t offset, std::size_t bytes) {
  const std::uint64_t begin = round_down<std::uint64_t>(offset, kSectorBytes);
  const auto skipped = static_cast<std::size_t>(offset - begin);
  const MemoryRegion buffer(round_up(skipped + bytes, kSectorBytes));
  if (read_at(file, begin, buffer.span()) < skipped + bytes) {
    throw_io_error(EIO, "ends too early", file.path(), offset);
  }
  const auto read = buffer.span().subspan(skipped, bytes);
  return {read.begin(), read.end()};
}

void write_at(const File& file, std::uint64_t offset, std::span<const std::byte> data) {
  file.note_write(offset, data);
  const std::span writable(const_cast<std::byte*>(data.data()), data.size());  // only read from
  Transfer transfer({Op::write, &file, offset, writable, {}});
  const Completion completion = transfer.carry_out();
  if (completion.error != 0)
    throw_io_error(completion.error, Operation::write, file.path(), offset);
}

}  // namespace xxl::io
