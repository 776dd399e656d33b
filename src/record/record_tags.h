// Tags: 8 bytes in front of each record while it is sorted, made of where it stands in the input.
//
//     input       fox\ncow\ndog\n          places 0, 4, 8
//     in memory   [ 0 ]fox[ 4 ]cow[ 8 ]dog     and so in runs
//     output      as the options say: without tags, or with them
//
// Big-endian, so that they compare as bytes. The place is the number of bytes before the record in
// all inputs, one after the other: it is known wherever the record is found, by any worker.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/philox.h"
#include "record/descending_record.h"
#include "record/key_extractor.h"

namespace xxl {

inline constexpr std::size_t kTagBytes = sizeof(std::uint64_t);

struct RecordTags {
  enum class Kind : std::uint8_t {
    none,
    random,  // a random number for each place; records are sorted by it
    place,   // the place itself; records are sorted by their keys
    given,   // records come with tags, and are sorted by them
  };
  Kind kind = Kind::none;
  PhiloxKey key{};  // of random ones

  bool any() const { return kind != Kind::none; }
  // Records are sorted by their tags.
  bool are_keys() const { return kind == Kind::random || kind == Kind::given; }
  // They are not there yet.
  bool are_made() const { return kind == Kind::random || kind == Kind::place; }
  // In front of each record.
  std::size_t bytes() const { return any() ? kTagBytes : 0; }

  // Of those that are made.
  std::uint64_t of(std::uint64_t place) const {
    return kind == Kind::place ? place : philox({place}, key)[0];
  }
};

inline void put_tag(char* to, std::uint64_t tag) {
  static_assert(std::endian::native == std::endian::little);
  tag = __builtin_bswap64(tag);
  std::memcpy(to, &tag, sizeof(tag));
}

// The key is the tag.
class TagKey final : public KeyExtractor {
 public:
  bool is_in_record() const override { return true; }
  std::string_view key_in(std::string_view record) const override {
    return record.substr(0, kTagBytes);
  }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    key += key_in(record).substr(0, limit);
  }
};

// The key is that of the record behind the tag.
class KeyBehindTag final : public KeyExtractor {
 public:
  // `keys` are not to be reversed (sorting_keys()).
  explicit KeyBehindTag(std::shared_ptr<const KeyExtractor> keys) : keys_(std::move(keys)) {}
  bool is_in_record() const override { return keys_->is_in_record(); }
  std::string_view key_in(std::string_view record) const override {
    return keys_->key_in(record.substr(kTagBytes));
  }
  bool is_costly_in_full() const override { return keys_->is_costly_in_full(); }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    keys_->append_key(record.substr(kTagBytes), limit, key);
  }
  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    keys_->append_key_part(record.substr(kTagBytes), from, limit, key);
  }
  std::unique_ptr<KeyReader> read_key(std::string_view record) const override {
    return keys_->read_key(record.substr(kTagBytes));
  }

 private:
  std::shared_ptr<const KeyExtractor> keys_;
};

// What records are sorted by, given the keys of records without tags (null: not known yet).
inline std::shared_ptr<const KeyExtractor> sorting_keys(const RecordTags& tags,
                                                        std::shared_ptr<const KeyExtractor> keys) {
  if (tags.are_keys()) return std::make_shared<TagKey>();
  keys = sorting_keys(std::move(keys));
  if (!tags.any() || keys == nullptr) return keys;
  return std::make_shared<KeyBehindTag>(std::move(keys));
}

}  // namespace xxl
