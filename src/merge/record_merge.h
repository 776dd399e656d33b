// Merging of sequences of records one by one, with a tree of losers.
//
// For what cannot be held: cells of frequent keys, groups of too many runs, the files of sort -m.
// Each sequence has a cursor; the key of its record is made when the cursor gets there, and
// compared by its first 8 bytes wherever these differ. Of a long key only the beginning is kept:
// the rest is made again for the rare comparison that needs it. Source: Knuth, section 5.4.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record/key_extractor.h"

namespace xxl {

// A sequence of records.
class RecordCursor {
 public:
  virtual ~RecordCursor() = default;
  // Goes to the next record, the first one at first; false at the end. What record() gave before
  // may be gone then.
  virtual bool advance() = 0;
  virtual std::string_view record() const = 0;
};

class RecordMerge {
 public:
  // Of equal keys, the records of the cursor with the lower number come first. `marks_same`:
  // same_key() is wanted.
  RecordMerge(std::vector<std::unique_ptr<RecordCursor>> cursors, const KeyExtractor& keys,
              bool marks_same);

  // Goes to the next record, the first one at first; false at the end.
  bool next();
  std::string_view record() const { return sources_[winner_].cursor->record(); }
  // The key is that of the record before.
  bool same_key() const { return same_; }

 private:
  struct Source {
    std::unique_ptr<RecordCursor> cursor;
    std::string made;      // the key, if it is not the record, or the beginning of it
    std::string_view key;  // of the current record, as much as there is of it
    bool whole = true;     // it is all of the key
    std::uint64_t word = 0;
    bool ended = false;
  };

  void load(Source& source);
  int compare(const Source& x, const Source& y);
  bool before(std::size_t a, std::size_t b);
  void remember(const Source& source);
  bool is_remembered(const Source& source);
  // Lasts until it is called again with the same `place`, 0 or 1.
  std::string_view whole_key(std::string_view record, std::size_t place) {
    return key_of(keys_, record, KeyExtractor::kWholeKey, full_[place]);
  }
  std::size_t play(std::size_t node);

  const KeyExtractor& keys_;
  const bool marks_same_;
  std::vector<Source> sources_;
  std::vector<std::size_t> losers_;  // of the matches; node i plays those of 2i and 2i + 1
  std::size_t winner_ = 0;
  bool started_ = false;
  bool same_ = false;
  // The record before, with marks_same.
  std::string last_key_;
  bool last_is_whole_ = true;
  std::string last_record_;  // if its key is not whole
  std::string full_[2];      // keys
};

}  // namespace xxl
