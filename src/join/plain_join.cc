#include "join/plain_join.h"

#include <limits>
#include <memory>
#include <utility>

#include "base/error.h"

namespace xxl {
namespace {

std::size_t count_fields(LineFields& fields, const RecordCursor& lines, bool any) {
  if (!any) return 0;
  fields.parse(lines.record());
  return fields.size();
}

}  // namespace

PlainJoin::PlainJoin(const PlainJoinOptions& options, RecordCursor& r, RecordCursor& s,
                     GroupStore& group_r, GroupStore& group_s, Write write, Warn warn)
    : options_(options),
      comparison_(options.ignore_case),
      fields_(options.format.syntax, current_byte_classes()),
      inputs_{Input{r, group_r, {}, false, {}, false, 0, false},
              Input{s, group_s, {}, false, {}, false, 0, false}},
      write_(std::move(write)),
      warn_(std::move(warn)) {}

// Goes to the next line of an input, and checks that it is not below the one before.
bool PlainJoin::read(std::size_t side) {
  Input& input = inputs_[side];
  if (input.any) {
    input.last_key = input.key;
    input.has_last = true;
  }
  input.any = input.lines.advance();
  if (!input.any) return false;
  ++input.number;
  input.key = {};
  const std::string_view line = input.lines.record();
  fields_.parse(line);
  input.key = fields_[options_.key_fields[side]];
  watch(side);
  return true;
}

void PlainJoin::watch(std::size_t side) {
  Input& input = inputs_[side];
  const bool always = options_.watch == OrderWatch::always;
  if (!input.has_last || input.warned || options_.watch == OrderWatch::never) return;
  if (!always && !seen_unpaired_) return;
  if (comparison_.compare(input.last_key, input.key) <= 0) return;
  // As with printf: up to a byte 0.
  const std::string_view line = input.lines.record();
  const std::string message = options_.names[side] + ":" + std::to_string(input.number) +
                              ": is not sorted: " + std::string(line.substr(0, line.find('\0')));
  if (always) throw Error(ErrorCode::bad_input, message);
  input.warned = true;
  warn_(message);
}

void PlainJoin::write_alone(std::size_t side) {
  row_.clear();
  rows_->append_alone(side == 0 ? JoinSide::r : JoinSide::s, inputs_[side].lines.record(), row_);
  write_(row_);
}

void PlainJoin::write_header() {
  if (inputs_[0].any && inputs_[1].any) {
    row_.clear();
    rows_->set_r(inputs_[0].lines.record());
    rows_->append_pair(inputs_[1].lines.record(), row_);
    write_(row_);
  } else if (inputs_[0].any || inputs_[1].any) {
    write_alone(inputs_[0].any ? 0 : 1);
  }
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    if (!inputs_[side].any) continue;
    inputs_[side].any = false;  // a header has no place in the order
    inputs_[side].has_last = false;
    read(side);
  }
}

// Gathers lines (of S, their parts of rows) as long as their key is `key`; the current line is the
// first of them.
void PlainJoin::gather(std::size_t side, const std::string& key) {
  Input& input = inputs_[side];
  input.group.clear();
  do {
    if (!options_.shape.pairs) continue;
    if (side == 0) {
      input.group.append(input.lines.record());
    } else {
      row_.clear();
      rows_->append_part(input.lines.record(), row_);
      input.group.append(row_);
    }
  } while (read(side) && comparison_.compare(input.key, key) == 0);
}

void PlainJoin::join_group() {
  const std::string key_r(inputs_[0].key), key_s(inputs_[1].key);
  gather(0, key_s);
  gather(1, key_r);
  if (!options_.shape.pairs) return;
  inputs_[0].group.for_each([&](std::string_view r) {
    rows_->set_r(r);
    inputs_[1].group.for_each([&](std::string_view part) {
      row_.clear();
      rows_->append_pair_of_part(part, row_);
      write_(row_);
    });
  });
}

// The rest of an input when the other one has ended: its lines have no partner.
void PlainJoin::read_tail(std::size_t side, bool watched) {
  Input& input = inputs_[side];
  const bool written = side == 0 ? options_.shape.unmatched_r : options_.shape.unmatched_s;
  if (!input.any || !(written || watched)) return;
  do {
    if (written) write_alone(side);
    if (input.warned && !written) return;
  } while (read(side));
}

bool PlainJoin::run() {
  read(0);
  read(1);
  LineRowFormat format = options_.format;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    format.key_fields[side] = {options_.key_fields[side]};
  }
  if (options_.counts_fields) {
    format.field_counts = {count_fields(fields_, inputs_[0].lines, inputs_[0].any),
                           count_fields(fields_, inputs_[1].lines, inputs_[1].any)};
  }
  rows_ = std::make_unique<LineRows>(format);
  if (options_.header) write_header();

  while (inputs_[0].any && inputs_[1].any) {
    const int order = comparison_.compare(inputs_[0].key, inputs_[1].key);
    if (order == 0) {
      join_group();
      continue;
    }
    const std::size_t side = order < 0 ? 0 : 1;
    if (side == 0 ? options_.shape.unmatched_r : options_.shape.unmatched_s) write_alone(side);
    read(side);
    seen_unpaired_ = true;
  }
  const bool watched =
      options_.watch != OrderWatch::never && !(inputs_[0].warned && inputs_[1].warned);
  read_tail(0, watched);
  read_tail(1, watched);
  return !inputs_[0].warned && !inputs_[1].warned;
}

}  // namespace xxl
