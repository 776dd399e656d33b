// Which bytes make up a row of a join of binary records, and how it is put together.
//
// A row is a list of steps, each of which copies bytes from R's record or S's, or writes zeros
// where the row has no such record. There are three lists, for rows of both, of R alone and of S
// alone, so that nothing is decided while a row is written; neighbours in the record and in the row
// are one step. Rows of small records of which the key comes first are a few loads and stores.
//
//     kv64 x kv64      R: [key][a]      S: [key][b]
//     both                [key][a][b]     R's record, then 8 bytes of S's at offset 8
//     S alone             [key][0][b]     8 bytes of S's, zeros, 8 bytes of S's at offset 8
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "join/join_kind.h"
#include "record/record_format.h"

namespace xxl {

// Throws Error{usage} unless keys of the two formats can be compared word by word (KeyLayout): as
// many fields, of the same types, lengths and directions. Where they lie, and in what byte order
// numbers are stored, may differ.
void check_compatible(const std::array<RecordFormat, kJoinSides>& formats);

// The two records of a row; one of them may be missing (null).
struct RowRecords {
  const std::byte* r = nullptr;
  const std::byte* s = nullptr;
};

class RowLayout {
 public:
  // `formats` must be compatible. `layout` as FixedJoinOptions::layout. Throws Error{usage} if it
  // is malformed, names bytes outside of a record, or makes rows of more than kMaxRowBytes.
  RowLayout(const std::array<RecordFormat, kJoinSides>& formats, JoinKind kind,
            std::string_view layout);

  std::size_t row_bytes() const { return row_bytes_; }
  // Without formats, for users of the row size only.
  RecordFormat row_format() const;
  // With all bytes of a row as its key.
  RecordFormat whole_row_format() const;
  // The first field of the key as rows have it; none if the layout leaves the key out.
  const std::optional<KeyField>& first_key() const { return first_key_; }

  // The part of an S in rows of pairs, no larger than these.
  std::size_t part_bytes() const { return part_bytes_; }
  void write_part(const std::byte* s, std::byte* part) const;
  // The row of `r` and such a part.
  void write_with_part(const std::byte* r, const std::byte* part, std::byte* out) const {
    write_steps(with_part_, {r, part}, out);
  }

  // Writes `count` consecutive rows. `records_of(i)` (0 <= i < count, called once each, in order)
  // gives the RowRecords of row i.
  template <class RecordsOf>
  void write_each(std::size_t count, RecordsOf&& records_of, std::byte* out) const;

  // Writes `count` consecutive rows: row i of the records at `r` + i * `r_step` and `s` + i *
  // `s_step` bytes. One side may be null, with a step of 0. So one R with consecutive S's has an
  // `r_step` of 0, and an `s_step` of the size of S's records.
  void write_run(const std::byte* r, std::size_t r_step, const std::byte* s, std::size_t s_step,
                 std::size_t count, std::byte* out) const {
    // Adding to a null pointer would be undefined.
    const auto at = [](const std::byte* from, std::size_t step, std::size_t i) {
      return step == 0 ? from : from + i * step;
    };
    write_each(
        count,
        [=](std::size_t i) {
          return RowRecords{at(r, r_step, i), at(s, s_step, i)};
        },
        out);
  }

  static constexpr std::size_t kMaxRowBytes = 2 * kMaxRecordBytes;

 private:
  enum class CopySource { r, s, reversed_s, zero, constant };
  struct CopyStep {
    CopySource source;
    std::size_t from;  // offset in the record; constant: the byte
    std::size_t to;    // offset in the row
    std::size_t bytes;
  };
  using CopySteps = std::vector<CopyStep>;

  void add(CopySteps& steps, CopySource source, std::size_t from, std::size_t to,
           std::size_t bytes) const;
  void add_bytes(JoinSide side, std::size_t from, std::size_t bytes);
  void add_key(const std::array<RecordFormat, kJoinSides>& formats);
  void add_mark();
  void add_rest(JoinSide side, const RecordFormat& format);
  void parse(const std::array<RecordFormat, kJoinSides>& formats, JoinKind kind,
             std::string_view layout);
  void find_shape(const std::array<RecordFormat, kJoinSides>& formats, JoinKind kind);
  const CopySteps& stretches_of(const RowRecords& records) const {
    return records.s == nullptr ? only_r_ : records.r == nullptr ? only_s_ : both_;
  }
  static void write_steps(const CopySteps& steps, const RowRecords& records, std::byte* out);

  // Rows of a key of K bytes, V bytes of R's and W of S's: records begin with the key, and the rest
  // is the value.
  template <std::size_t K, std::size_t V, std::size_t W>
  static void write_small(const RowRecords& records, std::byte* out) {
    if (records.r != nullptr) {
      std::memcpy(out, records.r, K + V);
    } else {
      std::memcpy(out, records.s, K);
      std::memset(out + K, 0, V);
    }
    if constexpr (W > 0) {
      if (records.s != nullptr) {
        std::memcpy(out + K + V, records.s + K, W);
      } else {
        std::memset(out + K + V, 0, W);
      }
    }
  }

  template <std::size_t K, std::size_t V, std::size_t W, class RecordsOf>
  static void write_all_small(std::size_t count, RecordsOf& records_of, std::byte* out) {
    for (std::size_t i = 0; i < count; ++i, out += K + V + W) {
      write_small<K, V, W>(records_of(i), out);
    }
  }

  template <std::size_t K, class RecordsOf>
  void write_all_of_key(std::size_t count, RecordsOf& records_of, std::byte* out) const {
    if (has_r_value_ && has_s_value_) return write_all_small<K, K, K>(count, records_of, out);
    if (has_r_value_) return write_all_small<K, K, 0>(count, records_of, out);
    if (has_s_value_) return write_all_small<K, 0, K>(count, records_of, out);
    write_all_small<K, 0, 0>(count, records_of, out);
  }

  std::size_t row_bytes_ = 0;
  // Bytes of the key of small rows, and of each value after it: 4 or 8. 0: other rows, which the
  // steps describe.
  std::size_t small_key_bytes_ = 0;
  bool has_r_value_ = false;
  bool has_s_value_ = false;
  CopySteps both_, only_r_, only_s_;
  CopySteps with_part_;  // both_, with a part of S in place of S
  std::size_t part_bytes_ = 0;
  std::optional<KeyField> first_key_;
};

template <class RecordsOf>
void RowLayout::write_each(std::size_t count, RecordsOf&& records_of, std::byte* out) const {
  if (small_key_bytes_ == 4) return write_all_of_key<4>(count, records_of, out);
  if (small_key_bytes_ == 8) return write_all_of_key<8>(count, records_of, out);
  for (std::size_t i = 0; i < count; ++i, out += row_bytes_) {
    const RowRecords records = records_of(i);
    write_steps(stretches_of(records), records, out);
  }
}

}  // namespace xxl
