#include "merge/merge_region.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "merge/runs_in_memory.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;
using test::merge::RunsInMemory;

// Appends the records of `segments`.
void append(const std::vector<Segment>& segments, std::size_t record_bytes, Bytes& records) {
  for (const Segment& segment : segments) {
    records.insert(records.end(), segment.records, segment.records + segment.count * record_bytes);
  }
}

// Cuts all of `memory` into pieces of about `piece_records`, and checks them.
void expect_good_pieces(const RecordFormat& format, const RunsInMemory& memory,
                        std::uint64_t piece_records) {
  MergeRegion region(memory.layout(), memory.runs());
  std::vector<std::uint64_t> ends;
  for (const FetchedRun& run : memory.runs()) ends.push_back(run.run().records);
  region.extend(ends);
  region.split(piece_records);
  Bytes merged;
  while (region.records() > 0) {
    const MergeRegion::RegionPiece piece = region.take_piece();
    EXPECT_LE(piece.records, 2 * piece_records);
    EXPECT_GT(piece.records, 0u);
    EXPECT_EQ(piece.ends, region.positions());
    Bytes records;
    append(piece.segments, format.record_bytes, records);
    EXPECT_EQ(records.size(), piece.records * format.record_bytes);
    records = test::sorted_records(format, records);
    merged.insert(merged.end(), records.begin(), records.end());
  }
  EXPECT_EQ(merged, test::sorted_records(format, memory.records()));
  EXPECT_EQ(region.positions(), ends);
}

TEST(MergeRegion, pieces_are_in_order_stable_and_at_most_twice_as_large_as_asked) {
  std::uint64_t seed = 500;
  for (const char* record : {"u64", "kv64", "gensort"}) {
    const RecordFormat format = format_of(record);
    for (const test::Distribution& distribution : test::distributions()) {
      for (const std::size_t runs : {1u, 2u, 13u}) {
        SCOPED_TRACE(record + (" " + distribution.name) + " seed " + std::to_string(++seed));
        Random random(seed);
        const Bytes records = distribution.make(format, random.below(2000 * runs), random);
        RunsInMemory memory(format, 7, test::merge::dealt_out(format, records, runs, random));
        memory.fetch_all();
        expect_good_pieces(format, memory, runs + random.below(200));
      }
    }
  }
}

TEST(MergeRegion, without_a_split_it_is_one_piece_and_what_is_appended_comes_last) {
  const RecordFormat format = format_of("u64");
  Random random(51);
  std::vector<Bytes> records;
  for (int run = 0; run < 3; ++run) {
    records.push_back(test::sorted_records(format, test::random_records(format, 100, random)));
  }
  RunsInMemory memory(format, 10, std::move(records));
  memory.fetch_all();
  const Bytes kept = test::random_records(format, 30, random);
  MergeRegion region(memory.layout(), memory.runs());
  region.extend({100, 100, 40});
  region.append({{kept.data(), 10}, {kept.data() + 80, 20}});
  EXPECT_EQ(region.records(), 270u);
  const MergeRegion::RegionPiece piece = region.take_piece();
  EXPECT_EQ(piece.records, 270u);
  EXPECT_EQ(piece.ends, (std::vector<std::uint64_t>{100, 100, 40}));
  Bytes taken;
  append(piece.segments, 8, taken);
  EXPECT_EQ(Bytes(taken.end() - 240, taken.end()), kept);
  EXPECT_EQ(region.records(), 0u);

  region.extend({100, 100, 100});
  EXPECT_EQ(region.take_piece().records, 60u) << "what was appended belongs to one region";
}

}  // namespace
}  // namespace xxl
