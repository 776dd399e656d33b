// A sorted piece on its way out, of which each group of equal keys becomes one record.
//
// Its first group may go on from the piece before, its last in the piece behind. So the stage keeps
// one open group between pieces, which all but costs nothing while a piece has its turn:
//
//     pieces     | a a b b |  b b b  | b c c d |
//     written      a                   b c          d is left open, as b was twice before
//
// The records are read twice: first to know how many groups there are, and the first and last of
// them; then, when places in the output have been reserved, to write them. That takes memory for a
// few records only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/checksum.h"
#include "record/key_layout.h"
#include "record/record_fold.h"
#include "sort/piece_sorter.h"

namespace xxl {

// Sorted records, group by group.
class GroupReader {
 public:
  // All references must outlive it. `hash` (may be null) is added the records that are read.
  GroupReader(const RecordSource& source, const KeyLayout& layout, MultisetHash* hash);

  // Reads the next group into `group`; false, and leaves it alone, if there is none.
  bool next(RecordGroup& group);
  // The last group ended before a record of the same key.
  bool has_parted() const { return has_parted_; }

 private:
  const std::byte* record();  // the next one; null at the end

  const RecordSource& source_;
  const KeyLayout& layout_;
  MultisetHash* hash_;
  std::size_t at_once_;
  std::vector<std::byte> buffer_;
  std::size_t first_ = 0;  // record of the source at the start of the buffer
  std::size_t place_ = 0;  // in the buffer
  std::size_t filled_ = 0;
  bool has_parted_ = false;
};

class FoldedPiece final : public RecordSource {
 public:
  // At most, for records that become `record_bytes`.
  static std::size_t memory_bytes(std::size_t record_bytes);

  // `source` must last until the last write(), and the others with it.
  FoldedPiece(const RecordSource& source, const KeyLayout& layout, const FoldRules& rules);

  // Goes on with the group `open` of the pieces before (it may be empty), and leaves there the last
  // one of this.
  void join(RecordGroup& open);
  // No piece follows that `open` could go on in.
  void end(RecordGroup& open);

  std::size_t size() const override { return size_; }
  // Front to back, each record once. Throws Error{bad_input} where a sum exceeds its field.
  void write(std::size_t first, std::size_t count, std::byte* out) const override;

  const MultisetHash& hash() const { return hash_; }  // of the records of `source`
  bool has_parted() const { return has_parted_; }
  std::uint64_t records_written() const { return records_written_; }  // that were folded

 private:
  const KeyLayout& layout_;
  std::size_t record_bytes_;
  MultisetHash hash_;
  std::size_t groups_ = 0;
  RecordGroup first_, last_;
  std::optional<RecordGroup> leading_;  // written in front of groups of the source
  bool skips_first_ = false;            // of the source: it is in leading_
  std::size_t size_ = 0;
  bool has_parted_ = false;
  mutable GroupReader reader_;
  mutable RecordGroup current_;
  mutable std::uint64_t records_written_ = 0;
};

}  // namespace xxl
