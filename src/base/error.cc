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

std::string_view words_for(Operation operation) {
  switch (operation) {
    case Operation::open_input:
      return "cannot open for reading";
    case Operation::open_output:
      return "cannot open for writing";
    case Operation::create_temporary:
      return "cannot create a temporary file";
    case Operation::reserve:
      return "cannot reserve space";
    case Operation::read:
      return "cannot read";
    case Operation::write:
    case Operation::write_short:
      return "cannot write";
    case Operation::other:
      break;
  }
  return "cannot go on";
}

ErrorCode code_for(int sys_errno) {
  return sys_errno == ENOSPC || sys_errno == EDQUOT ? ErrorCode::no_space : ErrorCode::io;
}

std::string compose(std::string_view message, std::string_view path, std::uint64_t offset,
                    int sys_errno) {
  std::string text;
  if (!path.empty()) text.append(quote_controls(path)).append(": ");
  if (offset != Error::kNoOffset) text.append("byte ").append(std::to_string(offset)).append(": ");
  text.append(message);
  if (sys_errno != 0) text.append(": ").append(describe_errno(sys_errno));
  if (sys_errno == EMFILE) text += limit_hint(RLIMIT_NOFILE, "", "-n");
  if (sys_errno == EFBIG) text += limit_hint(RLIMIT_FSIZE, " bytes", "-f");
  return text;
}

}  // namespace

Error::Error(ErrorCode code, std::string_view message, std::string_view path, std::uint64_t offset,
             int sys_errno, Operation operation)
    : std::runtime_error(compose(message, path, offset, sys_errno)),
      code_(code),
      sys_errno_(sys_errno),
      operation_(operation),
      path_(path),
      offset_(offset) {}

void throw_io_error(int sys_errno, std::string_view message, std::string_view path,
                    std::uint64_t offset) {
  throw Error(code_for(sys_errno), message, path, offset, sys_errno);
}

void throw_io_error(int sys_errno, Operation operation, std::string_view path,
                    std::uint64_t offset) {
  throw Error(code_for(sys_errno), words_for(operation), path, offset, sys_errno, operation);
}

void throw_stopped() {
  throw_io_error(ECANCELED, "stopped on request", {});
}

std::string describe_errno(int sys_errno) {
  if (sys_errno <= kRingFailed) return std::generic_category().message(sys_errno);
  return "io_uring has failed (" + describe_errno(sys_errno - kRingFailed) + "): try --io=threads";
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "xxl: internal error: %s does not hold at %s:%d; no output file was written, and "
               "what is on standard output is not complete\n",
               condition, file, line);
  std::abort();
}

}  // namespace xxl
