// Keys for records that are their own key, largest first.
#pragma once

#include <memory>
#include <utility>

#include "record/key_extractor.h"

namespace xxl {

// The key is the record with all bits inverted, so that larger bytes come first, and an end that
// comes last, so that a longer record comes before a shorter one that it starts with. As an
// inverted NUL looks like the start of the end, the byte after it distinguishes them:
//
//     "ab"  9e 9d ff ff        "ab\0"  9e 9d ff fe ff ff
class DescendingRecord final : public KeyExtractor {
 public:
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override;
  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override;
};

// Keys that need not be reversed: `keys`, or the replacement for whole records in descending order.
inline std::shared_ptr<const KeyExtractor> sorting_keys(std::shared_ptr<const KeyExtractor> keys) {
  if (keys != nullptr && keys->is_whole_record() && keys->is_descending()) {
    return std::make_shared<DescendingRecord>();
  }
  return keys;
}

}  // namespace xxl
