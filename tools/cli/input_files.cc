#include "cli/input_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include "base/quote.h"
#include "base/units.h"
#include "job/job_defaults.h"

namespace xxl::cli {
namespace {

// No file can have a longer name; sort(1) reads any before it says so.
constexpr std::size_t kMostNameBytes = 64 * kKiB;
constexpr std::size_t kMostNameBytesOfSort = 16 * kMiB;

// What names take is counted against -S later; what never ends must end here.
constexpr std::uint64_t kPartForNames = 8;  // of the memory that this process may use

std::string place_of(const std::string& file, std::size_t number) {
  return quote_name(file) + ":" + std::to_string(number) + ": ";
}

void check_name(const std::string& file, const std::string& name, std::size_t number,
                bool as_sort) {
  if (name == "-") {
    throw CommandLineError("when reading file names from stdin, no file name of " +
                           quote_name_always(name) + " allowed");
  }
  if (name.empty())
    throw CommandLineError(place_of(file, number) + "invalid zero-length file name");
  const bool has_lines = name.find('\n') != std::string::npos;
  if (has_lines && !as_sort && access(name.c_str(), F_OK) != 0) {
    throw CommandLineError(place_of(file, number) +
                           "names in lines: they must be separated by zero bytes (find -print0, "
                           "or tr '\\n' '\\0')");
  }
}

}  // namespace

std::vector<std::string> read_names0(const std::string& file, bool as_sort) {
  std::ifstream stream;
  if (file != "-") {
    stream.open(file, std::ios::binary);
    if (!stream) {
      throw CommandLineError("open failed: " + quote_name(file) + ": " + std::strerror(errno));
    }
  }
  std::istream& in = file == "-" ? std::cin : stream;
  std::vector<std::string> names;
  std::uint64_t total = 0;
  const std::uint64_t most = usable_memory_bytes() / kPartForNames;
  const std::size_t most_of_one = as_sort ? kMostNameBytesOfSort : kMostNameBytes;
  const auto buffer = std::make_unique_for_overwrite<char[]>(most_of_one + 1);
  const auto size = static_cast<std::streamsize>(most_of_one + 1);
  while (in.getline(buffer.get(), size, '\0') || in.gcount() > 0) {
    if (in.bad()) break;
    const std::size_t number = names.size() + 1;
    const auto read = static_cast<std::size_t>(in.gcount());  // the last may lack its zero byte
    std::string name(buffer.get(), in.eof() || in.fail() ? read : read - 1);
    check_name(file, name, number, as_sort);
    if (in.fail()) {
      throw CommandLineError(place_of(file, number) + "a file name of more than " +
                             format_bytes(most_of_one) + ": names must end with a zero byte");
    }
    total += sizeof(name) + name.size();
    if (total > most) {
      throw CommandLineError("the file names from " + quote_name_always(file) + " take more than " +
                             format_bytes(most) + " of memory: give fewer at a time");
    }
    names.push_back(std::move(name));
  }
  const bool failed = in.bad() || (file == "-" && std::ferror(stdin) != 0);
  if (failed || (file != "-" && names.empty() && access((file + "/.").c_str(), F_OK) == 0)) {
    throw CommandLineError("cannot read file names from " + quote_name_always(file));
  }
  if (names.empty()) throw CommandLineError("no input from " + quote_name_always(file));
  return names;
}

std::vector<std::string> input_files(const ParsedOptions& options) {
  std::vector<std::string> files = options.operands();
  if (options.has("files0-from")) {
    if (!files.empty()) {
      throw_usage(options.command(), "file operands cannot be combined with --files0-from");
    }
    files = read_names0(options.value("files0-from", ""), false);
  }
  if (files.empty()) files.push_back("-");
  return files;
}

}  // namespace xxl::cli
