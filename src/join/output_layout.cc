#include "join/output_layout.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "record/native_key.h"

namespace xxl {
namespace {

[[noreturn]] void throw_bad_layout(std::string_view layout, const std::string& why) {
  throw Error(ErrorCode::usage, "invalid layout of rows '" + std::string(layout) + "': " + why);
}

[[noreturn]] void throw_incompatible(const std::string& why) {
  throw Error(ErrorCode::usage, "the keys of the two inputs cannot be compared: " + why);
}

// Which bytes of a record belong to no field of its key.
std::vector<bool> bytes_beside_key(const RecordFormat& format) {
  std::vector<bool> beside(format.record_bytes, true);
  for (const KeyField& field : format.key) {
    const auto first = beside.begin() + static_cast<std::ptrdiff_t>(field.offset);
    std::fill(first, first + static_cast<std::ptrdiff_t>(field.length), false);
  }
  return beside;
}

}  // namespace

void check_compatible(const std::array<RecordFormat, kJoinSides>& formats) {
  const auto& [r, s] = formats;
  if (r.key.size() != s.key.size()) {
    throw_incompatible("one has " + std::to_string(r.key.size()) + ", the other " +
                       format_count(s.key.size(), "field"));
  }
  for (std::size_t i = 0; i < r.key.size(); ++i) {
    const std::string field = "field " + std::to_string(i + 1);
    if (r.key[i].type != s.key[i].type) throw_incompatible(field + " is of different types");
    if (r.key[i].length != s.key[i].length) {
      throw_incompatible(field + " has " + format_count(r.key[i].length, "byte") + " in one, " +
                         std::to_string(s.key[i].length) + " in the other");
    }
    if (r.key[i].descending != s.key[i].descending) {
      throw_incompatible(field + " is descending in one only");
    }
  }
}

RowLayout::RowLayout(const std::array<RecordFormat, kJoinSides>& formats, JoinKind kind,
                     std::string_view layout) {
  const auto& [r, s] = formats;
  if (!layout.empty()) {
    parse(formats, kind, layout);
  } else if (!keeps_pairs(kind)) {
    add_bytes(JoinSide::r, 0, r.record_bytes);
    first_key_ = r.key.front();
    find_shape(formats, kind);
  } else {
    add_key(formats);
    add_rest(JoinSide::r, r);
    add_rest(JoinSide::s, s);
    find_shape(formats, kind);
  }
  with_part_ = both_;
  for (CopyStep& step : with_part_) {
    if (step.source != CopySource::s) continue;
    step.from = part_bytes_;
    part_bytes_ += step.bytes;
  }
}

// Appends a step, or makes the last one longer.
void RowLayout::add(CopySteps& steps, CopySource source, std::size_t from, std::size_t to,
                    std::size_t bytes) const {
  if (!steps.empty()) {
    CopyStep& last = steps.back();
    const bool follows = last.source == source && last.to + last.bytes == to;
    const bool in_record = source == CopySource::r || source == CopySource::s;
    if (follows && (source == CopySource::zero || (in_record && last.from + last.bytes == from))) {
      last.bytes += bytes;
      return;
    }
  }
  steps.push_back({source, from, to, bytes});
}

// Bytes [from, from + bytes) of the record of `side`.
void RowLayout::add_bytes(JoinSide side, std::size_t from, std::size_t bytes) {
  const bool is_r = side == JoinSide::r;
  add(both_, is_r ? CopySource::r : CopySource::s, from, row_bytes_, bytes);
  add(only_r_, is_r ? CopySource::r : CopySource::zero, from, row_bytes_, bytes);
  add(only_s_, is_r ? CopySource::zero : CopySource::s, from, row_bytes_, bytes);
  row_bytes_ += bytes;
}

// The key as R stores it, whichever record it is taken from.
void RowLayout::add_key(const std::array<RecordFormat, kJoinSides>& formats) {
  const auto& [r, s] = formats;
  if (!first_key_) {
    first_key_ = r.key.front();
    first_key_->offset = row_bytes_;
  }
  for (std::size_t i = 0; i < r.key.size(); ++i) {
    const KeyField& in_r = r.key[i];
    const KeyField& in_s = s.key[i];
    const bool reversed =
        in_r.type != KeyType::bytes && in_r.length > 1 && in_r.big_endian != in_s.big_endian;
    add(both_, CopySource::r, in_r.offset, row_bytes_, in_r.length);
    add(only_r_, CopySource::r, in_r.offset, row_bytes_, in_r.length);
    add(only_s_, reversed ? CopySource::reversed_s : CopySource::s, in_s.offset, row_bytes_,
        in_s.length);
    row_bytes_ += in_r.length;
  }
}

void RowLayout::add_mark() {
  add(both_, CopySource::constant, 3, row_bytes_, 1);
  add(only_r_, CopySource::constant, 1, row_bytes_, 1);
  add(only_s_, CopySource::constant, 2, row_bytes_, 1);
  ++row_bytes_;
}

// The bytes of `side`'s record that are not key.
void RowLayout::add_rest(JoinSide side, const RecordFormat& format) {
  const std::vector<bool> beside = bytes_beside_key(format);
  for (auto at = beside.begin(); (at = std::find(at, beside.end(), true)) != beside.end();) {
    const auto end = std::find(at, beside.end(), false);
    add_bytes(side, static_cast<std::size_t>(at - beside.begin()),
              static_cast<std::size_t>(end - at));
    at = end;
  }
}

void RowLayout::parse(const std::array<RecordFormat, kJoinSides>& formats, JoinKind kind,
                      std::string_view layout) {
  for (std::string_view rest = layout;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (item == "0") {
      add_key(formats);
    } else if (item == "m") {
      add_mark();
    } else {
      const std::size_t colon = item.find(':');
      if ((!item.starts_with("1.") && !item.starts_with("2.")) || colon == std::string_view::npos) {
        throw_bad_layout(layout, std::string("'").append(item).append(
                                     "' is none of 0, m, 1.OFFSET:BYTES, 2.OFFSET:BYTES"));
      }
      const JoinSide side = item[0] == '1' ? JoinSide::r : JoinSide::s;
      if (side == JoinSide::s && !keeps_pairs(kind)) {
        throw_bad_layout(layout, "rows of semi and anti joins have nothing from the right side");
      }
      const std::size_t record_bytes = formats[static_cast<std::size_t>(side)].record_bytes;
      const std::size_t offset =
          parse_number(item.substr(2, colon - 2), "offset of a layout", 0, kMaxRecordBytes);
      const std::size_t bytes =
          parse_number(item.substr(colon + 1), "length in a layout", 1, kMaxRecordBytes);
      if (offset + bytes > record_bytes) {
        throw_bad_layout(layout, std::string("'").append(item).append("' ends at byte ") +
                                     std::to_string(offset + bytes) + " of a record of " +
                                     format_count(record_bytes, "byte"));
      }
      add_bytes(side, offset, bytes);
    }
    if (row_bytes_ > kMaxRowBytes) {
      throw_bad_layout(layout, "a row has more than " + format_bytes(kMaxRowBytes));
    }
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

// Whether rows of the default layout are small.
void RowLayout::find_shape(const std::array<RecordFormat, kJoinSides>& formats, JoinKind kind) {
  const auto key_bytes = [](RecordKind kind_of_side) -> std::size_t {
    if (kind_of_side == RecordKind::generic) return 0;
    return is_native32(kind_of_side) ? 4 : 8;
  };
  const auto has_value = [](RecordKind kind_of_side) {
    return kind_of_side == RecordKind::pair32 || kind_of_side == RecordKind::pair64;
  };
  const RecordKind r = KeyLayout(formats[0]).kind();
  const RecordKind s = KeyLayout(formats[1]).kind();
  if (keeps_pairs(kind) && key_bytes(r) != key_bytes(s)) return;
  small_key_bytes_ = key_bytes(r);
  has_r_value_ = has_value(r);
  has_s_value_ = keeps_pairs(kind) && has_value(s);
}

void RowLayout::write_part(const std::byte* s, std::byte* part) const {
  for (const CopyStep& step : both_) {
    if (step.source != CopySource::s) continue;
    std::memcpy(part, s + step.from, step.bytes);
    part += step.bytes;
  }
}

void RowLayout::write_steps(const CopySteps& steps, const RowRecords& records, std::byte* out) {
  for (const CopyStep& step : steps) {
    std::byte* to = out + step.to;
    switch (step.source) {
      case CopySource::r:
        std::memcpy(to, records.r + step.from, step.bytes);
        break;
      case CopySource::s:
        std::memcpy(to, records.s + step.from, step.bytes);
        break;
      case CopySource::reversed_s:
        std::reverse_copy(records.s + step.from, records.s + step.from + step.bytes, to);
        break;
      case CopySource::zero:
        std::memset(to, 0, step.bytes);
        break;
      case CopySource::constant:
        *to = static_cast<std::byte>(step.from);
    }
  }
}

RecordFormat RowLayout::row_format() const {
  RecordFormat format;
  format.name = "rows";
  format.record_bytes = row_bytes_;
  format.key.push_back({.offset = 0, .length = 1});
  return format;
}

RecordFormat RowLayout::whole_row_format() const {
  RecordFormat format = row_format();
  format.key.front().length = row_bytes_;
  return format;
}

}  // namespace xxl
