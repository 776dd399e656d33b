#include "base/error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "base/queue_failure.h"
#include "base/quote.h"

namespace xxl {
namespace {

// " (limit 1024): raise it with ulimit -n"; empty if there is no limit.
std::string limit_hint(int resource, const char* unit, const char* option) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return " (limit " + std::to_string(limit.rlim_cur) + unit + "): raise it with ulimit " + option;
}

// What the system calls the error, and for limits of the process how to raise them.
std::string describe(int sys_errno) {
  if (sys_errno > kRingFailed) {
    return "io_uring has failed (" + describe(sys_errno - kRingFailed) + "): try --io=threads";
  }
  std::string text = std::generic_category().message(sys_errno);
  if (sys_errno == EMFILE) text += limit_hint(RLIMIT_NOFILE, "", "-n");
  if (sys_errno == EFBIG) text += limit_hint(RLIMIT_FSIZE, " bytes", "-f");
  return text;
}

std::string compose(std::string_view message, std::string_view path, std::uint64_t offset,
                    int sys_errno) {
  std::string text;
  if (!path.empty()) text.append(quote_controls(path)).append(": ");
  if (offset != Error::kNoOffset) text.append("byte ").append(std::to_string(offset)).append(": ");
  text.append(message);
  if (sys_errno != 0) text.append(": ").append(describe(sys_errno));
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
  std::fprintf(stderr,
               "xxl: internal error: %s does not hold at %s:%d; no output file was written, and "
               "what is on standard output is not complete\n",
               condition, file, line);
  std::abort();
}

}  // namespace xxl
