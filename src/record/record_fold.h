// What folds make of records of a fixed size with equal keys: the first of them, with sums,
// extremes and the like of all of them in place of some fields, and with their number behind it.
//
//     --sum=8:u32 --max=12:u32 --count, key in bytes 0 to 7
//
//     | 7 | 10 | 4 | a |
//     | 7 |  5 | 6 | b |   becomes   | 7 | 15 | 6 | a | 2 |
//
// Runs are folded as they are written, so that they shrink; what they hold is folded again when
// they are merged. Nothing depends on that: what a field cannot hold exactly yet (a number beyond
// its range, which others may bring back; floating-point numbers, whose sum is rounded once; means)
// is left in several records until all of the group is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/exact_sum.h"
#include "record/fold_kind.h"
#include "record/key_layout.h"
#include "record/record_format.h"

namespace xxl {

// A field, and what becomes of it.
struct FieldFold {
  FoldKind kind;
  KeyField field;
  KeyLayout order;  // of min and max: the value that comes first is kept
};

struct RecordFold {
  std::vector<FieldFold> fields{};  // none shares a byte with the key or another
  bool count = false;               // the number of records, a little-endian u64, is appended

  bool folds() const { return count || !fields.empty(); }
};

// OFFSET:TYPE, a field of records of `format` outside its key, in addition to those in `fold`.
// Throws Error{usage} naming the option of that name.
FieldFold parse_field_fold(FoldKind kind, std::string_view spec, const RecordFormat& format,
                           const RecordFold& fold);
// All of a sort. Throws the same.
RecordFold parse_record_fold(std::span<const GivenFold> folds, bool count,
                             const RecordFormat& format);

// Of the records that the fold makes.
RecordFormat folded_format(RecordFormat format, const RecordFold& fold);

// How records of a sorted stream are folded.
struct FoldRules {
  RecordFold fold{};
  RecordFormat format{};  // of the records before they were folded first
  bool is_again = false;  // they were folded before: the count is there
  bool is_whole = true;   // all records of each group come; else they may stay several

  std::size_t bytes_in() const { return format.record_bytes + (is_again ? count_bytes() : 0); }
  std::size_t bytes_out() const { return format.record_bytes + count_bytes(); }

 private:
  std::size_t count_bytes() const { return fold.count ? sizeof(std::uint64_t) : 0; }
};

// The records of one group, so far.
class RecordGroup {
 public:
  // `rules` must outlive it.
  explicit RecordGroup(const FoldRules& rules) : rules_(&rules), sums_(rules.fold.fields.size()) {}

  bool empty() const { return count_ == 0; }
  const std::byte* first() const { return record_.data(); }  // as far as its key goes
  std::uint64_t count() const { return count_; }

  // In place of what was there before.
  void begin(const std::byte* record);
  // A record, or more of the group. False, and nothing is changed, if that must stay apart.
  bool add(const std::byte* record) { return add(record, count_in(record)); }
  bool add(const RecordGroup& other);
  void clear() { count_ = 0; }

  // Writes what the group becomes. Throws Error{bad_input} if a sum exceeds its field.
  void write(std::byte* out) const;

 private:
  struct Sum {
    __int128 integer = 0;
    ExactSum real;
  };

  std::uint64_t count_in(const std::byte* record) const;
  bool add(const std::byte* record, std::uint64_t count);
  template <class IntegerOf, class AddReal>
  bool add(const std::byte* record, std::uint64_t count, IntegerOf&& integer_of,
           AddReal&& add_real);
  void sum_up();
  void write_sum(const FieldFold& fold, const Sum& sum, std::byte* out) const;
  [[noreturn]] void refuse(const KeyField& field) const;

  const FoldRules* rules_;
  std::vector<std::byte> record_;  // the first, with what others have in place of some fields
  std::uint64_t count_ = 0;
  bool is_summed_ = false;  // sums_ are those of all records; false: there is one, and no sums
  std::vector<Sum> sums_;   // of the fields that are sums or means
};

}  // namespace xxl
