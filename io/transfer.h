// A request on its way through system calls that may each do only a part of it.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/io_queue.h"

namespace xxl::io {

// Knows what is left to do and when it is done; the system calls are made by others:
//
//   do result = system call for next() at offset(); while (!transfer.advance(result));
class Transfer {
 public:
  Transfer() = default;
  explicit Transfer(Request request) : request_(std::move(request)) {}

  const Request& request() const { return request_; }
  // The result so far.
  const Completion& completion() const { return completion_; }

  // True for reads that may wait forever: of a pipe, which another process has to fill.
  bool is_stream_read() const {
    return request_.op == Op::read && request_.offset == Request::kStream;
  }

  // Where the next system call starts; Request::kStream stays.
  std::uint64_t offset() const;
  // What the next system call is to move: the rest, or as much of it as one call takes.
  std::span<std::byte> next() const;

  // Takes the result of that call: bytes, or minus an errno value. True when the transfer is over:
  // all was moved, a read met the end of the file, or there was an error. After EAGAIN and EINTR it
  // is not.
  bool advance(std::int64_t result);

  // Ends it with ECANCELED.
  void cancel() { fail(ECANCELED); }

  // Does all of it with blocking system calls. The read of a stream is cancelled as soon as
  // `cancel_fd`, if there is one, is readable.
  Completion carry_out(int cancel_fd = -1);

  // Completes the request.
  void finish() { request_.done(completion_); }

 private:
  std::int64_t call() const;
  bool wait_until_ready(int cancel_fd) const;
  bool fail(int error);
  bool is_end_of_file() const;

  Request request_;
  Completion completion_;
};

// Blocking, complete transfers for small and rare I/O; `data` aligned as Request::data. read_at
// returns the bytes read: fewer than data.size() only at the end of the file. `cancel_fd`: as of
// Transfer::carry_out().
std::size_t read_at(const File& file, std::uint64_t offset, std::span<std::byte> data,
                    int cancel_fd = -1);
// The same of bytes anywhere in a file, which may be open for direct transfers. Throws Error{io}
// if it does not have them all.
std::vector<std::byte> read_bytes(const File& file, std::uint64_t offset, std::size_t bytes);
void write_at(const File& file, std::uint64_t offset, std::span<const std::byte> data);

}  // namespace xxl::io
