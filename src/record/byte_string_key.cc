#include "record/byte_string_key.h"

#include <algorithm>

namespace xxl {
namespace {

constexpr char kEnd = 0;
constexpr char kEscape = 1;

bool needs_escape(char c) {
  return static_cast<unsigned char>(c) <= 1;
}

}  // namespace

void delimit_byte_string(std::string& key, std::size_t from, bool complete) {
  // Text rarely needs an escape: one pass with vector instructions checks.
  unsigned found = 0;
  for (std::size_t i = from; i < key.size(); ++i) found |= needs_escape(key[i]) ? 1u : 0u;
  if (found) {
    const auto escapes = static_cast<std::size_t>(
        std::count_if(key.begin() + static_cast<std::ptrdiff_t>(from), key.end(), needs_escape));
    std::size_t read = key.size();
    key.resize(key.size() + escapes);
    for (std::size_t write = key.size(); write != read;) {
      const char c = key[--read];
      key[--write] = needs_escape(c) ? static_cast<char>(c + 1) : c;
      if (needs_escape(c)) key[--write] = kEscape;
    }
  }
  if (complete) key.push_back(kEnd);
}

}  // namespace xxl
