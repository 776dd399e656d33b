// Writing of one JSON object, in the order of the calls.
//
// The same in every locale, and always valid: numbers that are none (infinity, NaN) are null. Names
// of files may be any bytes. Those that are not UTF-8 are written as \udc80 to \udcff, one by one:
// surrogates that stand alone, which no other text gives. Python's os.fsencode() makes the name of
// it again ("surrogateescape").
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/quote.h"

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
    if (!std::isfinite(value)) return write(nullptr);
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                   std::chars_format::general, kSignificantDigits);
    text_.append(digits, end.ptr);
  }
  void write(std::nullptr_t) { text_.append("null"); }
  template <class T>
  void write(const std::optional<T>& value) {
    value ? write(*value) : write(nullptr);
  }
  template <class Integer>
  requires std::is_integral_v<Integer>
  void write(Integer value) { text_.append(std::to_string(value)); }
  void write(std::string_view value) {
    text_.push_back('"');
    while (!value.empty()) {
      const auto first = static_cast<unsigned char>(value.front());
      const std::size_t length = utf8_bytes(value);
      if (length == 0) {
        escape(0xDC00U + first);
      } else if (first < 0x20) {
        escape(first);
      } else {
        if (first == '"' || first == '\\') text_.push_back('\\');
        text_.append(value.substr(0, length));
      }
      value.remove_prefix(std::max<std::size_t>(length, 1));
    }
    text_.push_back('"');
  }
  void escape(unsigned code) {
    char text[8];
    std::snprintf(text, sizeof text, "\\u%04x", code);
    text_.append(text);
  }

  static constexpr int kSignificantDigits = 6;

  std::string text_;
  bool first_ = true;
};

}  // namespace xxl::cli
