// Writes sorted records: all, or some of each group of equal keys, or one made of each group; some
// of the first left out, up to a limit; and counts them.
//
// Records come one after the other, each with whether its key is that of the one before. With a
// fold that counts, and a limit of 2:
//
//     add("a", false)  add("a", true)  add("b", false)  add("c", false)
//                                      writes "2 a"     writes "1 b", takes no more
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/checksum.h"
#include "record/group_fold.h"
#include "record/group_selection.h"
#include "run/general_output.h"

namespace xxl {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// Which records are written, and as what.
struct EmitRules {
  GroupSelection kept{};           // of records with equal keys
  MakeGroupFold fold;              // with GroupRule::first, if any
  std::uint64_t skip = 0;          // of those, the first ones are left out
  std::uint64_t limit = kNoLimit;  // records written
  bool hash_written = true;        // not needed for runs, whose records will be written again
  std::size_t tag_bytes = 0;       // in front of each record (record_tags.h): not hashed
};

// Totals of the records.
struct GeneralTotals {
  std::uint64_t records_out = 0;
  std::uint64_t records_skipped = 0;
  MultisetHash written;  // records read that are in the output, or in a group folded into it
  MultisetHash removed;  // not kept, or skipped

  GeneralTotals& operator+=(const GeneralTotals& other) {
    records_out += other.records_out;
    records_skipped += other.records_skipped;
    written += other.written;
    removed += other.removed;
    return *this;
  }
};

// Writes records to a reserved part of the output.
class PieceWriter {
 public:
  // `syntax`: of the output; must outlive it. Of each record, the first `dropped_bytes` are left
  // out.
  PieceWriter(GeneralOutput::Reservation piece, const RecordSyntax& syntax,
              std::size_t dropped_bytes = 0)
      : piece_(piece), syntax_(syntax), dropped_bytes_(dropped_bytes) {}
  void add(std::string_view record) {
    record.remove_prefix(dropped_bytes_);
    piece_.append_record(record, syntax_);
  }
  void finish() { piece_.finish(); }

 private:
  GeneralOutput::Reservation piece_;
  const RecordSyntax& syntax_;
  const std::size_t dropped_bytes_;
};

// `Writer` has add(std::string_view record), as PieceWriter and GeneralRunWriter have. One thread.
template <class Writer>
class RecordEmitter {
 public:
  // `writer` must outlive it, and is the caller's to finish.
  RecordEmitter(Writer& writer, const EmitRules& rules)
      : writer_(writer),
        kept_(rules.kept),
        hash_written_(rules.hash_written),
        tag_bytes_(rules.tag_bytes),
        skip_(rules.skip),
        limit_(rules.limit) {
    if (rules.fold) fold_ = rules.fold();
  }
  RecordEmitter(const RecordEmitter&) = delete;
  RecordEmitter& operator=(const RecordEmitter&) = delete;

  // `same_key`: as the record added before (only looked at if there are groups). False if the limit
  // is reached: then the record was not taken, and nothing more may be added.
  bool add(std::string_view record, bool same_key) {
    if (!kept_.keeps(record, same_key)) {
      hash(totals_.removed, record);
      if (in_group_) fold_->add(record);
      return true;
    }
    end_group();
    if (totals_.records_skipped == skip_ && totals_.records_out == limit_) return false;
    if (fold_) {
      fold_->begin(record);
      in_group_ = true;
      first_of_group_ = {};
      hash(first_of_group_, record);
    } else if (admit()) {
      if (hash_written_) hash(totals_.written, record);
      writer_.add(record);
    } else {
      hash(totals_.removed, record);
    }
    return true;
  }

  // After the last record: writes the last group.
  const GeneralTotals& finish() {
    end_group();
    return totals_;
  }

 private:
  void hash(MultisetHash& sum, std::string_view record) const {
    record.remove_prefix(tag_bytes_);
    add_record(sum, record);
  }
  // Counts a record of the result. False if it is one of those that are skipped.
  bool admit() {
    if (totals_.records_skipped < skip_) {
      ++totals_.records_skipped;
      return false;
    }
    ++totals_.records_out;
    return true;
  }
  void end_group() {
    if (!in_group_) return;
    in_group_ = false;
    if (!fold_->keeps() || !admit()) {
      totals_.removed += first_of_group_;
      return;
    }
    totals_.written += first_of_group_;
    folded_.clear();
    fold_->finish(folded_);
    writer_.add(folded_);
  }

  Writer& writer_;
  GroupSelection kept_;
  const bool hash_written_;
  const std::size_t tag_bytes_;
  const std::uint64_t skip_;
  const std::uint64_t limit_;
  std::unique_ptr<GroupFold> fold_;
  bool in_group_ = false;
  MultisetHash first_of_group_;
  std::string folded_;
  GeneralTotals totals_;
};

}  // namespace xxl
