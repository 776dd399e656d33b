// Keys of records that are sorted within groups: first the key of the group, then the place in it.
//
//     group by shop, in the order of price      shop delimited | price
//
// The part for the group ends at the first byte 0 (byte_string_key.h), so that it can be found in a
// key, or in the beginning of one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "record/byte_string_key.h"
#include "record/key_extractor.h"

namespace xxl {

class GroupedKeys final : public KeyExtractor {
 public:
  GroupedKeys(std::shared_ptr<const KeyExtractor> groups,
              std::shared_ptr<const KeyExtractor> within)
      : groups_(std::move(groups)), within_(std::move(within)) {}

  const KeyExtractor* keys_of_groups() const override { return groups_.get(); }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    const std::size_t start = key.size();
    append_whole(*groups_, record, key);
    delimit_byte_string(key, start);
    const std::size_t bytes = key.size() - start;
    if (bytes < limit) append_part(*within_, record, limit - bytes, key);
  }

  // The least key of the group that a key is of, or `key` if it ends before that of the group.
  static std::string_view least_of_group(std::string_view key) {
    const std::size_t end = key.find('\0');
    return end == key.npos ? key : key.substr(0, end + 1);
  }

 private:
  static void append_part(const KeyExtractor& keys, std::string_view record, std::size_t limit,
                          std::string& key) {
    if (keys.is_in_record()) {
      key += keys.key_in(record).substr(0, limit);
    } else {
      keys.append_key(record, limit, key);
    }
  }
  static void append_whole(const KeyExtractor& keys, std::string_view record, std::string& key) {
    append_part(keys, record, kWholeKey, key);
  }

  std::shared_ptr<const KeyExtractor> groups_;
  std::shared_ptr<const KeyExtractor> within_;
};

}  // namespace xxl
