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

// The words of the key, big-endian, one after the other; or where the key is bytes of the record as
// they are, these.
class FormatKey final : public KeyExtractor {
 public:
  // A format without comparator.
  explicit FormatKey(const RecordFormat& format) : layout_(format), first_(format.key.front()) {
    in_record_ = format.key.size() == 1 && first_.type == KeyType::bytes && !first_.descending;
  }

  bool is_in_record() const override { return in_record_; }
  std::string_view key_in(std::string_view record) const override {
    return record.substr(first_.offset, first_.length);
  }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    append_key_part(record, 0, limit, key);
  }
  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    if (in_record_) {
      key += key_in(record).substr(std::min(from, first_.length), limit);
      return;
    }
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
  KeyField first_;
  bool in_record_;
};

}  // namespace xxl
