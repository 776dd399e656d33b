#include "cluster/rank_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "cluster/message.h"
#include "cluster/thread_peers.h"
#include "io_test_support.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using io::test::file_text;

constexpr std::size_t kOutputBlock = 2 * kSectorBytes;

class RankOutputTest : public testing::Test {
 protected:
  JobOptions options() {
    JobOptions job;
    job.output = directory_ / "out";
    job.scratch_dirs = {directory_.path(), directory_.path()};
    return job;
  }

  // What a rank writes to a file whose sizes are known at the end, in blocks from last to first.
  static void write(RankOutput& output, const std::string& header, const std::string& records,
                    io::IoService& io) {
    std::string text = header + records;
    output.parts()->add_header(header.size());
    output.parts()->add(records.size());
    const std::size_t blocks = ceil_div(text.size(), kOutputBlock);
    const MemoryRegion memory(std::max<std::size_t>(blocks, 1) * kOutputBlock);
    std::memcpy(memory.data(), text.data(), text.size());
    std::mutex mutex;
    std::exception_ptr failed;
    auto sink = output.make_sink(kOutputBlock, io);
    for (std::size_t i = blocks; i-- > 0;) {
      sink->put(i, memory.data() + i * kOutputBlock,
                std::min(kOutputBlock, text.size() - i * kOutputBlock),
                [&](const std::exception_ptr& failure) {
                  std::lock_guard lock(mutex);
                  if (failure != nullptr) failed = failure;
                });
    }
    sink.reset();  // waits
    if (failed != nullptr) std::rethrow_exception(failed);
  }

  io::test::TempDirectory directory_;
};

// Of parts that fill no sector, or several, that begin and end anywhere.
TEST_F(RankOutputTest, parts_of_any_size_follow_each_other_behind_one_header) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const unsigned ranks = 1 + static_cast<unsigned>(random.below(6));
    const std::string header(random.below(3) == 0 ? random.below(3 * kOutputBlock) : 0, 'h');
    std::vector<std::string> records(ranks);
    std::string expected = header;
    for (std::string& text : records) {
      const std::size_t most[] = {1, 10, kSectorBytes, 5 * kOutputBlock};
      text.resize(random.below(2) == 0 ? random.below(most[random.below(4)])
                                       : random.below(4) * kSectorBytes);
      for (char& byte : text) byte = static_cast<char>('a' + random.below(26));
      expected += text;
    }
    JobOptions job = options();
    if (random.below(3) == 0) job.scratch_codec = Codec::lz4;
    test::run_ranks(ranks, true, [&](Peers& peers) {
      io::IoService io(Backend::automatic, {});
      RankOutput output(job, false, peers);
      write(output, header, records[peers.rank()], io);
      output.publish(0);
    });
    EXPECT_TRUE(file_text(directory_ / "out") == expected);
  }
}

TEST_F(RankOutputTest, nothing_is_seen_before_all_parts_are_there) {
  const JobOptions job = options();
  test::run_ranks(2, true, [&](Peers& peers) {
    io::IoService io(Backend::automatic, {});
    RankOutput output(job, false, peers);
    write(output, "", "text", io);
    gather(peers, true);
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
    gather(peers, true);
    output.publish(0);
    EXPECT_EQ(file_text(directory_ / "out"), "texttext");
  });
}

TEST_F(RankOutputTest, a_block_that_is_read_back_changed_is_noticed) {
  const JobOptions job = options();
  test::run_ranks(1, true, [&](Peers& peers) {
    io::IoService io(test::queues_with_changed_reads(directory_.path()));
    RankOutput output(job, false, peers);
    write(output, "", std::string(5 * kOutputBlock, 'a'), io);
    try {
      output.publish(0);
      ADD_FAILURE() << "not noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
    }
  });
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(RankOutputTest, a_file_that_cannot_be_replaced_is_refused_at_the_start) {
  const JobOptions job = options();
  io::test::write_file(job.output, "old");
  std::filesystem::create_hard_link(job.output, directory_ / "other");
  test::run_ranks(1, true, [&](Peers& peers) {
    for (const bool knows_sizes : {false, true}) {
      EXPECT_THROW(RankOutput(job, knows_sizes, peers), Error);
    }
  });
}

}  // namespace
}  // namespace xxl
