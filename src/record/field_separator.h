// The separator between two fields (-t): a byte, or several.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xxl {

class FieldSeparator {
 public:
  static constexpr std::size_t kMaxBytes = 8;

  // Converts, as nearly all separators are bytes.
  constexpr FieldSeparator(char byte) : bytes_{byte} {}  // NOLINT(google-explicit-constructor)
  // The first kMaxBytes of `text`.
  constexpr explicit FieldSeparator(std::string_view text)
      : size_(static_cast<std::uint8_t>(std::min(text.size(), kMaxBytes))) {
    std::copy_n(text.begin(), size_, bytes_.begin());
  }

  constexpr bool is_byte() const { return size_ == 1; }
  constexpr std::size_t size() const { return size_; }
  constexpr std::string_view bytes() const { return {bytes_.data(), size_}; }
  constexpr char first() const { return bytes_[0]; }

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
  std::uint8_t size_ = 1;
};

}  // namespace xxl
