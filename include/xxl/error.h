// The one exception type of the library.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "xxl/export.h"

namespace xxl {

// What kind of failure an Error is.
enum class ErrorCode {
  usage,      // the caller asked for something invalid
  bad_input,  // the input is not what the record format says
  io,         // the operating system reported an error (sys_errno says which)
  no_space,   // a disk, or the memory budget, is too small
  corrupt,    // data read back differ from the data written
  device,     // a GPU failed
};

// The operation that failed, for callers that distinguish them.
enum class Operation {
  other,
  open_input,
  open_output,
  create_temporary,
  reserve,
  read,
  write,
  write_short,  // the one write of an output stream that fits a buffer of the C library
};

// An operation that failed, with the file, the place in it and what was being done.
class XXL_API Error : public std::runtime_error {
 public:
  // offset() of failures without a place.
  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

  // `message` says what is wrong and what to do, in one line without a final period. `path` is the
  // file concerned, or empty. `offset` is the place in it in bytes, or kNoOffset. `sys_errno` is
  // the errno value that caused the error, or 0. what() is "path: byte offset: message: strerror".
  // If a limit of the process was reached, the limit follows.
  Error(ErrorCode code, std::string_view message, std::string_view path = {},
        std::uint64_t offset = kNoOffset, int sys_errno = 0,
        Operation operation = Operation::other);

  // The arguments of the constructor.
  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] int sys_errno() const { return sys_errno_; }
  [[nodiscard]] Operation operation() const { return operation_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  ErrorCode code_;
  int sys_errno_;
  Operation operation_;
  std::string path_;
  std::uint64_t offset_;
};

}  // namespace xxl
