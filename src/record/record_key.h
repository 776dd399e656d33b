// The key of a record that is compared in place: of a long key only the beginning is kept; the rare
// comparison that needs the rest makes all of it again, piece by piece.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "record/key_extractor.h"

namespace xxl {

class RecordKey {
 public:
  // Bytes kept of a made key: there may be a key for each of some thousand runs.
  static constexpr std::size_t kKeptBytes = 4096;

  // The key of `record`; both must last as long as it is used, but see copy().
  void set(const KeyExtractor& keys, std::string_view record) {
    keys_ = &keys;
    record_ = record;
    is_record_ = keys.is_whole_record();
    if (is_record_) return;
    made_.clear();
    keys.append_key(record, kKeptBytes, made_);
    is_whole_ = made_.size() < kKeptBytes;
    if (made_.size() > kKeptBytes) {  // it may be much more
      made_.resize(kKeptBytes);
      made_.shrink_to_fit();
    }
  }
  // The key of another record. Needs that record no more, unless that key needs_record().
  void copy(const RecordKey& other) {
    keys_ = other.keys_;
    record_ = other.record_;
    is_record_ = other.is_record_ && other.needs_record();
    is_whole_ = other.is_record_ || other.is_whole_;
    if (!is_record_) made_ = other.beginning();
  }

  // The record has moved.
  void record_moved(std::string_view record) { record_ = record; }

  // As much of the key as there is.
  std::string_view beginning() const { return is_record_ ? record_ : made_; }
  bool needs_record() const { return is_record_ ? record_.size() > kKeptBytes : !is_whole_; }
  int compare(const RecordKey& other) const {
    const int order = beginning().compare(other.beginning());
    if (order != 0 || is_record_ || is_whole_) return order;
    // Both agree in their kept parts.
    return compare_keys(*keys_, record_, *other.keys_, other.record_);
  }

 private:
  const KeyExtractor* keys_ = nullptr;
  std::string_view record_;
  std::string made_;
  bool is_record_ = false;  // the record is the key
  bool is_whole_ = false;   // made_ is all of the key
};

}  // namespace xxl
