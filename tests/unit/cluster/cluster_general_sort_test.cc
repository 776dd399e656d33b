#include "cluster/cluster_general_jobs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "cluster/input_share.h"
#include "cluster/rank_gpus.h"
#include "cluster/thread_peers.h"
#include "csv_reference.h"
#include "io/file.h"
#include "io/transfer.h"
#include "job/general_sort/general_sort_fixture.h"
#include "job/part_directory.h"
#include "record/row_splitter.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using test::Records;
using test::WholeLine;

class ClusterGeneralSortTest : public testing::Test {
 protected:
  GeneralSortOptions options() {
    GeneralSortOptions sort;
    sort.keys = std::make_shared<WholeLine>();
    sort.inputs = {directory_ / "in"};
    sort.output = directory_ / "out/";
    sort.scratch_dirs = {directory_.path()};
    sort.memory_bytes = 6 * kMiB;
    sort.threads = 1;
    sort.record_kind = "lines";
    return sort;
  }

  std::vector<PartManifest::Part> parts() {
    const auto manifest = read_manifest(directory_ / "out");
    return manifest ? manifest->parts : std::vector<PartManifest::Part>();
  }

  std::string output() {
    std::string text;
    for (const PartManifest::Part& part : parts()) {
      text += file_text(directory_ / "out/" + part.file);
    }
    return text;
  }

  void write_input(const Records& records) {
    std::string text;
    for (const std::string& record : records) text += record + '\n';
    write_file(directory_ / "in", text);
  }

  io::test::TempDirectory directory_;
};

TEST_F(ClusterGeneralSortTest, ranks_write_what_one_process_would) {
  for (unsigned kind = 0; kind < test::kKinds; ++kind) {
    for (unsigned variant = 0; variant < 4; ++variant) {
      const unsigned ranks = 1 + (kind + variant) % 4;
      SCOPED_TRACE(std::to_string(kind) + ", variant " + std::to_string(variant) + ", " +
                   std::to_string(ranks) + " ranks");
      Random random(10 * kind + variant);
      const Records records = test::random_records(kind, 7 * kMiB, random);
      write_input(records);
      GeneralSortOptions sort = options();
      const bool in_parts = (kind + variant) % 3 != 0;
      if (!in_parts) sort.output.pop_back();
      if (variant == 1) sort.keys = std::make_shared<test::BackwardsKey>();
      sort.unique = variant >= 2;
      if (variant == 3) sort.fold = [] { return std::make_unique<test::Counter>(); };
      test::run_ranks(ranks, variant % 2 == 0,
                      [&](Peers& peers) { cluster_general_sort(sort, peers); });
      const std::string written = in_parts ? output() : file_text(directory_ / "out");
      EXPECT_TRUE(written == test::expected_of(sort, records));
      std::filesystem::remove_all(directory_ / "out");
    }
  }
}

// What there is no room for is told before anything is read: that would take days here.
TEST_F(ClusterGeneralSortTest, too_little_space_or_memory_is_told_at_the_start) {
  write_input({"b", "a"});
  std::filesystem::resize_file(directory_ / "in", 400 * kGiB);
  const auto message_with = [&](std::uint64_t memory_bytes) {
    GeneralSortOptions sort = options();
    sort.memory_bytes = memory_bytes;
    try {
      test::run_ranks(1, true, [&](Peers& peers) { cluster_general_sort(sort, peers); });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::no_space);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message_with(6 * kMiB).find("the tables of so many runs"), std::string::npos);
  const std::uint64_t free = io::free_bytes(directory_.path());
  if (free < 300 * kGiB) {
    EXPECT_NE(message_with(kGiB).find("not enough scratch space"), std::string::npos);
  }
}

TEST_F(ClusterGeneralSortTest, ranks_on_gpus_write_what_one_process_would) {
  for (unsigned kind = 0; kind < test::kKinds; ++kind) {
    const unsigned ranks = 1 + kind % 3;
    const std::size_t gpus = 1 + kind % 4;
    SCOPED_TRACE(std::to_string(kind) + ", " + std::to_string(ranks) + " ranks, " +
                 std::to_string(gpus) + " GPUs");
    Random random(kind);
    const Records records = test::random_records(kind, 6 * kMiB, random);
    write_input(records);
    GeneralSortOptions sort = options();
    sort.unique = kind % 2 == 1;
    test::run_ranks(ranks, ranks == 2, [&](Peers& peers) {
      const auto accelerator = test::gpus_of_rank(peers, gpus, 40 * kMiB);
      GeneralSortOptions own = sort;
      own.accelerator = accelerator.get();
      own.acceleration = Acceleration::always;
      const ClusterReport report = cluster_general_sort(own, peers);
      EXPECT_EQ(report.device.substr(1, 12), " x simulated");
      EXPECT_GE(report.runs, 1u);  // what a GPU could hold is a run all the same
    });
    EXPECT_TRUE(output() == test::expected_of(sort, records));
  }
}

TEST_F(ClusterGeneralSortTest, parts_are_about_equal_and_empty_where_there_are_too_few_keys) {
  Random random(3);
  write_input(test::random_records(0, 12 * kMiB, random));
  test::run_ranks(3, true, [&](Peers& peers) { cluster_general_sort(options(), peers); });
  for (const PartManifest::Part& part : parts()) {
    EXPECT_NEAR(static_cast<double>(part.bytes), 4.0 * kMiB, 0.4 * kMiB);
  }
  write_input(Records(100'000, "one key"));
  test::run_ranks(3, true, [&](Peers& peers) { cluster_general_sort(options(), peers); });
  std::uint64_t records = 0, empty = 0;
  for (const PartManifest::Part& part : parts()) {
    records += part.records;
    empty += part.records == 0 ? 1 : 0;
  }
  EXPECT_EQ(records, 100'000u);
  EXPECT_EQ(empty, 2u);
}

TEST_F(ClusterGeneralSortTest, a_block_that_is_read_back_changed_is_noticed) {
  Random random(7);
  write_input(test::random_records(0, 2 * kMiB, random));
  bool noticed = false;
  test::run_ranks(1, true, [&](Peers& peers) {
    GeneralSortOptions sort = options();
    sort.queue_factory = test::queues_with_changed_reads(directory_.path());
    try {
      cluster_general_sort(sort, peers);
    } catch (const Error& error) {
      noticed = error.code() == ErrorCode::corrupt;
    }
  });
  EXPECT_TRUE(noticed);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

// What of the input each rank reads.
std::vector<std::string> shares(const std::vector<std::string>& paths, const RecordSyntax& syntax,
                                unsigned ranks) {
  std::vector<std::string> texts(ranks);
  test::run_ranks(ranks, true, [&](Peers& peers) {
    GeneralShare share = open_general_share(paths, syntax, false, peers);
    std::uint64_t at = share.inputs.start;
    for (io::File& file : share.inputs.files) {
      file.open();
      const auto read = io::read_bytes(file, at, static_cast<std::size_t>(file.size() - at));
      texts[peers.rank()].append(reinterpret_cast<const char*>(read.data()), read.size());
      at = 0;
    }
  });
  return texts;
}

TEST_F(ClusterGeneralSortTest, shares_are_cut_where_records_begin) {
  Random random(11);
  const std::vector<std::string> paths = {directory_ / "a", directory_ / "b", directory_ / "c"};
  for (int round = 0; round < 200; ++round) {
    RecordSyntax syntax;
    syntax.rows = random.below(2) == 0;
    // Each record ends with an 'e', which stands nowhere else.
    std::string all;
    for (const std::string& path : paths) {
      std::string text;
      for (std::size_t i = random.below(40); i > 0; --i) {
        std::string row(random.below(8), 'x');
        if (syntax.rows && random.below(2) == 0) row = "\"" + row + "\n\"\"\n,\",";
        text += row + "e\n";
      }
      write_file(path, text);
      all += text;
    }
    const unsigned ranks = 1 + static_cast<unsigned>(random.below(6));
    std::string together;
    for (const std::string& share : shares(paths, syntax, ranks)) {
      EXPECT_TRUE(share.empty() || share.ends_with("e\n")) << share;
      together += share;
    }
    EXPECT_EQ(together, all);
  }
}

TEST_F(ClusterGeneralSortTest, shares_are_cut_where_rows_begin_though_some_are_malformed) {
  Random random(12);
  const std::string path = directory_ / "in";
  constexpr std::string_view kBytes = "aaa,,\"\"\n\n";
  for (int round = 0; round < 100; ++round) {
    RecordSyntax syntax;
    syntax.rows = syntax.tolerant = true;
    syntax.most_open_bytes = round % 2 == 0 ? RowSplitter::kUnbounded : 1 + random.below(20);
    std::string text(1 + random.below(200), '\0');
    for (char& c : text) c = kBytes[random.below(kBytes.size())];
    write_file(path, text);
    std::set<std::size_t> starts = {0, text.size()};
    for (const auto& piece : reference::split_rows(text, ',', '\n', syntax.most_open_bytes)) {
      starts.insert(static_cast<std::size_t>(piece.row.data() - text.data()));
    }
    std::string together;
    for (const std::string& share : shares({path}, syntax, 2 + round % 5)) {
      together += share;
      EXPECT_TRUE(starts.contains(together.size())) << text;
    }
    EXPECT_EQ(together, text);
  }
}

}  // namespace
}  // namespace xxl
