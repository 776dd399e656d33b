// Keys of the records of callers, which are counted (record_syntax.h).
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "record/key_extractor.h"
#include "record/record_syntax.h"

namespace xxl {

// The key is the record, as bytes.
class RecordAsKey final : public KeyExtractor {
 public:
  explicit RecordAsKey(bool descending) : descending_(descending) {}
  bool is_whole_record() const override { return true; }
  bool is_descending() const override { return descending_; }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    key += record.substr(0, limit);
  }
  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    if (from < record.size()) key += record.substr(from, limit);
  }

 private:
  bool descending_;
};

// The key stands before what else the record has, counted itself:
//
//     [ bytes of the key ][ key ][ ... ]
class LeadingKey final : public KeyExtractor {
 public:
  bool is_in_record() const override { return true; }
  std::string_view key_in(std::string_view record) const override { return key_of(record); }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    key += key_of(record).substr(0, limit);
  }
  void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                       std::string& key) const override {
    const std::string_view whole = key_of(record);
    if (from < whole.size()) key += whole.substr(from, limit);
  }

  static std::string_view key_of(std::string_view record) {
    RecordCount bytes;
    std::memcpy(&bytes, record.data(), sizeof(bytes));
    return record.substr(sizeof(bytes), bytes);
  }
};

}  // namespace xxl
