// Writing of one JSON object, in the order of the calls.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace xxl::cli {

class Json {
 public:
  // Members of an object.
  template <class T>
  Json& member(std::string_view name, const T& value) {
    key(name);
    write(value);
    return *this;
  }
  // An element of an array.
  template <class T>
  Json& element(const T& value) {
    separate();
    write(value);
    return *this;
  }
  Json& begin_array(std::string_view name) {
    key(name);
    return open('[');
  }
  Json& end_array() { return close(']'); }
  Json& begin_object(std::string_view name) {
    key(name);
    return open('{');
  }
  // The whole, or an element of an array.
  Json& begin_object() {
    separate();
    return open('{');
  }
  Json& end_object() { return close('}'); }

  const std::string& text() const { return text_; }

 private:
  Json& open(char bracket) {
    text_.push_back(bracket);
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_.push_back(bracket);
    first_ = false;
    return *this;
  }
  void separate() {
    if (!first_) text_.append(", ");
    first_ = false;
  }
  void key(std::string_view name) {
    separate();
    write(name);
    text_.append(": ");
  }

  void write(bool value) { text_.append(value ? "true" : "false"); }
  void write(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    text_.append(digits);
  }
  template <class Integer>
  requires std::is_integral_v<Integer>
  void write(Integer value) { text_.append(std::to_string(value)); }
  void write(std::string_view value) {
    text_.push_back('"');
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_.append(1, '\\').push_back(c);
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
        text_.append(escape);
      } else {
        text_.push_back(c);
      }
    }
    text_.push_back('"');
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace xxl::cli
