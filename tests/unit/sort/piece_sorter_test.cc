#include "sort/make_piece_sorter.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;

// A sorter together with its scratch memory.
class Sorter {
 public:
  Sorter(const RecordFormat& format, bool unique, std::size_t capacity)
      : layout_(format), scratch_(piece_scratch_bytes(layout_, capacity) + 64) {
    const auto start = reinterpret_cast<std::uintptr_t>(scratch_.data());
    const std::size_t skip = round_up<std::uintptr_t>(start, 64) - start;
    sorter_ = make_piece_sorter(layout_, unique, capacity,
                                std::span(scratch_).subspan(skip, scratch_.size() - 64));
  }

  const KeyLayout& layout() const { return layout_; }
  PieceSorter& operator*() { return *sorter_; }
  PieceSorter* operator->() { return sorter_.get(); }

  Bytes sort(std::span<const Segment> segments) {
    sorter_->sort(segments);
    Bytes sorted(sorter_->size() * layout_.record_bytes());
    sorter_->write(0, sorter_->size(), sorted.data());
    return sorted;
  }
  Bytes sort(const Bytes& records) {
    const Segment all{records.data(), records.size() / layout_.record_bytes()};
    return sort({&all, 1});
  }

 private:
  KeyLayout layout_;
  Bytes scratch_;
  std::unique_ptr<PieceSorter> sorter_;
};

struct NamedFormat {
  std::string name;
  RecordFormat format;
  RecordKind kind;
};

std::vector<NamedFormat> formats() {
  const auto named = [](std::string name, RecordFormat format, RecordKind kind) {
    return NamedFormat{std::move(name), std::move(format), kind};
  };
  return {
      named("u32", format_of("u32"), RecordKind::key32),
      named("i32", format_of("i32"), RecordKind::key32),
      named("f32", format_of("f32"), RecordKind::key32),
      named("f32_desc", format_of("f32", {"0:f32:desc"}), RecordKind::key32),
      named("u64", format_of("u64"), RecordKind::key64),
      named("i64_desc", format_of("i64", {"0:i64:desc"}), RecordKind::key64),
      named("f64", format_of("f64"), RecordKind::key64),
      named("f64_desc", format_of("f64", {"0:f64:desc"}), RecordKind::key64),
      named("kv32", format_of("kv32"), RecordKind::pair32),
      named("kv32_f32_desc", format_of("kv32", {"0:f32:desc"}), RecordKind::pair32),
      named("kv32_i32", format_of("kv32", {"0:i32"}), RecordKind::pair32),
      named("kv64", format_of("kv64"), RecordKind::pair64),
      named("kv64_i64_desc", format_of("kv64", {"0:i64:desc"}), RecordKind::pair64),
      named("kv64_f64", format_of("kv64", {"0:f64"}), RecordKind::pair64),
      named("gensort", format_of("gensort"), RecordKind::generic),
      named("byte", format_of("fixed:1"), RecordKind::generic),
      named("bytes3", format_of("fixed:3"), RecordKind::generic),
      named("u64be", format_of("fixed:8", {"0:u64be"}), RecordKind::generic),
      named("late_f32be_desc", format_of("fixed:11", {"7:f32be:desc"}), RecordKind::generic),
      named("i8_u16_f64", format_of("fixed:21", {"20:i8:desc", "3:u16", "9:f64be"}),
            RecordKind::generic),
      named("long_key_desc", format_of("fixed:70", {"1:bytes61:desc", "0:u8"}),
            RecordKind::generic),
  };
}

class PieceSorterOfFormat : public testing::TestWithParam<NamedFormat> {};

INSTANTIATE_TEST_SUITE_P(Formats, PieceSorterOfFormat, testing::ValuesIn(formats()),
                         [](const auto& info) { return info.param.name; });

TEST_P(PieceSorterOfFormat, has_the_kind_that_its_key_allows) {
  EXPECT_EQ(KeyLayout(GetParam().format).kind(), GetParam().kind);
}

TEST_P(PieceSorterOfFormat, sorts_like_stable_sort) {
  const RecordFormat& format = GetParam().format;
  Sorter sorter(format, false, 3000);
  Random random(11);
  for (const test::Distribution& distribution : test::distributions()) {
    for (const std::size_t count : {0u, 1u, 2u, 23u, 25u, 300u, 3000u}) {
      SCOPED_TRACE(distribution.name + " " + std::to_string(count));
      const Bytes records = distribution.make(format, count, random);
      const auto segments =
          test::random_segments(records, format.record_bytes, count / 3 + 1, random);
      ASSERT_EQ(sorter.sort(segments), test::sorted_records(format, records));
      ASSERT_EQ(sorter->removed(), MultisetHash{});
    }
  }
}

TEST_P(PieceSorterOfFormat, unique_keeps_the_first_record_of_each_key_and_hashes_the_others) {
  const RecordFormat& format = GetParam().format;
  Sorter sorter(format, true, 2000);
  Random random(12);
  for (const test::Distribution& distribution : test::distributions()) {
    for (const std::size_t count : {0u, 1u, 30u, 2000u}) {
      SCOPED_TRACE(distribution.name + " " + std::to_string(count));
      const Bytes records = distribution.make(format, count, random);
      const Bytes sorted = sorter.sort(records);
      ASSERT_EQ(sorted, test::sorted_records(format, records, true));
      MultisetHash accounted = test::hash_of(sorted, format.record_bytes);
      accounted += sorter->removed();
      ASSERT_EQ(accounted, test::hash_of(records, format.record_bytes));
    }
  }
}

TEST_P(PieceSorterOfFormat, writes_any_stretch_of_the_piece) {
  const RecordFormat& format = GetParam().format;
  Sorter sorter(format, false, 500);
  Random random(13);
  const Bytes records = test::random_records(format, 500, random);
  const Bytes sorted = sorter.sort(records);
  for (int i = 0; i < 50; ++i) {
    const std::size_t first = random.below(501), count = random.below(501 - first);
    Bytes part(count * format.record_bytes);
    sorter->write(first, count, part.data());
    const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(first * format.record_bytes);
    const Bytes expected(begin, begin + static_cast<std::ptrdiff_t>(part.size()));
    ASSERT_EQ(part, expected) << first << " " << count;
  }
}

TEST_P(PieceSorterOfFormat, forgets_the_piece_before) {
  const RecordFormat& format = GetParam().format;
  Sorter sorter(format, true, 400);
  Random random(14);
  sorter.sort(test::few_distinct_records(format, 400, 3, random));
  const Bytes records = test::few_distinct_records(format, 90, 5, random);
  EXPECT_EQ(sorter.sort(records), test::sorted_records(format, records, true));
  EXPECT_EQ(sorter.sort(Bytes{}), Bytes{});
  EXPECT_EQ(sorter->removed(), MultisetHash{});
}

template <class Float, class Bits>
void expect_total_order(const std::string& record) {
  using Limits = std::numeric_limits<Float>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits nan = std::bit_cast<Bits>(Limits::quiet_NaN());
  const std::vector<Bits> ascending = {
      static_cast<Bits>(~Bits{0}),  // the NaN of all ones, negative
      static_cast<Bits>(nan | kSign),
      std::bit_cast<Bits>(-Limits::infinity()),
      std::bit_cast<Bits>(Limits::lowest()),
      std::bit_cast<Bits>(Float{-1}),
      std::bit_cast<Bits>(-Limits::denorm_min()),
      std::bit_cast<Bits>(-Float{0}),
      std::bit_cast<Bits>(Float{0}),
      std::bit_cast<Bits>(Limits::denorm_min()),
      std::bit_cast<Bits>(Limits::min()),
      std::bit_cast<Bits>(Float{1}),
      std::bit_cast<Bits>(Limits::max()),
      std::bit_cast<Bits>(Limits::infinity()),
      static_cast<Bits>(nan - 1),  // a signalling NaN
      nan,
      static_cast<Bits>(~kSign)};
  Random random(15);
  for (const bool descending : {false, true}) {
    std::vector<Bits> wanted = ascending;
    if (descending) std::reverse(wanted.begin(), wanted.end());
    std::vector<Bits> shuffled = wanted;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const std::string key = "0:" + record + (descending ? ":desc" : "");
    Sorter sorter(format_of(record, {key}), false, 32);
    const Segment all{reinterpret_cast<const std::byte*>(shuffled.data()), shuffled.size()};
    const Bytes sorted = sorter.sort({&all, 1});
    ASSERT_EQ(std::memcmp(sorted.data(), wanted.data(), sorted.size()), 0) << key;
  }
}

TEST(PieceSorter, orders_floats_by_ieee_total_order_with_nan_and_negative_zero) {
  expect_total_order<float, std::uint32_t>("f32");
  expect_total_order<double, std::uint64_t>("f64");
}

TEST(PieceSorter, refines_long_keys_beyond_equal_prefixes_of_every_length) {
  Random random(16);
  const RecordFormat format = format_of("fixed:64");
  Sorter sorter(format, false, 600);
  for (std::size_t prefix = 0; prefix <= 64; prefix += 4) {
    for (const std::size_t count : {20u, 600u}) {
      const Bytes records = test::common_prefix_records(format, count, prefix, random);
      ASSERT_EQ(sorter.sort(records), test::sorted_records(format, records))
          << prefix << " " << count;
    }
  }
}

TEST(PieceSorter, refines_nested_groups_of_equal_words) {
  Random random(17);
  const RecordFormat format = format_of("fixed:40", {"0:bytes32"});
  Bytes records = test::random_records(format, 5000, random);
  for (std::size_t i = 0; i < 5000; ++i) {  // few values in every word of the key
    for (std::size_t at = 0; at < 32; ++at) {
      records[i * 40 + at] = at % 8 == 7 ? static_cast<std::byte>(random.below(4)) : std::byte{'x'};
    }
  }
  Sorter sorter(format, false, 5000);
  EXPECT_EQ(sorter.sort(records), test::sorted_records(format, records));
}

TEST(PieceSorter, equal_records_of_a_mebibyte_do_not_exhaust_the_stack) {
  const RecordFormat format = format_of("fixed:1048576");
  const Bytes record(format.record_bytes, std::byte{'x'});
  const std::vector<Segment> segments(32, {record.data(), 1});
  Sorter sorter(format, true, 32);
  sorter->sort(segments);
  EXPECT_EQ(sorter->size(), 1u);
  EXPECT_EQ(sorter->removed().records, 31u);
}

TEST(UnsortedPiece, writes_any_stretch_of_its_segments_in_their_order) {
  Random random(18);
  for (const char* record : {"u32", "gensort", "fixed:3"}) {
    const RecordFormat format = format_of(record);
    const Bytes records = test::random_records(format, 300, random);
    const UnsortedPiece piece(test::random_segments(records, format.record_bytes, 20, random),
                              format.record_bytes);
    ASSERT_EQ(piece.size(), 300u);
    EXPECT_EQ(piece.removed(), MultisetHash{});
    for (int i = 0; i < 100; ++i) {
      const std::size_t first = random.below(301), count = random.below(301 - first);
      Bytes part(count * format.record_bytes);
      piece.write(first, count, part.data());
      const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first * format.record_bytes);
      ASSERT_EQ(part, Bytes(begin, begin + static_cast<std::ptrdiff_t>(part.size())))
          << record << " " << first << " " << count;
    }
  }
}

TEST(UnsortedPiece, may_be_empty) {
  const UnsortedPiece piece({}, 8);
  EXPECT_EQ(piece.size(), 0u);
  piece.write(0, 0, nullptr);
}

TEST(PieceSorter, checks_its_capacity) {
  for (const char* record : {"u32", "kv64", "gensort"}) {
    const RecordFormat format = format_of(record);
    Sorter sorter(format, false, 10);
    EXPECT_DEATH(sorter.sort(Bytes(11 * format.record_bytes)), "capacity") << record;
  }
}

}  // namespace
}  // namespace xxl
