// join(1), to the letter: two inputs that are expected to be in order, joined as they are read.
//
// Where the inputs are not in order, it does what GNU join 9.1 does: groups are neighbouring lines,
// and order is checked as lines are read: never, always, or (by default) once a line has been seen
// that has no partner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "join/group_store.h"
#include "join/join_kind.h"
#include "join/line_rows.h"
#include "merge/record_merge.h"
#include "record/field_keys.h"
#include "record/line_fields.h"

namespace xxl {

enum class OrderWatch { if_unpaired, always, never };

struct PlainJoinOptions {
  std::array<std::string, kJoinSides> names;  // of the inputs, for messages
  JoinShape shape;                            // without matched_r
  std::array<std::size_t, kJoinSides> key_fields{};
  bool ignore_case = false;
  OrderWatch watch = OrderWatch::if_unpaired;
  bool header = false;         // the first lines are headers: joined, whatever their keys
  bool counts_fields = false;  // -o auto: field_counts of `format` are those of the first lines
  LineRowFormat format;
};

class PlainJoin {
 public:
  using Write = std::function<void(std::string_view row)>;
  using Warn = std::function<void(const std::string& message)>;

  // The references must outlive it. `write` gets the rows, without a terminator, `warn` the message
  // about disorder: once for each input.
  PlainJoin(const PlainJoinOptions& options, RecordCursor& r, RecordCursor& s, GroupStore& group_r,
            GroupStore& group_s, Write write, Warn warn);

  // True if there was no disorder. Throws Error{bad_input} on disorder with OrderWatch::always.
  bool run();

 private:
  struct Input {
    RecordCursor& lines;
    GroupStore& group;
    std::string_view key;  // of the current line; lasts as long as it
    bool any = false;      // there is a current line
    std::string last_key;  // of the line read before
    bool has_last = false;
    std::uint64_t number = 0;  // of the current line, from 1
    bool warned = false;
  };

  bool read(std::size_t side);
  void watch(std::size_t side);
  void write_alone(std::size_t side);
  void write_header();
  void join_group();
  void gather(std::size_t side, const std::string& key);
  void read_tail(std::size_t side, bool watched);

  const PlainJoinOptions& options_;
  FieldComparison comparison_;
  LineFields fields_;
  std::array<Input, kJoinSides> inputs_;
  std::unique_ptr<LineRows> rows_;
  Write write_;
  Warn warn_;
  std::string row_;
  bool seen_unpaired_ = false;
};

}  // namespace xxl
