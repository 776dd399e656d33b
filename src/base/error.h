// Errors as they are thrown within the library, and checks of invariants.
//
// An operation on a file that fails throws Error (xxl/error.h); the command line turns it into one
// line and exit status 2. A broken invariant of the program itself is a CHECK: it stays on in
// release builds and aborts, since a sort that has lost track of its own state must not go on to
// write output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "xxl/error.h"

namespace xxl {

// Throws Error{io, message, path, offset, sys_errno}; ENOSPC and EDQUOT become no_space.
[[noreturn]] void throw_io_error(int sys_errno, std::string_view message, std::string_view path,
                                 std::uint64_t offset = Error::kNoOffset);
// The same with the common words for that operation.
[[noreturn]] void throw_io_error(int sys_errno, Operation operation, std::string_view path,
                                 std::uint64_t offset = Error::kNoOffset);

// Throws Error{io} with sys_errno ECANCELED: the caller asked for it.
[[noreturn]] void throw_stopped();

// The system's text of the error, or the text for a failed queue (queue_failure.h).
std::string describe_errno(int sys_errno);

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace xxl

#define XXL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::xxl::check_failed(#condition, __FILE__, __LINE__))
