#include "sort/sort_errors.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/quote.h"
#include "cli/parse_options.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kStandardOutput = "standard output";

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string failed(const char* operation, const std::string& file, const Error& error) {
  return std::string(operation) + " failed: " + quote_name(file) + ": " +
         describe_errno(error.sys_errno());
}

}  // namespace

void throw_as_sort(const Error& error, const SortSpec& sort, bool is_check,
                   const std::string& prefix) {
  if (error.sys_errno() == 0) throw error;
  const Operation operation = error.operation();
  // sort(1) meets it when it empties the buffer of the C library, or before.
  const bool flushes = operation == Operation::write_short;
  const bool writes = flushes || operation == Operation::write || operation == Operation::reserve;
  if (writes && (error.path() == kStandardOutput || error.path() == sort.output)) {
    throw CommandLineError(failed(flushes ? "fflush" : "write", error.path(), error) + "\n" +
                           prefix + "write error");
  }
  if (operation == Operation::open_output) {
    throw CommandLineError(failed("open", sort.output, error));
  }
  if (contains(sort.inputs, error.path())) {
    // sort(1) checks standard input before it reads, unless it checks order or merges.
    const bool closed = error.path() == "-" && error.sys_errno() == EBADF;
    if (closed && !is_check && !sort.merge_only) {
      throw CommandLineError(failed("stat", error.path(), error));
    }
    if (closed || operation == Operation::read) {
      throw CommandLineError(failed("read", error.path(), error));
    }
    if (operation == Operation::open_input) {
      throw CommandLineError(failed("open", error.path(), error));
    }
  }
  if (operation == Operation::create_temporary && contains(sort.scratch_dirs, error.path())) {
    throw CommandLineError("cannot create temporary file in " + quote_name_always(error.path()) +
                           ": " + describe_errno(error.sys_errno()));
  }
  throw error;
}

}  // namespace xxl::cli
