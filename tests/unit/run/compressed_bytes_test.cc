// Output as frames, put by many threads in any order.
#include "run/compressed_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "io/output_file.h"
#include "io_test_support.h"
#include "simulated_queue.h"
#include "watchdog.h"

namespace xxl {
namespace {

std::string decompressed(Codec codec, const std::string& file) {
  io::Decompressor decompressor(codec, "test");
  std::string content;
  std::vector<std::byte> buffer(1000);
  bool given = false;
  while (!decompressor.at_end()) {
    if (decompressor.wants_input()) {
      if (given) {
        decompressor.finish_input();
      } else {
        decompressor.give(std::as_bytes(std::span(file)));
      }
      given = true;
    }
    const std::size_t bytes = decompressor.read(buffer);
    content.append(reinterpret_cast<const char*>(buffer.data()), bytes);
  }
  return content;
}

// Some blocks compress well, some not at all.
std::vector<std::string> make_blocks(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::string> blocks(count);
  for (std::string& block : blocks) {
    block.resize(1 + random.below(5000));
    const unsigned letters = random.below(2) == 0 ? 2 : 256;
    for (char& c : block) c = static_cast<char>(random.below(letters));
  }
  return blocks;
}

class CompressedBytesTest : public testing::TestWithParam<Codec> {
 protected:
  // Puts `blocks` from several threads, each its own in the order of `order`.
  void put(CompressedBytes& sink, std::vector<std::string>& blocks,
           const std::vector<std::size_t>& order, unsigned threads) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> putting;
    for (unsigned i = 0; i < threads; ++i) {
      putting.emplace_back([&] {
        monitor_.guard([&] {
          for (std::size_t at; (at = next++) < order.size();) {
            std::string& block = blocks[order[at]];
            sink.put(order[at], reinterpret_cast<std::byte*>(block.data()), block.size(),
                     [&](const std::exception_ptr&) {
                       block.assign(block.size(), '?');  // the buffer is somebody else's now
                       ++freed_;
                     });
          }
        });
      });
    }
    for (std::thread& thread : putting) thread.join();
  }

  io::test::TempDirectory directory_;
  test::Watchdog watchdog_;
  Monitor monitor_;
  std::atomic<std::size_t> freed_ = 0;
};

TEST_P(CompressedBytesTest, FramesAreInOrderWhateverOrderBlocksComeIn) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<std::string> blocks = make_blocks(100, seed);
    std::string content;
    for (const std::string& block : blocks) content += block;
    // Nobody is further ahead than there are threads: otherwise none of them might have the next.
    std::vector<std::size_t> order(blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = 0; i + 4 <= order.size(); i += 4) {
      std::rotate(order.begin() + i, order.begin() + i + 1 + seed % 3, order.begin() + i + 4);
    }
    io::OutputFile output(directory_ / "out", false, {directory_.path()});
    io::IoService io(test::simulated_queues(seed));
    {
      // Almost nothing may be kept.
      CompressedBytes sink(output.file(), GetParam(), 0, 1000, io, monitor_);
      put(sink, blocks, order, 4);
      sink.finish();
      EXPECT_EQ(freed_, blocks.size());
      freed_ = 0;
      output.publish(output.file().stored_bytes());
    }
    EXPECT_EQ(decompressed(GetParam(), io::test::file_text(directory_ / "out")), content);
  }
}

TEST_P(CompressedBytesTest, AFileWithoutBlocksIsAFrameWithoutContent) {
  io::OutputFile output(directory_ / "out", false, {directory_.path()});
  io::IoService io(test::simulated_queues(1));
  CompressedBytes sink(output.file(), GetParam(), 0, 1000, io, monitor_);
  sink.finish();
  EXPECT_GT(output.file().stored_bytes(), 0u);
  output.publish(output.file().stored_bytes());
  EXPECT_EQ(decompressed(GetParam(), io::test::file_text(directory_ / "out")), "");
}

TEST_P(CompressedBytesTest, AWriteThatFailsEndsEverybodysWaiting) {
  std::vector<std::string> blocks = make_blocks(50, 1);
  std::vector<std::size_t> order(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  io::OutputFile output(directory_ / "out", false, {directory_.path()});
  std::atomic<int> writes = 0;
  io::IoService io(test::simulated_queues(1, [&](const io::Request& request) {
    if (++writes == 10) return io::Completion{ENOSPC, 0};
    return test::honest_transfer(request);
  }));
  CompressedBytes sink(output.file(), GetParam(), 0, 1000, io, monitor_);
  put(sink, blocks, order, 3);
  EXPECT_THROW(sink.finish(), Monitor::Abandoned);
  try {
    monitor_.check();
    ADD_FAILURE() << "no failure";
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), ENOSPC);
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, CompressedBytesTest,
                         testing::Values(Codec::gzip, Codec::zstd, Codec::lz4),
                         [](const auto& test) { return io::codec_name(test.param); });

}  // namespace
}  // namespace xxl
