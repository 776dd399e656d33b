// Merging of sequences of records one by one, with a tree of losers.
//
// For what does not fit in memory: cells of frequent keys, groups of too many runs, the files of
// sort -m. Each sequence has a cursor; the key of its record is made when the cursor gets there,
// and compared by its first 8 bytes wherever these differ. Source: Knuth, section 5.4.1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "record/key_extractor.h"
#include "record/record_key.h"

namespace xxl {

// A sequence of records.
class RecordCursor {
 public:
  virtual ~RecordCursor() = default;
  // Goes to the next record, the first one at first; false at the end. The previous record() may be
  // gone then.
  virtual bool advance() = 0;
  virtual std::string_view record() const = 0;
  // An owner that keeps record() valid when the cursor goes on, in no more memory than the record
  // takes. Null if it stays valid anyway.
  virtual std::shared_ptr<const void> hold() { return nullptr; }
};

// The key of the record where a cursor was before.
class KeyBefore {
 public:
  // To be called before the cursor goes on.
  void take(const RecordKey& key, RecordCursor& cursor) {
    hold_ = key.needs_record() ? cursor.hold() : nullptr;
    key_.copy(key);
    key_.record_moved(cursor.record());  // to be held
  }
  const RecordKey& key() const { return key_; }

 private:
  RecordKey key_;
  std::shared_ptr<const void> hold_;  // of its record, if that is needed
};

class RecordMerge {
 public:
  // Called with the cursor whose record is to come before the one that it had before; throws.
  using OnDisorder = std::function<void(const RecordCursor& cursor)>;

  // Of equal keys, the records of the cursor with the lower number come first. `marks_same`:
  // same_key() is needed. Without `on_disorder`, cursors are assumed to be in order.
  RecordMerge(std::vector<std::unique_ptr<RecordCursor>> cursors, const KeyExtractor& keys,
              bool marks_same, OnDisorder on_disorder = {});

  // Goes to the next record, the first one at first; false at the end.
  bool next();
  std::string_view record() const { return contenders_[winner_].cursor->record(); }
  std::shared_ptr<const void> hold() { return contenders_[winner_].cursor->hold(); }
  // The key is that of the record before.
  bool same_key() const { return same_; }

 private:
  struct Contender {
    std::unique_ptr<RecordCursor> cursor;
    RecordKey key;  // of the current record
    std::uint64_t word = 0;
    bool ended = false;
  };

  void load(Contender& contender);
  bool before(std::size_t a, std::size_t b);
  std::size_t play(std::size_t node);

  const KeyExtractor& keys_;
  const bool marks_same_;
  OnDisorder on_disorder_;
  std::vector<Contender> contenders_;
  std::vector<std::size_t> losers_;  // of the matches; node i plays those of 2i and 2i + 1
  std::size_t winner_ = 0;
  bool started_ = false;
  bool same_ = false;
  KeyBefore before_;  // with marks_same or on_disorder
};

}  // namespace xxl
