// Joins two sequences of records that come in the order of their keys, record by record.
//
// Rows are in the order of the R's of a group, each with all its S's: so the parts of a group's S's
// are kept, and read for each R. An R that is alone in its group does not need this.
//
//     R  a b b d        S  a a b b c       pairs  aR aS1, aR aS2      S's read past R's only one
//                                                 bR1 bS1, bR1 bS2    S's kept,
//                                                 bR2 bS1, bR2 bS2    and gone through again
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "join/group_store.h"
#include "join/join_emitter.h"
#include "merge/record_merge.h"

namespace xxl {

// One of the sequences, with the keys of its records.
class KeyedRecords {
 public:
  // The references must outlive it. `on_disorder` is called when a key is below the one before, and
  // must throw.
  KeyedRecords(RecordCursor& records, const KeyExtractor& keys, std::function<void()> on_disorder)
      : records_(records), keys_(keys), on_disorder_(std::move(on_disorder)) {}

  // Goes to the next record, the first one at first; false at the end.
  bool next();
  std::string_view record() const { return records_.record(); }
  const RecordKey& key() const { return key_; }
  RecordCursor& cursor() { return records_; }

 private:
  RecordCursor& records_;
  const KeyExtractor& keys_;
  std::function<void()> on_disorder_;
  bool any_ = false;  // the number of records so far
  RecordKey key_;
  KeyBefore before_;
};

// The records of a merge.
class MergedRecords final : public RecordCursor {
 public:
  explicit MergedRecords(RecordMerge merge) : merge_(std::move(merge)) {}
  bool advance() override { return merge_.next(); }
  std::string_view record() const override { return merge_.record(); }
  std::shared_ptr<const void> hold() override { return merge_.hold(); }

 private:
  RecordMerge merge_;
};

class GeneralJoiner {
 public:
  // The references must outlive it.
  GeneralJoiner(KeyedRecords& r, KeyedRecords& s, const JoinRules& rules, GroupStore& group,
                JoinEmitter& emitter)
      : r_(r), s_(s), rules_(rules), group_(group), emitter_(emitter) {}

  // Joins all. Throws what reading, writing and `group` throw. `on_progress` is called from time to
  // time with the bytes of records read since.
  void run(const std::function<void(std::uint64_t)>& on_progress);

 private:
  bool next(JoinSide side);
  void skip_alone(JoinSide side, bool& more);
  bool is_in_group(const KeyedRecords& records) const {
    return records.key().compare(key_.key()) == 0;
  }
  void keep_first_r();
  void join_group(bool& more_r, bool& more_s);
  void join_with_one(bool& more_s);
  void join_many(bool& more_r, bool& more_s);
  void join_unpaired(bool& more_r, bool& more_s);

  KeyedRecords& r_;
  KeyedRecords& s_;
  const JoinRules& rules_;
  GroupStore& group_;
  JoinEmitter& emitter_;
  const std::function<void(std::uint64_t)>* on_progress_ = nullptr;
  std::uint64_t bytes_ = 0;  // since on_progress was called
  // The first R of the group.
  KeyBefore key_;
  std::string_view first_r_;
  std::string first_r_copy_;                     // if it is short
  std::shared_ptr<const void> first_r_is_held_;  // if it is long
};

}  // namespace xxl
