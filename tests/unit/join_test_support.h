// What the tests of joins share: relations, and an oracle.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "join/join_kind.h"
#include "join/output_layout.h"
#include "sort_test_support.h"

namespace xxl::test {

inline constexpr JoinKind kAllJoinKinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,
                                             JoinKind::full,  JoinKind::semi, JoinKind::anti};

inline std::string name_of(JoinKind kind) {
  constexpr const char* names[] = {"inner", "left", "right", "full", "semi", "anti"};
  return names[static_cast<std::size_t>(kind)];
}

inline int compare_keys_of(const std::array<RecordFormat, 2>& formats, const std::byte* r,
                           const std::byte* s) {
  for (std::size_t i = 0; i < formats[0].key.size(); ++i) {
    const KeyField& x = formats[0].key[i];
    const KeyField& y = formats[1].key[i];
    // The field of S as R has it.
    std::vector<std::byte> field(s + y.offset, s + y.offset + y.length);
    if (x.big_endian != y.big_endian) std::reverse(field.begin(), field.end());
    const int order = compare_field(r + x.offset, field.data(), x);
    if (order != 0) return x.descending ? -order : order;
  }
  return 0;
}

// The rows of the join in the order of sort-merge: by key, within a group by R, then by S, both in
// the order of the input.
inline Bytes joined_rows(const std::array<RecordFormat, 2>& formats, JoinKind kind,
                         const RowLayout& rows, const Bytes& r_records, const Bytes& s_records) {
  const Bytes r = sorted_records(formats[0], r_records);
  const Bytes s = sorted_records(formats[1], s_records);
  const std::size_t r_size = formats[0].record_bytes, s_size = formats[1].record_bytes;
  Bytes out;
  const auto emit = [&](const std::byte* left, const std::byte* right) {
    out.resize(out.size() + rows.row_bytes());
    rows.write_run(left, 0, right, 0, 1, out.data() + out.size() - rows.row_bytes());
  };
  std::size_t i = 0, j = 0;
  while (i < r.size() || j < s.size()) {
    int order;
    if (i == r.size()) {
      order = 1;
    } else if (j == s.size()) {
      order = -1;
    } else {
      order = compare_keys_of(formats, &r[i], &s[j]);
    }
    if (order < 0) {
      if (keeps_unmatched_r(kind)) emit(&r[i], nullptr);
      i += r_size;
    } else if (order > 0) {
      if (keeps_unmatched_s(kind)) emit(nullptr, &s[j]);
      j += s_size;
    } else {
      std::size_t i_end = i, j_end = j;
      while (i_end < r.size() && compare_records(formats[0], &r[i], &r[i_end]) == 0)
        i_end += r_size;
      while (j_end < s.size() && compare_records(formats[1], &s[j], &s[j_end]) == 0)
        j_end += s_size;
      for (std::size_t x = i; x < i_end; x += r_size) {
        if (kind == JoinKind::semi) emit(&r[x], nullptr);
        for (std::size_t y = j; keeps_pairs(kind) && y < j_end; y += s_size) emit(&r[x], &s[y]);
      }
      i = i_end;
      j = j_end;
    }
  }
  return out;
}

// Records of keys out of `distinct` ones, which are the same for all formats and calls: key number
// k is k in every field, or for bytes in its last bytes.
inline Bytes keyed_records(const RecordFormat& format, std::size_t count, std::uint64_t distinct,
                           Random& random, double skew = 1) {
  const std::size_t size = format.record_bytes;
  Bytes records = random_records(format, count, random);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    const auto key = static_cast<std::uint64_t>(std::pow(u, skew) * static_cast<double>(distinct));
    for (const KeyField& field : format.key) {
      std::byte* const at = records.data() + i * size + field.offset;
      const bool big = field.big_endian || field.type == KeyType::bytes;
      for (std::size_t b = 0; b < field.length; ++b) {
        const std::size_t place = big ? field.length - 1 - b : b;
        at[place] = b < 8 ? static_cast<std::byte>(key >> (8 * b)) : std::byte{0};
      }
    }
  }
  return records;
}

}  // namespace xxl::test
