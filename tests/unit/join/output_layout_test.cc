// Rows of a join of binary records, against rows put together byte by byte.
#include "join/output_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;
using Formats = std::array<RecordFormat, kJoinSides>;

constexpr JoinKind kKinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,
                               JoinKind::full,  JoinKind::semi, JoinKind::anti};

void append(Bytes& row, const std::byte* from, std::size_t bytes, bool reversed = false) {
  Bytes copy(from, from + bytes);
  if (reversed) std::reverse(copy.begin(), copy.end());
  row.insert(row.end(), copy.begin(), copy.end());
}

void append_key(Bytes& row, const Formats& formats, const std::byte* r, const std::byte* s) {
  for (std::size_t i = 0; i < formats[0].key.size(); ++i) {
    const KeyField &in_r = formats[0].key[i], &in_s = formats[1].key[i];
    if (r != nullptr) {
      append(row, r + in_r.offset, in_r.length);
    } else {
      append(row, s + in_s.offset, in_s.length,
             in_r.type != KeyType::bytes && in_r.big_endian != in_s.big_endian);
    }
  }
}

void append_rest(Bytes& row, const RecordFormat& format, const std::byte* record) {
  for (std::size_t i = 0; i < format.record_bytes; ++i) {
    const bool is_key = std::any_of(format.key.begin(), format.key.end(), [&](const KeyField& k) {
      return i >= k.offset && i < k.offset + k.length;
    });
    if (!is_key) row.push_back(record != nullptr ? record[i] : std::byte{0});
  }
}

Bytes default_row(const Formats& formats, JoinKind kind, const std::byte* r, const std::byte* s) {
  Bytes row;
  if (!keeps_pairs(kind)) {
    append(row, r, formats[0].record_bytes);
    return row;
  }
  append_key(row, formats, r, s);
  append_rest(row, formats[0], r);
  append_rest(row, formats[1], s);
  return row;
}

Bytes row_of(const RowLayout& layout, const std::byte* r, const std::byte* s) {
  Bytes row(layout.row_bytes() + 1, std::byte{0xee});
  layout.write_run(r, 0, s, 0, 1, row.data());
  EXPECT_EQ(row.back(), std::byte{0xee}) << "written behind the row";
  if (r != nullptr && s != nullptr) {
    EXPECT_LE(layout.part_bytes(), layout.row_bytes());
    Bytes part(layout.part_bytes()), row_of_part(row.size(), std::byte{0xee});
    layout.write_part(s, part.data());
    layout.write_with_part(r, part.data(), row_of_part.data());
    EXPECT_EQ(row, row_of_part);
  }
  row.pop_back();
  return row;
}

std::vector<Formats> all_formats() {
  return {
      {format_of("u32"), format_of("u32")},
      {format_of("kv32"), format_of("u32")},
      {format_of("u32"), format_of("kv32")},
      {format_of("kv32"), format_of("kv32")},
      {format_of("u64"), format_of("u64")},
      {format_of("kv64"), format_of("u64")},
      {format_of("u64"), format_of("kv64")},
      {format_of("kv64"), format_of("kv64")},
      {format_of("gensort"), format_of("gensort")},
      {format_of("gensort"), format_of("fixed:31", {"7:bytes10"})},
      {format_of("kv64"), format_of("fixed:23", {"9:u64be"})},
      {format_of("fixed:40", {"3:u16be", "30:bytes5", "20:i32:desc"}),
       format_of("fixed:17", {"12:u16", "0:bytes5", "6:i32be:desc"})},
      {format_of("fixed:5"), format_of("fixed:9", {"2:bytes5"})},
      {format_of("fixed:12", {"0:u32", "2:u16"}), format_of("fixed:6", {"0:u32", "4:u16"})},
  };
}

TEST(RowLayout, has_the_key_once_then_the_rest_of_r_and_of_s) {
  Random random(300);
  for (const Formats& formats : all_formats()) {
    check_compatible(formats);
    for (const JoinKind kind : kKinds) {
      SCOPED_TRACE(formats[0].name + " " + formats[1].name + " " +
                   std::to_string(static_cast<int>(kind)));
      const RowLayout layout(formats, kind, "");
      const Bytes r = test::random_records(formats[0], 5, random);
      const Bytes s = test::random_records(formats[1], 5, random);
      EXPECT_EQ(row_of(layout, r.data(), nullptr), default_row(formats, kind, r.data(), nullptr));
      if (!keeps_pairs(kind)) continue;
      EXPECT_EQ(row_of(layout, r.data(), s.data()), default_row(formats, kind, r.data(), s.data()));
      EXPECT_EQ(row_of(layout, nullptr, s.data()), default_row(formats, kind, nullptr, s.data()));
    }
  }
}

TEST(RowLayout, writes_runs_of_one_record_with_several_and_of_several_with_none) {
  Random random(301);
  for (const Formats& formats : all_formats()) {
    SCOPED_TRACE(formats[0].name + " " + formats[1].name);
    const RowLayout layout(formats, JoinKind::full, "");
    const std::size_t r_bytes = formats[0].record_bytes, s_bytes = formats[1].record_bytes;
    const Bytes r = test::random_records(formats[0], 5, random);
    const Bytes s = test::random_records(formats[1], 5, random);
    for (const auto& [with_r, r_step, with_s, s_step] :
         {std::tuple{true, std::size_t{0}, true, s_bytes}, std::tuple{true, r_bytes, true, s_bytes},
          std::tuple{true, r_bytes, false, std::size_t{0}},
          std::tuple{false, std::size_t{0}, true, s_bytes}}) {
      const std::byte* first_r = with_r ? r.data() : nullptr;
      const std::byte* first_s = with_s ? s.data() : nullptr;
      Bytes rows(5 * layout.row_bytes());
      layout.write_run(first_r, r_step, first_s, s_step, 5, rows.data());
      Bytes expected;
      for (std::size_t i = 0; i < 5; ++i) {
        const Bytes row =
            default_row(formats, JoinKind::full, with_r ? first_r + i * r_step : nullptr,
                        with_s ? first_s + i * s_step : nullptr);
        expected.insert(expected.end(), row.begin(), row.end());
      }
      EXPECT_EQ(rows, expected);
    }
  }
}

TEST(RowLayout, small_records_make_small_rows) {
  const auto bytes = [](const char* r, const char* s, JoinKind kind) {
    return RowLayout({format_of(r), format_of(s)}, kind, "").row_bytes();
  };
  EXPECT_EQ(bytes("kv32", "kv32", JoinKind::inner), 12u);
  EXPECT_EQ(bytes("kv64", "kv64", JoinKind::full), 24u);
  EXPECT_EQ(bytes("u64", "kv64", JoinKind::left), 16u);
  EXPECT_EQ(bytes("kv64", "kv64", JoinKind::semi), 16u);
  EXPECT_EQ(bytes("gensort", "gensort", JoinKind::inner), 190u);
}

TEST(RowLayout, may_be_any_list_of_stretches) {
  const Formats formats{format_of("fixed:20", {"4:u32"}), format_of("fixed:13", {"2:u32be"})};
  Random random(302);
  const Bytes r = test::random_records(formats[0], 1, random);
  const Bytes s = test::random_records(formats[1], 1, random);
  const RowLayout layout(formats, JoinKind::full, "2.1:3,m,0,1.0:20,2.12:1,1.4:1");
  EXPECT_EQ(layout.row_bytes(), 3u + 1 + 4 + 20 + 1 + 1);
  for (const int sides : {1, 2, 3}) {
    const std::byte* in_r = (sides & 1) != 0 ? r.data() : nullptr;
    const std::byte* in_s = (sides & 2) != 0 ? s.data() : nullptr;
    const Bytes zeros(20);
    const std::byte* from_r = in_r != nullptr ? in_r : zeros.data();
    const std::byte* from_s = in_s != nullptr ? in_s : zeros.data();
    Bytes expected;
    append(expected, from_s + 1, 3);
    expected.push_back(static_cast<std::byte>(sides));
    append_key(expected, formats, in_r, in_s);
    append(expected, from_r, 20);
    append(expected, from_s + 12, 1);
    append(expected, from_r + 4, 1);
    EXPECT_EQ(row_of(layout, in_r, in_s), expected);
  }
}

TEST(RowLayout, refuses_what_is_no_layout) {
  const Formats formats{format_of("kv64"), format_of("kv64")};
  for (const char* layout : {",", "0,", "3.0:1", "1.0", "1.0:0", "1.8:9", "2.16:1", "1.x:1", "M",
                             "1.0:1 ", "00", "1.-1:2"}) {
    EXPECT_THROW(RowLayout(formats, JoinKind::inner, layout), Error) << layout;
  }
}

TEST(RowLayout, keys_must_fit_together) {
  const auto fit = [](const RecordFormat& r, const RecordFormat& s) {
    try {
      check_compatible({r, s});
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      return false;
    }
  };
  EXPECT_TRUE(fit(format_of("kv64"), format_of("fixed:20", {"3:u64be"})));
  EXPECT_FALSE(fit(format_of("kv64"), format_of("i64")));
  EXPECT_FALSE(fit(format_of("kv64"), format_of("kv32")));
  EXPECT_FALSE(fit(format_of("gensort"), format_of("fixed:11")));
  EXPECT_FALSE(fit(format_of("kv64"), format_of("u64", {"0:u64:desc"})));
  EXPECT_FALSE(fit(format_of("fixed:8", {"0:u32"}), format_of("fixed:8", {"0:u32", "4:u32"})));
}

}  // namespace
}  // namespace xxl
