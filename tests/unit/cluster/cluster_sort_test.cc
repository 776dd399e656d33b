#include "cluster/cluster_sort.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "cluster/rank_gpus.h"
#include "cluster/thread_peers.h"
#include "io_test_support.h"
#include "job/part_directory.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using test::Bytes;
using test::format_of;
using test::text_of;

class ClusterSortTest : public testing::Test {
 protected:
  FixedSortOptions options(const RecordFormat& format) {
    FixedSortOptions sort;
    sort.format = format;
    sort.inputs = {directory_ / "in"};
    sort.output = directory_ / "out";
    sort.scratch_dirs = {directory_.path()};
    sort.memory_bytes = 3 * kMiB;
    sort.threads = 1;
    sort.record_kind = format.name;
    return sort;
  }

  io::test::TempDirectory directory_;
};

TEST_F(ClusterSortTest, ranks_write_what_one_process_would) {
  std::uint64_t seed = 1;
  for (const test::Distribution& distribution : test::distributions()) {
    for (const auto& format :
         {format_of("gensort"), format_of("kv64"), format_of("fixed:60", {"5:bytes40"})}) {
      const unsigned ranks = 1 + static_cast<unsigned>(++seed % 4);
      const bool one_machine = seed % 5 < 2;
      SCOPED_TRACE(distribution.name + ", " + format.name + ", " + std::to_string(ranks) +
                   " ranks");
      Random random(seed);
      const Bytes data = distribution.make(format, 8 * kMiB / format.record_bytes, random);
      write_file(directory_ / "in", text_of(data));
      FixedSortOptions sort = options(format);
      if (seed % 3 == 0) sort.scratch_codec = Codec::lz4;
      test::run_ranks(ranks, one_machine, [&](Peers& peers) { cluster_sort(sort, peers); });
      EXPECT_TRUE(file_text(directory_ / "out") == text_of(test::sorted_records(format, data)));
    }
  }
}

TEST_F(ClusterSortTest, groups_go_to_one_file) {
  const RecordFormat format = format_of("gensort");
  Random random(3);
  Bytes data = test::random_records(format, 6 * kMiB / format.record_bytes, random);
  data.insert(data.end(), data.begin(), data.end());
  write_file(directory_ / "in", text_of(data));
  FixedSortOptions sort = options(format);
  sort.unique = true;
  test::run_ranks(3, true, [&](Peers& peers) { cluster_sort(sort, peers); });
  data.resize(data.size() / 2);
  EXPECT_TRUE(file_text(directory_ / "out") == text_of(test::sorted_records(format, data)));
}

TEST_F(ClusterSortTest, ranks_on_gpus_write_what_one_process_would) {
  for (const auto& format : {format_of("gensort"), format_of("u64")}) {
    for (const unsigned ranks : {1u, 2u, 3u}) {
      const std::size_t gpus = 4 - ranks;
      SCOPED_TRACE(format.name + ", " + std::to_string(ranks) + " ranks");
      Random random(ranks);
      const Bytes data = test::random_records(format, 8 * kMiB / format.record_bytes, random);
      write_file(directory_ / "in", text_of(data));
      test::run_ranks(ranks, ranks == 2, [&](Peers& peers) {
        const auto accelerator = test::gpus_of_rank(peers, gpus, 20 * kMiB);
        FixedSortOptions sort = options(format);
        sort.accelerator = accelerator.get();
        sort.acceleration = Acceleration::always;
        const ClusterReport report = cluster_sort(sort, peers);
        EXPECT_EQ(report.device.substr(1, 12), " x simulated");
        EXPECT_GE(report.runs, 1u);  // what a GPU could hold is a run all the same
      });
      EXPECT_TRUE(file_text(directory_ / "out") == text_of(test::sorted_records(format, data)));
    }
  }
}

// A rank for itself could not sort on processors, as its blocks would be of another size.
TEST_F(ClusterSortTest, a_gpu_that_fails_is_a_failure_of_its_rank) {
  const RecordFormat format = format_of("u64");
  Random random(8);
  write_file(directory_ / "in", text_of(test::random_records(format, kMiB, random)));
  for (const std::string failing : {"allocate", "copy in", "copy out"}) {
    const auto code = failing == "allocate" ? ErrorCode::no_space : ErrorCode::device;
    test::run_ranks(1, true, [&](Peers& peers) {
      const auto accelerator = test::gpus_of_rank(peers, 1, 0, [&](const char* operation) {
        if (operation == failing) throw Error(code, "it broke");
      });
      FixedSortOptions sort = options(format);
      sort.accelerator = accelerator.get();
      sort.acceleration = Acceleration::always;
      try {
        cluster_sort(sort, peers);
        ADD_FAILURE() << failing;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code);
        EXPECT_NE(std::string(error.what()).find("it broke"), std::string::npos) << error.what();
      }
    });
    EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
  }
}

TEST_F(ClusterSortTest, parts_of_a_directory_differ_by_no_more_than_a_record) {
  const RecordFormat format = format_of("u64");
  const Bytes data(8 * 100'001);  // all keys are equal
  write_file(directory_ / "in", text_of(data));
  FixedSortOptions sort = options(format);
  sort.output.append("/");
  test::run_ranks(3, true, [&](Peers& peers) { cluster_sort(sort, peers); });
  const auto manifest = read_manifest(directory_ / "out");
  ASSERT_TRUE(manifest);
  ASSERT_EQ(manifest->parts.size(), 3u);
  std::uint64_t records = 0;
  for (const PartManifest::Part& part : manifest->parts) {
    EXPECT_NEAR(static_cast<double>(part.records), 33333.5, 1);
    records += part.records;
    EXPECT_EQ(std::filesystem::file_size(directory_ / "out" + std::string("/") + part.file),
              8 * part.records);
  }
  EXPECT_EQ(records, 100'001u);
}

TEST_F(ClusterSortTest, a_block_that_another_rank_reads_back_changed_is_noticed) {
  const RecordFormat format = format_of("u64");
  Random random(7);
  const Bytes data = test::random_records(format, kMiB, random);
  write_file(directory_ / "in", text_of(data));
  std::mutex mutex;
  bool noticed = false;
  // (Ranks that wait for one that has failed would wait for ever: there is but one.)
  test::run_ranks(1, true, [&](Peers& peers) {
    FixedSortOptions sort = options(format);
    sort.queue_factory = test::queues_with_changed_reads(directory_.path());
    try {
      cluster_sort(sort, peers);
    } catch (const Error& error) {
      std::lock_guard lock(mutex);
      noticed = error.code() == ErrorCode::corrupt;
    }
  });
  EXPECT_TRUE(noticed);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

}  // namespace
}  // namespace xxl
