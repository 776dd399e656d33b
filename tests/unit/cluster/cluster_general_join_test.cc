#include "cluster/cluster_general_jobs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "cluster/thread_peers.h"
#include "io_test_support.h"
#include "job/files/line_join.h"
#include "job/join/fixed_join.h"
#include "job/join/general_join.h"
#include "job/join/records_as_general.h"
#include "job/part_directory.h"
#include "record/record_format.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;

class ClusterGeneralJoinTest : public testing::Test {
 protected:
  void set_files(JoinOptions& join) {
    join.inputs = {directory_ / "r", directory_ / "s"};
    join.output = directory_ / "out/";
    join.scratch_dirs = {directory_.path()};
    join.memory_bytes = 8 * kMiB;
    join.threads = 1;
  }

  GeneralJoinOptions line_join(JoinShape shape) {
    GeneralJoinOptions join;
    set_files(join);
    join.shape = shape;
    join.record_kind = "lines";
    LineJoin lines;
    lines.key_fields = {{{0}, {0}}};
    set_lines(lines, join);
    return join;
  }

  FixedJoinOptions record_join(JoinKind kind) {
    FixedJoinOptions join;
    set_files(join);
    join.how = kind;
    const std::vector<std::string> keys{"4:u64"};
    join.formats = {parse_record_format("kv64"), parse_record_format("fixed:12", keys, false, "")};
    return join;
  }

  // Of some keys, of which each side has some.
  void write_lines(std::uint64_t keys, std::uint64_t r, std::uint64_t s, Random& random) {
    for (const auto& [name, count] : {std::pair{"r", r}, std::pair{"s", s}}) {
      std::string text;
      for (std::uint64_t i = 0; i < count; ++i) {
        text += std::to_string(random.below(keys)) + ' ' + name + std::to_string(i) + '\n';
      }
      write_file(directory_ / name, text);
    }
  }

  void write_records(std::uint64_t keys, std::uint64_t count, Random& random) {
    const auto append = [](std::uint64_t value, std::size_t bytes, std::string& text) {
      text.append(reinterpret_cast<const char*>(&value), bytes);
    };
    std::string r, s;
    for (std::uint64_t i = 0; i < count; ++i) {
      append(random.below(keys), 8, r);
      append(i, 8, r);
      append(i, 4, s);
      append(random.below(keys), 8, s);
    }
    write_file(directory_ / "r", r);
    write_file(directory_ / "s", s);
  }

  std::string output_of_ranks(const GeneralJoinOptions& join, unsigned ranks, bool one_machine) {
    test::run_ranks(ranks, one_machine, [&](Peers& peers) { cluster_general_join(join, peers); });
    if (!join.output.ends_with('/')) return file_text(join.output);
    std::string text;
    const auto manifest = read_manifest(directory_ / "out");
    EXPECT_TRUE(manifest && manifest->parts.size() == ranks);
    for (const PartManifest::Part& part : manifest->parts) {
      text += file_text(directory_ / "out/" + part.file);
    }
    return text;
  }

  io::test::TempDirectory directory_;
};

constexpr JoinKind kKinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,
                               JoinKind::full,  JoinKind::semi, JoinKind::anti};

// `join(kind, ranks, random)` for all kinds of joins, by 1 to 4 ranks.
template <class Join>
void join_in_all_ways(Join&& join) {
  unsigned ranks = 0;
  for (const JoinKind kind : kKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    ranks = ranks % 4 + 1;
    Random random(ranks);
    join(kind, ranks, random);
  }
}

TEST_F(ClusterGeneralJoinTest, ranks_make_the_rows_of_one_process) {
  join_in_all_ways([&](JoinKind kind, unsigned ranks, Random& random) {
    write_lines(50'000, 100'000, 60'000 * (ranks % 2), random);
    GeneralJoinOptions join = line_join(shape_of(kind));
    if (ranks > 2) join.output = directory_ / "one file";
    GeneralJoinOptions alone = join;
    alone.output = directory_ / "alone";
    general_join(alone);
    EXPECT_TRUE(output_of_ranks(join, ranks, ranks % 2 == 0) == file_text(alone.output));
  });
}

// The other join of records compares words of keys, and writes rows in another way.
TEST_F(ClusterGeneralJoinTest, records_are_joined_as_by_the_join_of_records) {
  join_in_all_ways([&](JoinKind kind, unsigned ranks, Random& random) {
    write_records(ranks == 2 ? 100 : 200'000, ranks == 2 ? 3'000 : 150'000, random);
    FixedJoinOptions join = record_join(kind);
    if (ranks > 2) join.output = directory_ / "one file";
    FixedJoinOptions alone = join;
    alone.output = directory_ / "alone";
    alone.method = JoinMethod::sort_merge;
    fixed_join(alone);
    EXPECT_TRUE(output_of_ranks(join_as_general(join), ranks, ranks % 2 == 0) ==
                file_text(alone.output));
  });
}

TEST_F(ClusterGeneralJoinTest, rows_are_counted) {
  Random random(1);
  write_lines(1'000, 5'000, 3'000, random);
  GeneralJoinOptions join = line_join({.pairs = true});
  join.count_only = true;
  const std::uint64_t rows = general_join(join).rows;
  test::run_ranks(3, true, [&](Peers& peers) {
    EXPECT_EQ(cluster_general_join(join, peers).all_records, rows);
  });
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

TEST_F(ClusterGeneralJoinTest, a_block_that_is_read_back_changed_is_noticed) {
  Random random(7);
  write_lines(100'000, 100'000, 50'000, random);
  bool noticed = false;
  test::run_ranks(1, true, [&](Peers& peers) {
    GeneralJoinOptions join = line_join({.pairs = true});
    join.queue_factory = test::queues_with_changed_reads(directory_.path());
    try {
      cluster_general_join(join, peers);
    } catch (const Error& error) {
      noticed = error.code() == ErrorCode::corrupt;
    }
  });
  EXPECT_TRUE(noticed);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

}  // namespace
}  // namespace xxl
