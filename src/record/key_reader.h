// Reading a key from its beginning to its end, piece by piece: never more of a long key is in
// memory, and unlike with KeyExtractor::append_key_part, nothing is made twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace xxl {

// A reader of one key.
class KeyReader {
 public:
  KeyReader() = default;
  virtual ~KeyReader() = default;
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;

  // Appends the next piece of the key, about `wanted` bytes, or as many as are easily made; perhaps
  // none. False if that was the last: then it must not be called again.
  virtual bool read(std::size_t wanted, std::string& key) = 0;
};

// For keys that are made from their beginning for each piece: as most compared keys differ early,
// pieces are small at first.
class KeyWindows {
 public:
  // Appends the next piece, which append(from, limit, key) makes, as append_key_part does. False if
  // that was the last.
  template <class Append>
  bool read(std::string& key, const Append& append) {
    const std::size_t start = key.size();
    append(from_, bytes_, key);
    const bool more = key.size() - start >= bytes_;
    if (more) key.resize(start + bytes_);
    from_ += bytes_;
    bytes_ = std::min(kMostBytes, kGrowth * bytes_);
    return more;
  }

 private:
  static constexpr std::size_t kFirstBytes = std::size_t{16} << 10;
  static constexpr std::size_t kGrowth = 4;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  std::size_t from_ = 0;
  std::size_t bytes_ = kFirstBytes;
};

}  // namespace xxl
