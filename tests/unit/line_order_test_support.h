// For tests of the order of lines: options as sort(1) takes them, sort(1) itself, locales.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "record/line_keys.h"

namespace xxl::test {

// The locale of the process during a test; ok() is false if the machine does not have it.
class ScopedLocale {
 public:
  explicit ScopedLocale(const char* name) : ok_(std::setlocale(LC_ALL, name) != nullptr) {}
  ~ScopedLocale() { std::setlocale(LC_ALL, "C"); }
  ScopedLocale(const ScopedLocale&) = delete;
  ScopedLocale& operator=(const ScopedLocale&) = delete;
  bool ok() const { return ok_; }

 private:
  bool ok_;
};

// The name of a test with a locale's name as parameter.
inline std::string locale_test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

// Options as words: letters behind a minus sign, -kPOS, -tC. Throws as the parsers do.
inline LineOrder line_order_of(const std::vector<std::string>& options) {
  LineOrder order;
  for (const std::string& option : options) {
    if (option.starts_with("-k")) {
      order.fields.push_back(parse_line_key(option.substr(2)));
    } else if (option.starts_with("-t")) {
      order.separator = parse_line_separator(option.substr(2));
    } else {
      for (const char c : option.substr(1)) {
        if (c == 's') order.stable = true;
        if (c == 'u') order.unique = true;
        set_line_key_flag(c, BlankSide::both, order.flags);
      }
    }
  }
  return order;
}

inline std::string shell_quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

struct SortResult {
  int status = 0;  // of the exit
  std::string output;
  std::string errors;
};

// Runs sort(1) on `input` in `locale`.
inline SortResult run_sort(const std::string& locale, const std::vector<std::string>& options,
                           const std::string& input) {
  char directory[] = "/tmp/xxl_line_order_XXXXXX";
  if (!mkdtemp(directory)) return {127, {}, "mkdtemp failed"};
  const std::string base = directory;
  const auto path = [&](const char* name) { return base + "/" + name; };
  const auto contents = [&](const char* name) {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::ofstream(path("in"), std::ios::binary) << input;
  std::string command = "env -u POSIXLY_CORRECT LC_ALL=" + locale + " sort";
  for (const std::string& option : options) command += " " + shell_quoted(option);
  command += " <" + path("in") + " >" + path("out") + " 2>" + path("err");
  const int status = std::system(command.c_str());
  SortResult result{WIFEXITED(status) ? WEXITSTATUS(status) : 127, contents("out"),
                    contents("err")};
  for (const char* name : {"in", "out", "err"}) unlink(path(name).c_str());
  rmdir(directory);
  return result;
}

// True if the machine's sort(1) is the one whose behaviour is the model.
inline bool sort_is_the_model() {
  static const bool is = [] {
    std::string line;
    if (FILE* pipe = popen("sort --version 2>/dev/null", "r")) {
      char buffer[256];
      if (std::fgets(buffer, sizeof buffer, pipe)) line = buffer;
      while (std::fgets(buffer, sizeof buffer, pipe)) {
      }
      pclose(pipe);
    }
    return line.find("GNU coreutils") != std::string::npos;
  }();
  return is;
}

}  // namespace xxl::test
