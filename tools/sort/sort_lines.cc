// xxl sort of lines, and the stand-in for sort(1).
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/thread.h"
#include "base/units.h"
#include "cli/manual.h"
#include "job/inputs.h"
#include "job/job_defaults.h"
#include "sort/line_arguments.h"
#include "sort/line_debug.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

[[noreturn]] void throw_file_error(const char* operation, const std::string& file,
                                   int error_number) {
  throw CommandLineError(std::string(operation) + ": " + quote_name(file) + ": " +
                         std::strerror(error_number));
}

// The first bytes of `source`, or without one random bytes of the system.
void fill_salt(const std::string& source, LineOrder& order) {
  auto& salt = order.random_salt;
  if (source.empty()) {
    if (getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size())) {
      throw_io_error(errno, "cannot get random bytes", {});
    }
    return;
  }
  std::FILE* file = std::fopen(source.c_str(), "rb");
  if (file == nullptr) throw_file_error("open failed", source, errno);
  errno = 0;
  const std::size_t bytes = std::fread(salt.data(), 1, salt.size(), file);
  const int error_number = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (bytes == salt.size()) return;
  const std::string name = quoted_for_message(source);
  if (error_number == 0) throw CommandLineError(name + ": end of file");
  throw CommandLineError(name + ": read error: " + std::strerror(error_number));
}

bool can_access(const std::string& file, int mode) {
  return faccessat(AT_FDCWD, file.c_str(), mode, AT_EACCESS) == 0;
}

// Reports files that cannot be read as sort(1) does, before anything is done.
void check_inputs(const std::vector<std::string>& files, const char* operation) {
  for (const std::string& file : files) {
    if (file != "-" && !can_access(file, R_OK)) throw_file_error(operation, file, errno);
  }
}

// Likewise of what can be opened but not read.
void refuse_unreadable(const std::vector<std::string>& files) {
  for (const std::string& file : input_paths(files)) {
    struct stat status {};
    if (file != "-") {
      if (stat(file.c_str(), &status) != 0) continue;
    } else if (fstat(STDIN_FILENO, &status) != 0) {
      throw_file_error("stat failed", file, errno);
    } else if (!S_ISCHR(status.st_mode) && (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY) {
      // (One that was closed is a device, and found to be so when it is read.)
      throw_file_error("read failed", file, EBADF);
    }
    if (S_ISDIR(status.st_mode)) throw_file_error("read failed", file, EISDIR);
  }
}

void check_output(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw_file_error("open failed", file, EISDIR);
    if (!can_access(file, W_OK)) throw_file_error("open failed", file, errno);
    return;
  }
  if (errno == ENOENT && file.ends_with('/')) throw_file_error("open failed", file, EISDIR);
  if (errno != ENOENT || file.empty()) throw_file_error("open failed", file, errno);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string failed(const char* operation, const std::string& file, const Error& error) {
  return std::string(operation) + " failed: " + quote_name(file) + ": " +
         describe_errno(error.sys_errno());
}

// Throws `error`, which `sort` or a check of its input met. If sort(1) has other words, it throws
// those, for scripts that match them; each line follows `prefix`.
[[noreturn]] void throw_as_sort(const Error& error, const SortSpec& sort, bool is_check,
                                const std::string& prefix) {
  if (error.sys_errno() == 0) throw error;
  const Operation operation = error.operation();
  // sort(1) meets it when it empties the buffer of the C library, or before.
  const bool flushes = operation == Operation::write_short;
  const bool writes = flushes || operation == Operation::write || operation == Operation::reserve;
  if (writes && (error.path() == "standard output" || error.path() == sort.output)) {
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

// Copies the lines from `pipe` to standard output, with their keys underlined. If that cannot be
// written, `error` becomes the errno value; the pipe is closed then, which ends the sort.
void underline(int pipe, const LineUnderliner& underliner, char terminator, int& error) {
  std::string text;
  std::string out;
  char buffer[1 << 16];
  while (true) {
    const ssize_t bytes = read(pipe, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(buffer, static_cast<std::size_t>(bytes));
    std::size_t start = 0;
    for (std::size_t end; (end = text.find(terminator, start)) != std::string::npos;
         start = end + 1) {
      underliner.append(std::string_view(text).substr(start, end - start), out);
    }
    text.erase(0, start);
    if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) {
      error = errno;
      break;
    }
    out.clear();
  }
  close(pipe);
}

// --debug: the sorted lines go through a pipe to where they are underlined.
int run_debug(const Caller& caller, const LineArguments& arguments, SortSpec spec) {
  const LineUnderliner underliner(arguments.order);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_io_error(errno, "cannot make a pipe", {});
  int error = 0;
  Thread reader = Thread::start("for --debug", [&, pipe = ends[0]] {
    underline(pipe, underliner, arguments.terminator, error);
  });
  const std::string output = std::exchange(spec.output, "/dev/fd/" + std::to_string(ends[1]));
  std::exception_ptr failure;
  try {
    run_sort_job(caller, arguments.options, spec, output);
  } catch (...) {  // in any case the reader must see the end of the pipe
    failure = std::current_exception();
  }
  close(ends[1]);
  reader.join();
  if (error != 0) throw_io_error(error, Operation::write, "standard output");
  if (failure) std::rethrow_exception(failure);
  return kExitSuccess;
}

int check_lines(const Caller& caller, const LineArguments& arguments) {
  const std::string check = std::string("-") + arguments.check;
  if (arguments.files.size() > 1) {
    throw CommandLineError("extra operand " + quote_name_always(arguments.files[1]) +
                           " not allowed with " + check);
  }
  if (arguments.output) throw CommandLineError("options '" + check + "o' are incompatible");
  if (const auto other = excluded_by_check(arguments.options)) {
    throw CommandLineError("options '" + check + "' and '--" + *other + "' are incompatible");
  }
  const SortSpec spec = line_sort_spec(caller, arguments);
  check_inputs(arguments.files, "open failed");
  refuse_unreadable(arguments.files);
  try {
    return run_check(caller, spec, arguments.check == 'c' ? Check::diagnose : Check::quiet);
  } catch (const Error& error) {
    if (!caller.stands_in) throw;
    throw_as_sort(error, spec, true, caller.prefix);
  }
}

}  // namespace

SortSpec line_sort_spec(const Caller& caller, const LineArguments& arguments) {
  SortSpec spec;
  const ParsedOptions& options = arguments.options;
  set_records(options, spec);
  set_compression(caller, options, spec);
  spec.compressed_by_suffix = !caller.stands_in;  // sort(1) never decompresses files
  spec.merge_only = options.has("merge");
  spec.scratch_dirs = scratch_option(options);
  spec.backend = backend_option(options);
  LineOrder& order = spec.line_order.emplace(arguments.order);
  // The key of --part-by has the letters that are for all keys.
  const bool part_needs_random = order.flags.random && options.has("part-by");
  if (needs_random(order) || part_needs_random) fill_salt(arguments.random_source, order);
  set_output_options(options, spec);
  if (!caller.stands_in) refuse_directory_without_parts(options, spec);
  spec.zero_terminated = arguments.terminator == '\0';
  spec.check_merged = !caller.stands_in;  // sort(1) merges whatever comes
  spec.inputs = arguments.files;
  if (!caller.stands_in && arguments.output == "") refuse_empty_output(options);
  spec.output = arguments.output.value_or("-");
  if (arguments.output == "-") spec.output = "./-";  // a file of that name, as in sort(1)
  // sort(1) accepts any size: it is raised to the minimum, and cut to what there is. Names do not
  // count there.
  const std::uint64_t memory =
      std::max(arguments.memory_bytes.value_or(default_memory_bytes()), kLeastMemoryBytes);
  spec.memory_bytes = caller.stands_in ? cut_to_machine(memory) + name_memory_bytes(arguments.files)
                                       : memory_of_machine(caller.prefix, memory);
  spec.threads = arguments.threads;
  spec.batch_size = arguments.batch_size;
  return spec;
}

int sort_lines(const Caller& caller, const LineArguments& parsed) {
  if (print_if_asked(parsed.options, caller)) return kExitSuccess;
  if (parsed.debug) warn_of_line_keys(caller, parsed);
  if (parsed.check != 0) return check_lines(caller, parsed);

  const SortSpec spec = line_sort_spec(caller, parsed);
  check_inputs(parsed.files, "cannot read");
  if (parsed.output && !has_parts(spec)) check_output(*parsed.output);
  refuse_unreadable(parsed.files);
  try {
    return parsed.debug ? run_debug(caller, parsed, spec)
                        : run_sort_job(caller, parsed.options, spec);
  } catch (const Error& error) {
    die_of_broken_pipe(caller, error);
    if (!caller.stands_in) throw;
    throw_as_sort(error, spec, false, caller.prefix);
  }
}

}  // namespace xxl::cli
