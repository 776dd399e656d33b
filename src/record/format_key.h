// Keys of records of a fixed size, for sorts that take them as records of text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "record/key_extractor.h"
#include "record/key_layout.h"

namespace xxl {

// The words of the key, big-endian, one after the other.
class FormatKey final : public KeyExtractor {
 public:
  // A format without comparator.
  explicit FormatKey(const RecordFormat& format) : layout_(format) {}

  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    append_key_part(record, 0, limit, key);
  }
  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    const std::size_t end =
        std::min(layout_.words() * sizeof(std::uint64_t), limit > ~from ? kWholeKey : from + limit);
    for (std::size_t at = from; at < end;) {
      const std::size_t index = at / sizeof(std::uint64_t), skipped = at % sizeof(std::uint64_t);
      const std::uint64_t word =
          __builtin_bswap64(layout_.word(reinterpret_cast<const std::byte*>(record.data()), index));
      char bytes[sizeof(word)];
      std::memcpy(bytes, &word, sizeof(word));
      const std::size_t count = std::min(sizeof(word) - skipped, end - at);
      key.append(bytes + skipped, count);
      at += count;
    }
  }

 private:
  KeyLayout layout_;
};

}  // namespace xxl
