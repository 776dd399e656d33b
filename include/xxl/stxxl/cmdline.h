// STXXL's parser of command lines.
#pragma once

#include <getopt.h>

#include <charconv>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "xxl/stxxl/config.h"

namespace stxxl {

// Reads a number of bytes such as "2 GiB". Units k, M, G, T and P are powers of 1000, and with an i
// of 1024. A B may follow. False if the text is no such number.
inline bool parse_SI_IEC_size(const std::string& text, uint64& size) {
  const char* const end = text.data() + text.size();
  uint64 number = 0;
  auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return false;
  while (at != end && *at == ' ') ++at;
  std::string_view unit(at, static_cast<std::size_t>(end - at));
  if (unit.ends_with('B') || unit.ends_with('b')) unit.remove_suffix(1);
  const uint64 base = unit.ends_with('i') ? 1024 : 1000;
  if (base == 1024) unit.remove_suffix(1);
  constexpr std::string_view kUnits = "kmgtp";
  if (unit.size() > 1 || (unit.empty() && base == 1024)) return false;
  if (!unit.empty()) {
    const std::size_t power = kUnits.find(static_cast<char>(unit[0] | 0x20));
    if (power == kUnits.npos) return false;
    for (std::size_t i = 0; i <= power; ++i) {
      if (number > std::numeric_limits<uint64>::max() / base) return false;
      number *= base;
    }
  }
  size = number;
  return true;
}

// Options and parameters, whose values are put into the variables given. These must outlive it.
class cmdline_parser {
 public:
  void set_description(const std::string& description) { description_ = description; }
  void set_author(const std::string& author) { author_ = author; }
  void set_verbose_process(bool) {}

  void add_flag(char key, const std::string& name, const std::string& about, bool& to) {
    options_.push_back({key, name, "", about, [&to](const std::string&) { return to = true; }});
  }
#define XXL_STXXL_ARGUMENT(kind, T)                                                     \
  void add_##kind(char key, const std::string& name, const std::string& about, T& to) { \
    add_##kind(key, name, #kind, about, to);                                            \
  }                                                                                     \
  void add_##kind(char key, const std::string& name, const std::string& value,          \
                  const std::string& about, T& to) {                                    \
    options_.push_back({key, name, value, about, reader_of_##kind(to)});                \
  }                                                                                     \
  void add_param_##kind(const std::string& name, const std::string& about, T& to) {     \
    parameters_.push_back({0, name, "needed", about, reader_of_##kind(to)});            \
  }                                                                                     \
  void add_opt_param_##kind(const std::string& name, const std::string& about, T& to) { \
    parameters_.push_back({0, name, "", about, reader_of_##kind(to)});                  \
  }
  XXL_STXXL_ARGUMENT(int, int)
  XXL_STXXL_ARGUMENT(uint, unsigned)
  XXL_STXXL_ARGUMENT(bytes, uint32)
  XXL_STXXL_ARGUMENT(bytes, uint64)
  XXL_STXXL_ARGUMENT(string, std::string)
  XXL_STXXL_ARGUMENT(stringlist, std::vector<std::string>)
#undef XXL_STXXL_ARGUMENT

  // False after -h, and after an error. Prints the error.
  bool process(int argc, char* const* argv, std::ostream& out = std::cout) {
    program_ = argc > 0 ? argv[0] : "";
    constexpr int kFirst = 256;  // the number of the first long option
    std::string keys = "h";
    std::vector<option> names = {{"help", no_argument, nullptr, 'h'}};
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const bool has_value = !options_[i].value.empty();
      if (options_[i].key != 0) (keys += options_[i].key) += has_value ? ":" : "";
      names.push_back({options_[i].name.c_str(), has_value ? required_argument : no_argument,
                       nullptr, kFirst + static_cast<int>(i)});
    }
    names.push_back({});
    ::optind = 0;  // scans from the start
    for (int found;
         (found = ::getopt_long(argc, argv, keys.c_str(), names.data(), nullptr)) != -1;) {
      if (found == 'h' || found == '?') return print_usage(out), false;
      for (std::size_t i = 0; i < options_.size(); ++i) {
        if (found != kFirst + static_cast<int>(i) && found != options_[i].key) continue;
        if (!put(options_[i], ::optarg != nullptr ? ::optarg : "", out)) return false;
      }
    }
    for (const argument& parameter : parameters_) {
      if (::optind == argc && !parameter.value.empty()) {
        out << "Missing parameter " << parameter.name << '\n';
        return print_usage(out), false;
      }
      if (::optind < argc && !put(parameter, argv[::optind++], out)) return false;
    }
    if (::optind < argc) {
      out << "Too many parameters: " << argv[::optind] << '\n';
      return print_usage(out), false;
    }
    return true;
  }

  void print_usage(std::ostream& out = std::cout) const {
    out << "Usage: " << program_ << " [options]";
    for (const argument& parameter : parameters_) out << " <" << parameter.name << '>';
    out << '\n' << description_ << '\n' << (author_.empty() ? "" : "Author: ") << author_ << '\n';
    for (const argument& parameter : parameters_) {
      out << "  " << parameter.name << "  " << parameter.about << '\n';
    }
    for (const argument& option : options_) {
      out << "  -" << option.key << ", --" << option.name << ' ' << option.value << "  "
          << option.about << '\n';
    }
  }

 private:
  using read = std::function<bool(const std::string&)>;
  struct argument {
    char key;
    std::string name;
    std::string value;  // of options; parameters that must be given have one
    std::string about;
    read put;
  };

  bool put(const argument& to, const std::string& text, std::ostream& out) const {
    if (to.put(text)) return true;
    out << "Invalid value of " << to.name << ": " << text << '\n';
    return print_usage(out), false;
  }
  template <class T>
  static read reader_of_number(T& to) {
    return [&to](const std::string& text) {
      const char* const end = text.data() + text.size();
      const auto [at, error] = std::from_chars(text.data(), end, to);
      return error == std::errc() && at == end;
    };
  }
  static read reader_of_int(int& to) {
    return reader_of_number(to);
  }
  static read reader_of_uint(unsigned& to) {
    return reader_of_number(to);
  }
  template <class T>
  static read reader_of_bytes(T& to) {
    return [&to](const std::string& text) {
      uint64 size = 0;
      if (!parse_SI_IEC_size(text, size) || size > std::numeric_limits<T>::max()) return false;
      to = static_cast<T>(size);
      return true;
    };
  }
  static read reader_of_string(std::string& to) {
    return [&to](const std::string& text) {
      to = text;
      return true;
    };
  }
  static read reader_of_stringlist(std::vector<std::string>& to) {
    return [&to](const std::string& text) {
      to.push_back(text);
      return true;
    };
  }

  std::string description_, author_, program_;
  std::vector<argument> options_, parameters_;
};

}  // namespace stxxl
