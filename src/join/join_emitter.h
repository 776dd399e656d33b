// Makes the rows of a join of a given shape, and counts records and rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "join/group_store.h"
#include "join/join_kind.h"
#include "join/join_rows.h"
#include "join/row_output.h"
#include "record/key_extractor.h"
#include "record/record_syntax.h"

namespace xxl {

// Which rows there are.
struct RowRules {
  JoinShape shape;
  // Makes a writer of rows. From many threads, once the first records are known.
  std::function<std::unique_ptr<JoinRows>()> make_rows;
  // True of a record of R whose key equals no other, not even itself, as NULL in SQL; may be empty.
  // From many threads, once the first records are known.
  std::function<bool(std::string_view r)> matches_nothing;
};

// What is joined and how. Shared by all threads.
struct JoinRules : RowRules {
  // Of both sides alike: equal byte strings are equal keys.
  std::array<const KeyExtractor*, kJoinSides> keys{};
  RecordSyntax syntax;           // of the rows
  std::size_t buffer_bytes = 0;  // of rows, for each thread; as much again for parts of S's
};

// Totals of records and rows.
struct JoinTotals {
  struct SideTotals {
    MultisetHash records;  // that were joined
    std::uint64_t matched = 0;
  };
  std::array<SideTotals, kJoinSides> sides;
  std::uint64_t rows = 0;  // expected, from the sizes of groups
  MultisetHash written;    // of rows; empty if they are only counted

  JoinTotals& operator+=(const JoinTotals& other) {
    for (std::size_t side = 0; side < kJoinSides; ++side) {
      sides[side].records += other.sides[side].records;
      sides[side].matched += other.sides[side].matched;
    }
    rows += other.rows;
    written += other.written;
    return *this;
  }
};

// One thread.
class JoinEmitter {
 public:
  // The references must outlive it; `output` is the caller's to finish.
  JoinEmitter(const JoinRules& rules, RowOutput& output) : rules_(rules), output_(output) {}

  const JoinShape& shape() const { return rules_.shape; }
  // False if rows are only counted: then there is no need to go through pairs.
  bool writes() const { return output_.is_written(); }

  // Each record is arrived() once, wherever it ends up.
  void arrived(JoinSide side, std::string_view record) { add_record(of(side).records, record); }
  // A record without a partner.
  void alone(JoinSide side, std::string_view record) {
    if (side == JoinSide::r ? rules_.shape.unmatched_r : rules_.shape.unmatched_s)
      write_alone(side, record);
  }
  // An R with partners; not with shape().pairs.
  void matched_r(std::string_view record) {
    if (rules_.shape.matched_r) write_alone(JoinSide::r, record);
  }
  // A group of `r` times `s` records: all of its pairs will be written, if any are.
  void group(std::uint64_t r, std::uint64_t s) {
    of(JoinSide::r).matched += r;
    of(JoinSide::s).matched += s;
    if (rules_.shape.pairs) totals_.rows += r * s;
  }
  void begin_pairs(std::string_view r) { rows().set_r(r); }
  void pair(std::string_view s) {
    rows().append_pair(s, output_.row());
    output_.end_row();
  }

  // The part of `s`, appended to `group` or `part`, and the row of such a part.
  void append_part(std::string_view s, std::string& part) { rows().append_part(s, part); }
  void keep_part(std::string_view s, GroupStore& group) {
    std::string& part = output_.row();  // which no row is using
    const std::size_t before = part.size();
    append_part(s, part);
    group.append(std::string_view(part).substr(before));
    part.resize(before);
  }
  void pair_of_part(std::string_view part) {
    rows().append_pair_of_part(part, output_.row());
    output_.end_row();
  }

  // After output.finish().
  JoinTotals totals() const {
    JoinTotals totals = totals_;
    totals.written = output_.written();
    return totals;
  }

 private:
  JoinTotals::SideTotals& of(JoinSide side) {
    return totals_.sides[static_cast<std::size_t>(side)];
  }
  void write_alone(JoinSide side, std::string_view record) {
    ++totals_.rows;
    if (!writes()) return;
    rows().append_alone(side, record, output_.row());
    output_.end_row();
  }

  // Made when it is first needed: by then both inputs have been looked at.
  JoinRows& rows() {
    if (rows_ == nullptr) rows_ = rules_.make_rows();
    return *rows_;
  }

  const JoinRules& rules_;
  std::unique_ptr<JoinRows> rows_;
  RowOutput& output_;
  JoinTotals totals_;
};

}  // namespace xxl
