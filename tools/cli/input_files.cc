#include "cli/input_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "base/quote.h"

namespace xxl::cli {

std::vector<std::string> read_names0(const std::string& file) {
  std::ifstream stream;
  if (file != "-") {
    stream.open(file, std::ios::binary);
    if (!stream) {
      throw CommandLineError("open failed: " + quote_name(file) + ": " + std::strerror(errno));
    }
  }
  std::istream& in = file == "-" ? std::cin : stream;
  std::vector<std::string> names;
  for (std::string name; std::getline(in, name, '\0');) names.push_back(name);
  const bool failed = in.bad() || (file == "-" && std::ferror(stdin) != 0);
  if (failed || (file != "-" && names.empty() && access((file + "/.").c_str(), F_OK) == 0)) {
    throw CommandLineError("cannot read file names from " + quote_name_always(file));
  }
  if (names.empty()) throw CommandLineError("no input from " + quote_name_always(file));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "-") {
      throw CommandLineError("when reading file names from stdin, no file name of " +
                             quote_name_always(names[i]) + " allowed");
    }
    if (names[i].empty()) {
      throw CommandLineError(quote_name(file) + ":" + std::to_string(i + 1) +
                             ": invalid zero-length file name");
    }
  }
  return names;
}

std::vector<std::string> input_files(const ParsedOptions& options) {
  std::vector<std::string> files = options.operands();
  if (options.has("files0-from")) {
    if (!files.empty()) {
      throw_usage(options.command(), "file operands cannot be combined with --files0-from");
    }
    files = read_names0(options.value("files0-from", ""));
  }
  if (files.empty()) files.push_back("-");
  return files;
}

}  // namespace xxl::cli
