#include "base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace xxl {
namespace {

std::string compose(std::string_view message, std::string_view path, std::uint64_t offset,
                    int sys_errno) {
  std::string text;
  if (!path.empty()) text.append(path).append(": ");
  if (offset != Error::kNoOffset) text.append("byte ").append(std::to_string(offset)).append(": ");
  text.append(message);
  if (sys_errno != 0) text.append(": ").append(std::generic_category().message(sys_errno));
  return text;
}

}  // namespace

Error::Error(ErrorCode code, std::string_view message, std::string_view path, std::uint64_t offset,
             int sys_errno)
    : std::runtime_error(compose(message, path, offset, sys_errno)),
      code_(code),
      sys_errno_(sys_errno),
      path_(path),
      offset_(offset) {}

void throw_io_error(int sys_errno, std::string_view operation, std::string_view path,
                    std::uint64_t offset) {
  const bool full = sys_errno == ENOSPC || sys_errno == EDQUOT;
  throw Error(full ? ErrorCode::no_space : ErrorCode::io, operation, path, offset, sys_errno);
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "xxl: internal error: %s does not hold at %s:%d; no output was written\n",
               condition, file, line);
  std::abort();
}

}  // namespace xxl
