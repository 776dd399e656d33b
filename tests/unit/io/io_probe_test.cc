#include "io/disk_probe.h"
#include "io/transfer.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/error.h"
#include "io/block_mover.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io {
namespace {

using test::TempDirectory;

std::string some_text(std::size_t bytes) {
  std::string text(bytes, ' ');
  test::fill(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

TEST(Probe, MeasuresEveryBlockSizeAndDepthAndLeavesNothing) {
  const TempDirectory directory;
  ProbeOptions options;
  options.file_bytes = 4 * kMiB;
  options.seconds = 0.05;
  options.block_bytes = {64 * kKiB, 192 * kKiB};
  options.depths = {1, 3};
  const ProbeResult result = probe_directory(directory.path(), options);
  ASSERT_EQ(result.rows.size(), 4);
  for (const ProbeRow& row : result.rows) {
    EXPECT_GT(row.read_rate, 0);
    EXPECT_GT(row.write_rate, 0);
    EXPECT_GT(row.both_rate, 0);
  }
  EXPECT_EQ(result.directory, directory.path());
  EXPECT_TRUE(directory.names().empty());
}

TEST(Probe, SaysThatADirectoryIsMissing) {
  const TempDirectory directory;
  EXPECT_THROW(probe_directory(directory / "missing"), Error);
}

TEST(Probe, ChoosesTheSmallestBlocksAndDepthNearTheBestRate) {
  const std::vector<ProbeRow> rows = {
      {64 * kKiB, 32, 0, 0, 90}, {256 * kKiB, 16, 0, 0, 96}, {256 * kKiB, 4, 0, 0, 95},
      {256 * kKiB, 1, 0, 0, 50}, {1 * kMiB, 1, 0, 0, 100},
  };
  const ProbeRow choice = choose_row(rows);
  EXPECT_EQ(choice.block_bytes, 256 * kKiB);
  EXPECT_EQ(choice.depth, 4);
}

TEST(BlockMover, ReadingWrapsAroundAtTheEndOfTheSource) {
  const TempDirectory directory;
  MemoryRegion memory(16 * kKiB);
  IoService service(Backend::threads, {}, 2);
  test::write_file(directory / "in", some_text(12 * kKiB));
  const File source = File::open_input(directory / "in");
  const File target = File::create_unnamed(directory.path());
  BlockMover mover(service, memory.span(), 4 * kKiB);
  EXPECT_EQ(mover.move({.source = &source,
                        .target = &target,
                        .bytes = 12 * kKiB,
                        .source_start = 8 * kKiB,
                        .source_bytes = 12 * kKiB}),
            12 * kKiB);
  const auto block = memory.span().first(4 * kKiB);
  for (const std::uint64_t i : {0, 1, 2}) {
    io::read_at(target, i * 4 * kKiB, block);
    EXPECT_TRUE(test::is_filled(block, (i + 2) % 3 * 4 * kKiB));
  }
}

TEST(BlockMover, ReportsTheFirstFailure) {
  const TempDirectory directory;
  MemoryRegion memory(64 * kKiB);
  IoService service(Backend::threads, {}, 4);
  test::write_file(directory / "in", some_text(64 * kKiB));
  const File read_only = File::open_input(directory / "in");
  BlockMover mover(service, memory.span(), 4 * kKiB);
  try {
    mover.move({.target = &read_only, .bytes = kMiB});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), EBADF);
    EXPECT_EQ(error.path(), directory / "in");
  }
}

TEST(BlockMover, SourceThatIsShorterThanItSaidIsAnError) {
  const TempDirectory directory;
  MemoryRegion memory(64 * kKiB);
  IoService service(Backend::threads, {}, 4);
  test::write_file(directory / "in", some_text(10'000));
  const File source = File::open_input(directory / "in");
  BlockMover mover(service, memory.span(), 4 * kKiB);
  EXPECT_THROW(mover.move({.source = &source, .bytes = 20'000, .source_bytes = 20'000}), Error);
}

}  // namespace
}  // namespace xxl::io
