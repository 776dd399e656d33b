// Keys of records of varying length: lines and rows.
//
// Whatever a user sorts by, a record's key is in the end one byte string, compared byte by byte as
// unsigned numbers, a shorter string before a longer one that starts with it. A KeyExtractor makes
// that string, once for a record where records are sorted, never for a comparison. Two records with
// equal keys are equal: they stay in the order of the input, and are one for --unique. (So where
// sort(1) falls back to comparing whole lines, the line is the last part of the key.)
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "record/key_reader.h"

namespace xxl {

// Immutable, used by many threads at once.
class KeyExtractor {
 public:
  static constexpr std::size_t kWholeKey = ~std::size_t{0};

  virtual ~KeyExtractor() = default;

  // True if the key is the record itself: then nothing is extracted, and records are compared in
  // place.
  virtual bool is_whole_record() const { return false; }
  // With is_whole_record(): the order of keys is reversed (a longer record before a shorter one
  // that it starts with).
  virtual bool is_descending() const { return false; }
  // True if the key is a part of the record, which key_in() gives: nothing is extracted either.
  virtual bool is_in_record() const { return is_whole_record(); }
  virtual std::string_view key_in(std::string_view record) const { return record; }
  // If records of a group may have different keys: the keys of groups, with which the others begin
  // (grouped_keys.h). Null: a group is the records with equal keys.
  virtual const KeyExtractor* keys_of_groups() const { return nullptr; }
  // True if all of a key costs far more than its first bytes: then it is better made only as far as
  // needed.
  virtual bool is_costly_in_full() const { return false; }

  // Appends the key of `record` (without its terminator) to `key`: all of it, or at least its first
  // `limit` bytes, whichever is less; more does no harm. `limit` affects only where the appended
  // bytes end.
  virtual void append_key(std::string_view record, std::size_t limit, std::string& key) const = 0;

  // Appends bytes [from, from + limit) of the key, as far as they exist. Takes no more memory than
  // they do, unless a key can only be made as a whole.
  virtual void append_key_part(std::string_view record, std::size_t from, std::size_t limit,
                               std::string& key) const {
    const std::size_t start = key.size();
    append_key(record, limit > ~from ? kWholeKey : from + limit, key);
    key.erase(start, from);
    if (key.size() - start > limit) key.resize(start + limit);
  }

  // A reader of the key of `record`, both of which must last longer. Unless a kind of keys has its
  // own reader, it reads windows, in time quadratic in the length of keys beyond a MiB.
  virtual std::unique_ptr<KeyReader> read_key(std::string_view record) const;
};

// The order of two keys, read piece by piece: below, above, or 0.
int compare_keys(const KeyExtractor& keys_of_a, std::string_view a, const KeyExtractor& keys_of_b,
                 std::string_view b);

// The key of `record`, or at least its first `limit` bytes: in the record if it lies there, or else
// made in `made`, replacing its content. Lasts as long as these two.
inline std::string_view key_of(const KeyExtractor& keys, std::string_view record, std::size_t limit,
                               std::string& made) {
  if (keys.is_in_record()) return keys.key_in(record);
  made.clear();
  keys.append_key(record, limit, made);
  return made;
}

}  // namespace xxl
