// The separator between two fields of a line (-t): a byte, or a character of several bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace xxl {

class FieldSeparator {
 public:
  static constexpr std::size_t kMaxBytes = 4;

  // Converts, as nearly all separators are bytes.
  FieldSeparator(char byte) : bytes_{byte} {}  // NOLINT(google-explicit-constructor)
  // A character of UTF-8: its bytes never occur within others.
  explicit FieldSeparator(std::string_view character)
      : size_(std::min(character.size(), kMaxBytes)) {
    std::copy_n(character.begin(), size_, bytes_.begin());
  }

  bool is_byte() const { return size_ == 1; }
  std::size_t size() const { return size_; }
  std::string_view bytes() const { return {bytes_.data(), size_}; }

  // Offset of the first one in `text`, or npos.
  std::size_t find_in(std::string_view text) const {
    return is_byte() ? text.find(bytes_[0]) : text.find(bytes());
  }
  void append_to(std::string& row) const {
    if (is_byte()) {
      row.push_back(bytes_[0]);
    } else {
      row.append(bytes());
    }
  }

  friend bool operator==(const FieldSeparator&, const FieldSeparator&) = default;

 private:
  std::array<char, kMaxBytes> bytes_{};
  std::size_t size_ = 1;
};

}  // namespace xxl
