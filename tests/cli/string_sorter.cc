// Sorts the lines of a file with the library's sorter, for memory_advice.py, and drops them:
//
//   xxl_string_sorter MEMORY_BYTES SCRATCH FILE [unique | descending | keyed | limit | repeatable]
//
// Status 2 and a line of error where the sorter throws one.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>

#include "xxl/sorter.h"

namespace {

// What is behind the first 9 bytes is no part of the key.
struct Keyed {
  std::string text;
};
struct ByStart {
  void append_key(const Keyed& record, std::string& to) const { to += record.text.substr(0, 9); }
  void append_record(const Keyed& record, std::string& to) const { to += record.text; }
  Keyed record(std::string_view bytes) const { return {std::string(bytes)}; }
};

template <class Sorter>
void sort_lines(Sorter sorter, const char* file, bool twice) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) sorter.push({std::move(line)});
  sorter.sort();
  for (; !sorter.empty(); ++sorter) {
  }
  if (!twice) return;
  sorter.rewind();
  for (; !sorter.empty(); ++sorter) {
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 1;
  const std::string_view how = count > 4 ? arguments[4] : "";
  try {
    const xxl::resources means(
        {.memory_bytes = std::stoull(arguments[1]), .scratch_dirs = {arguments[2]}});
    xxl::sorter_options options;
    options.unique = how == "unique";
    options.limit = how == "limit" ? 3 : options.limit;
    options.repeatable = how == "repeatable";
    if (how == "keyed") {
      sort_lines(xxl::sorter<Keyed, ByStart>({}, means, options), arguments[3], false);
    } else if (how == "descending") {
      sort_lines(xxl::sorter<std::string, xxl::order<std::string>>(
                     xxl::order<std::string>::descending(), means, options),
                 arguments[3], false);
    } else {
      sort_lines(xxl::sorter<std::string>({}, means, options), arguments[3], options.repeatable);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
