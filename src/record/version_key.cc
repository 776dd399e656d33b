#include "record/version_key.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/digits.h"

namespace xxl {
namespace {

enum Token : unsigned char {
  kTilde = 1,
  kZeroBeforeTilde,
  kEnd,
  kZeroBeforeOther,
  kNumber,
  kFirstByte,
};

enum class NameClass : char { empty, dot, dot_dot, hidden, other };

// The code of a byte that is no digit.
constexpr std::array<unsigned char, 256> kTokenOfByte = [] {
  std::array<unsigned char, 256> tokens{};
  unsigned next = kFirstByte;
  for (const bool letters : {true, false}) {
    for (int c = 0; c < 256; ++c) {
      const char byte = static_cast<char>(c);
      if (byte == '~' || is_digit(byte) || is_letter(byte) != letters) continue;
      tokens[static_cast<std::size_t>(c)] = static_cast<unsigned char>(next++);
    }
  }
  tokens['~'] = kTilde;
  return tokens;
}();

NameClass class_of(std::string_view text) {
  if (text.empty()) return NameClass::empty;
  if (text.front() != '.') return NameClass::other;
  return text == "." ? NameClass::dot : text == ".." ? NameClass::dot_dot : NameClass::hidden;
}

// Length of `text` without its suffix.
std::size_t prefix_length(std::string_view text) {
  const std::size_t size = text.size();
  std::size_t i = 0;
  while (true) {
    const std::size_t prefix = i;
    while (i + 1 < size && text[i] == '.' && (is_letter(text[i + 1]) || text[i + 1] == '~')) {
      i += 2;
      while (i < size && (is_letter(text[i]) || is_digit(text[i]) || text[i] == '~')) ++i;
    }
    if (i >= size) return prefix;
    ++i;
  }
}

// Tokens to a key, some at a time.
class Writer {
 public:
  explicit Writer(KeyStretch& stretch) : stretch_(stretch) {}

  // Appends nothing once no more is needed: what has been made is the start of the whole key.
  void put(unsigned token) {
    if (used_ == tokens_.size()) flush();
    if (wants_more_) tokens_[used_++] = static_cast<char>(token);
  }
  void flush() {
    stretch_.key().append(tokens_.data(), used_);
    used_ = 0;
    wants_more_ = stretch_.take();
  }
  bool wants_more() const { return wants_more_; }

  // All of `text`. A zero at its end is not written, as it makes no difference to the end; true if
  // there is one.
  bool put_text(std::string_view text) {
    for (std::size_t i = 0; i < text.size() && wants_more_;) {
      if (!is_digit(text[i])) {
        put(kTokenOfByte[static_cast<unsigned char>(text[i++])]);
        continue;
      }
      while (i < text.size() && text[i] == '0') ++i;
      const std::size_t start = i;
      while (i < text.size() && is_digit(text[i])) ++i;
      if (i != start) {
        put_number(text.substr(start, i - start));
      } else if (i == text.size()) {
        return true;
      } else {
        put(text[i] == '~' ? kZeroBeforeTilde : kZeroBeforeOther);
      }
    }
    return false;
  }

 private:
  // The length in a byte, or in 8 after a byte 255; then the digits, two a byte.
  void put_number(std::string_view digits) {
    put(kNumber);
    if (digits.size() < 255) {
      put(static_cast<unsigned>(digits.size()));
    } else {
      put(255);
      for (int shift = 56; shift >= 0; shift -= 8) {
        put(static_cast<unsigned>(static_cast<std::uint64_t>(digits.size()) >> shift & 255));
      }
    }
    for (std::size_t i = 0; i < digits.size() && wants_more_; i += 2) {
      const int low = i + 1 < digits.size() ? digits[i + 1] - '0' : 0;
      put(static_cast<unsigned>(10 * (digits[i] - '0') + low));
    }
  }

  KeyStretch& stretch_;
  std::size_t used_ = 0;
  bool wants_more_ = true;
  std::array<char, 512> tokens_;
};

}  // namespace

void append_version_key(std::string_view text, KeyStretch& key) {
  const NameClass name_class = class_of(text);
  Writer writer(key);
  writer.put(static_cast<unsigned>(name_class));
  if (name_class >= NameClass::hidden) {
    const std::size_t prefix = prefix_length(text);
    const bool zero_at_end = writer.put_text(text.substr(0, prefix));
    writer.put(kEnd);
    // Names equal so far are equal in the same part of the whole name.
    if (prefix != text.size()) {
      if (zero_at_end) writer.put(kZeroBeforeOther);
      writer.put_text(text.substr(prefix));
    }
    writer.put(kEnd);
  }
  writer.flush();
}

}  // namespace xxl
