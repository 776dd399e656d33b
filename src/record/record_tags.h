// Tags: bytes in front of each record while it is sorted, made of where it stands in the inputs.
//
//     input       fox\ncow\ndog\n          places 0, 4, 8
//     in memory   [ 0 ]fox[ 4 ]cow[ 8 ]dog     and so in runs
//     output      as the options say: without tags, or with them
//
// Big-endian, so that they compare as bytes. The place is the number of bytes before the record in
// all inputs, one after the other: it is known wherever the record is found, by any worker. Tags
// take 8 bytes, those that only tell inputs apart as few as will do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    input,   // a number of the input; records are sorted by their keys
  };
  Kind kind = Kind::none;
  PhiloxKey key{};                         // of random ones
  std::vector<std::uint32_t> inputs = {};  // of input: the number of each, in ascending order

  bool any() const { return kind != Kind::none; }
  // Records are sorted by their tags.
  bool are_keys() const { return kind == Kind::random || kind == Kind::given; }
  // They are not there yet.
  bool are_made() const { return any() && kind != Kind::given; }
  // In front of each record.
  std::size_t bytes() const {
    if (kind != Kind::input) return any() ? kTagBytes : 0;
    std::size_t bytes = 1;
    while (!inputs.empty() && std::uint64_t{inputs.back()} >> (8 * bytes) != 0) ++bytes;
    return bytes;
  }

  // Of those that are made: of a record at `place`, which is of input file `input`.
  std::uint64_t of(std::uint64_t place, std::size_t input = 0) const {
    if (kind == Kind::input) return inputs[input];
    return kind == Kind::place ? place : philox({place}, key)[0];
  }
};

// A tag of `bytes` bytes.
inline void put_tag(char* to, std::uint64_t tag, std::size_t bytes = kTagBytes) {
  static_assert(std::endian::native == std::endian::little);
  if (bytes == 1) {
    *to = static_cast<char>(tag);
    return;
  }
  tag = __builtin_bswap64(tag << (8 * (kTagBytes - bytes)));
  std::memcpy(to, &tag, bytes);
}

inline std::uint64_t tag_of(std::string_view record, std::size_t bytes) {
  if (bytes == 1) return static_cast<unsigned char>(record.front());
  std::uint64_t tag = 0;
  std::memcpy(&tag, record.data(), bytes);
  return __builtin_bswap64(tag) >> (8 * (kTagBytes - bytes));
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
  KeyBehindTag(std::shared_ptr<const KeyExtractor> keys, std::size_t tag_bytes)
      : keys_(std::move(keys)), tag_bytes_(tag_bytes) {}
  bool is_in_record() const override { return keys_->is_in_record(); }
  std::string_view key_in(std::string_view record) const override {
    return keys_->key_in(record.substr(tag_bytes_));
  }
  bool is_costly_in_full() const override { return keys_->is_costly_in_full(); }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    keys_->append_key(record.substr(tag_bytes_), limit, key);
  }
  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    keys_->append_key_part(record.substr(tag_bytes_), from, limit, key);
  }
  std::unique_ptr<KeyReader> read_key(std::string_view record) const override {
    return keys_->read_key(record.substr(tag_bytes_));
  }

 private:
  std::shared_ptr<const KeyExtractor> keys_;
  const std::size_t tag_bytes_;
};

// What records are sorted by, given the keys of records without tags (null: not known yet).
inline std::shared_ptr<const KeyExtractor> sorting_keys(const RecordTags& tags,
                                                        std::shared_ptr<const KeyExtractor> keys) {
  if (tags.are_keys()) return std::make_shared<TagKey>();
  keys = sorting_keys(std::move(keys));
  if (!tags.any() || keys == nullptr) return keys;
  return std::make_shared<KeyBehindTag>(std::move(keys), tags.bytes());
}

}  // namespace xxl
