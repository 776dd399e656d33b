// Failures within the module: exceptions, which end at its functions.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "columns/files/module_table.h"
#include "xxl/error.h"

namespace xxl::arrow_module {

using module_table::Failure;

class Failed : public std::exception {
 public:
  Failed(ErrorCode code, std::string text, int sys_errno = 0)
      : code_(code), sys_errno_(sys_errno), text_(std::move(text)) {}

  const char* what() const noexcept override { return text_.c_str(); }
  ErrorCode code() const { return code_; }
  int sys_errno() const { return sys_errno_; }

 private:
  ErrorCode code_;
  int sys_errno_;
  std::string text_;
};

// "a.parquet: row group 3: column x: why"; empty parts are left out.
std::string joined(std::initializer_list<std::string_view> parts);

// What Arrow says, on one line.
std::string message_of(const ::arrow::Status& status);

// A failure of a system call as Arrow has it, which keeps its errno value. `what` names the
// operation; the errno value's own text is not part of the message.
::arrow::Status system_error(int sys_errno, const char* what);

// Throws Failed with `place` in front unless `status` is good. What is not said to be about memory
// or the system is about the input.
void check(const ::arrow::Status& status, std::string_view place);

template <class T>
T check(::arrow::Result<T> result, std::string_view place) {
  check(result.status(), place);
  return std::move(result).MoveValueUnsafe();
}

// Whatever is being thrown, as the other side of the seam gets it.
void describe_current(Failure& failure);

// Runs `step`; false if it threw, which `failure` then describes.
template <class Step>
bool guarded(Failure* failure, Step&& step) noexcept {
  try {
    step();
    return true;
  } catch (...) {
    describe_current(*failure);
    return false;
  }
}

}  // namespace xxl::arrow_module
