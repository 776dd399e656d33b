#include "sort_errors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/quote.h"
#include "parse_options.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kStandardOutput = "standard output";

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string failed(const char* operation, const Error& error) {
  return std::string(operation) + " failed: " + quote_name(error.path()) + ": " +
         std::strerror(error.sys_errno());
}

}  // namespace

void throw_as_sort(const Error& error, const TextSortOptions& sort, bool is_check,
                   const std::string& prefix) {
  const std::string_view what = error.what();
  const auto tells = [&](std::string_view words) {
    return error.sys_errno() != 0 && what.find(words) != std::string_view::npos;
  };
  const bool writes = tells("cannot write") || tells("cannot reserve");
  if (writes && (error.path() == kStandardOutput || error.path() == sort.output)) {
    throw CommandLineError(failed("write", error) + "\n" + prefix + "write error");
  }
  if (contains(sort.inputs, error.path())) {
    // sort(1) looks at standard input before it reads, unless it checks or merges.
    const bool closed = error.path() == "-" && error.sys_errno() == EBADF;
    if (closed && !is_check && !sort.merge_only) throw CommandLineError(failed("stat", error));
    if (closed || tells("cannot read")) throw CommandLineError(failed("read", error));
    if (tells("cannot open")) throw CommandLineError(failed("open", error));
  }
  if (tells("cannot create a temporary file") && contains(sort.scratch_dirs, error.path())) {
    throw CommandLineError("cannot create temporary file in " + quote_name_always(error.path()) +
                           ": " + std::strerror(error.sys_errno()));
  }
  throw error;
}

}  // namespace xxl::cli
