#include "run/general_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "io_test_support.h"
#include "run/part_sink.h"
#include "simulated_queue.h"
#include "watchdog.h"

namespace xxl {
namespace {

using io::test::file_text;

constexpr std::size_t kOutputBlockBytes = 16 * kKiB;

struct PieceData {
  std::vector<std::string> records;
  bool open_ended = false;
};

std::vector<PieceData> random_pieces(std::size_t count, Random& random) {
  std::vector<PieceData> pieces(count);
  for (PieceData& piece : pieces) {
    piece.open_ended = random.below(4) == 0;
    piece.records.resize(random.below(4) == 0 ? 0 : random.below(40));
    for (std::string& record : piece.records) {
      record.assign(random.below(20) == 0 ? random.below(3 * kOutputBlockBytes) : random.below(50),
                    static_cast<char>('a' + random.below(26)));
    }
  }
  return pieces;
}

std::string text_of(const std::vector<PieceData>& pieces) {
  std::string text;
  for (const PieceData& piece : pieces) {
    for (const std::string& record : piece.records) text += record + '\n';
  }
  return text;
}

// Threads take the tickets in order, and write the pieces beside each other.
void write_pieces(GeneralOutput& output, const std::vector<PieceData>& pieces, unsigned threads,
                  Monitor& monitor, std::size_t first_ticket = 0) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      monitor.guard([&] {
        for (std::size_t index; (index = next++) < pieces.size();) {
          const Ticket ticket{first_ticket + index};
          const PieceData& data = pieces[index];
          std::size_t bytes = 0;
          for (const std::string& record : data.records) bytes += record.size() + 1;
          GeneralOutput::Reservation piece =
              data.open_ended ? output.begin_open_ended(ticket) : output.begin(ticket, bytes);
          for (const std::string& record : data.records)
            piece.append_record(record, RecordSyntax());
          piece.finish();
        }
      });
    });
  }
  for (std::thread& worker : workers) worker.join();
}

io::File stream_of(const std::string& path) {
  return io::File::stream(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), path);
}

class GeneralOutputTest : public testing::TestWithParam<unsigned> {
 protected:
  test::Watchdog watchdog_;
  io::test::TempDirectory directory_;
  MemoryRegion memory_{64 * kOutputBlockBytes};
  Monitor monitor_;
};

INSTANTIATE_TEST_SUITE_P(Threads, GeneralOutputTest, testing::Values(1u, 2u, 8u));

TEST_P(GeneralOutputTest, pieces_of_many_threads_become_one_file) {
  Random random(11);
  for (int round = 0; round < 20; ++round) {
    const auto pieces = random_pieces(random.below(60), random);
    const std::string path = directory_ / "out";
    const io::File file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), path, false);
    io::IoService io(test::simulated_queues(static_cast<std::uint64_t>(round)));
    // No more buffers than are promised to suffice.
    WriteBuffers buffers(memory_.span().first((2 * GetParam() + 4) * kOutputBlockBytes), monitor_);
    FileBytes sink(file, kOutputBlockBytes, io);
    GeneralOutput output(sink, buffers, kOutputBlockBytes, monitor_);
    write_pieces(output, pieces, GetParam(), monitor_);
    output.finish();
    monitor_.check();
    const std::string expected = text_of(pieces);
    ASSERT_EQ(output.bytes(), expected.size());
    ASSERT_TRUE(file_text(path).substr(0, expected.size()) == expected);
  }
}

TEST_P(GeneralOutputTest, pieces_of_many_threads_become_parts) {
  Random random(13);
  const std::string header = "header";
  for (int round = 0; round < 40; ++round) {
    const auto pieces = random_pieces(random.below(60), random);
    const std::string expected = text_of(pieces);
    PartRules rules;
    if (random.below(2) == 0) {
      rules.parts = 1 + random.below(6);
    } else {
      rules.part_bytes = 1000 + random.below(expected.size() + 1);
    }
    OutputParts parts(rules, kSectorBytes);
    parts.expect(expected.size());
    std::mutex mutex;
    std::map<std::size_t, std::shared_ptr<io::File>> files;
    const auto path_of = [&](std::size_t part) {
      return directory_ / ("part" + std::to_string(round) + "." + std::to_string(part));
    };
    io::IoService io(test::simulated_queues(static_cast<std::uint64_t>(round)));
    WriteBuffers buffers(memory_.span().first((2 * GetParam() + 4) * kOutputBlockBytes), monitor_);
    {
      PartSink sink(
          parts, kOutputBlockBytes,
          [&](std::size_t part, std::uint64_t) -> std::shared_ptr<const io::File> {
            std::lock_guard lock(mutex);
            std::shared_ptr<io::File>& file = files[part];
            if (file == nullptr) {
              const std::string path = path_of(part);
              const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
              file = std::make_shared<io::File>(fd, path, false);
            }
            return file;
          },
          io);
      GeneralOutput output(sink, buffers, kOutputBlockBytes, monitor_, &parts);
      output.write_header(Ticket{0}, header, RecordSyntax());
      write_pieces(output, pieces, GetParam(), monitor_, 1);
      output.finish();
    }
    monitor_.check();
    std::string content;
    const auto all = parts.parts();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const OutputPart& part = all[i];
      const std::string text = file_text(path_of(i)).substr(0, part.bytes);
      ASSERT_EQ(text.size(), part.bytes);
      ASSERT_EQ(text.substr(0, header.size() + 1), header + "\n");
      const std::string records = text.substr(header.size() + 1);
      ASSERT_EQ(part.records, std::count(records.begin(), records.end(), '\n'));
      ASSERT_TRUE(records.empty() || records.back() == '\n');
      if (part.records > 0) {
        ASSERT_EQ(part.first_bytes, records.find('\n') + 1);
        ASSERT_EQ(records.size() - part.last_bytes,
                  records.rfind('\n', records.size() - 2) + 1);  // (npos + 1 is 0)
      }
      if (rules.part_bytes != 0 && part.records > 1) {
        ASSERT_LE(part.bytes, rules.part_bytes);
      }
      content += records;
    }
    if (rules.parts != 0) {
      ASSERT_EQ(all.size(), rules.parts);
    }
    ASSERT_TRUE(content == expected);
  }
}

// Of the first, a cut lies in the middle: when it has been made, nobody waits for the rest.
TEST_P(GeneralOutputTest, what_lies_behind_a_cut_is_filled_by_all_at_once) {
  PartRules rules;
  rules.part_bytes = 4;
  OutputParts parts(rules, kSectorBytes);
  const std::string path = directory_ / "out";
  const auto file = std::make_shared<const io::File>(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), path, false);
  io::IoService io(test::simulated_queues(9));
  WriteBuffers buffers(memory_.span(), monitor_);
  PartSink sink(
      parts, kOutputBlockBytes, [&](std::size_t, std::uint64_t) { return file; }, io);
  GeneralOutput output(sink, buffers, kOutputBlockBytes, monitor_, &parts);
  GeneralOutput::Reservation first = output.begin(Ticket{0}, 6);
  first.append_record("a", RecordSyntax());
  first.append_record("b", RecordSyntax());
  first.append_record("c", RecordSyntax());
  GeneralOutput::Reservation second = output.begin(Ticket{1}, 2);
  second.append_record("d", RecordSyntax());
  second.finish();
  first.finish();
  output.finish();
  ASSERT_EQ(parts.parts().size(), 2u);
  EXPECT_EQ(parts.parts()[1].bytes, 4u);
}

TEST_P(GeneralOutputTest, a_stream_gets_them_in_order) {
  Random random(12);
  for (const std::size_t blocks : {std::size_t{3}, std::size_t{2 * GetParam() + 4}}) {
    const auto pieces = random_pieces(400, random);
    const std::string path = directory_ / ("out" + std::to_string(blocks));
    const io::File file = stream_of(path);
    io::IoService io(test::simulated_queues(blocks));
    WriteBuffers buffers(memory_.span().first(blocks * kOutputBlockBytes), monitor_);
    StreamBytes sink(file, io);
    GeneralOutput output(sink, buffers, kOutputBlockBytes, monitor_);
    write_pieces(output, pieces, GetParam(), monitor_);
    output.finish();
    monitor_.check();
    EXPECT_TRUE(file_text(path) == text_of(pieces));
  }
}

TEST_P(GeneralOutputTest, a_stream_is_filled_by_all_at_once) {
  const std::string path = directory_ / "out";
  const io::File file = stream_of(path);
  io::IoService io(test::simulated_queues(9));
  WriteBuffers buffers(memory_.span(), monitor_);
  StreamBytes sink(file, io);
  GeneralOutput output(sink, buffers, kOutputBlockBytes, monitor_);
  // The second is filled while the first is not.
  GeneralOutput::Reservation first = output.begin(Ticket{0}, 2);
  GeneralOutput::Reservation second = output.begin(Ticket{1}, 2);
  second.append("b\n");
  second.finish();
  first.append("a\n");
  first.finish();
  output.finish();
  EXPECT_EQ(file_text(path), "a\nb\n");
}

TEST_P(GeneralOutputTest, nothing_follows_a_failed_write_to_a_stream_and_nobody_waits_for_it) {
  std::vector<PieceData> pieces(30);
  for (PieceData& piece : pieces) piece.records.emplace_back(kOutputBlockBytes, 'x');
  const std::string path = directory_ / "out";
  const io::File file = stream_of(path);
  std::promise<void> all_wait;
  int writes = 0;
  io::IoService io(test::simulated_queues(8, [&](const io::Request& request) {
    if (++writes != 2) return test::honest_transfer(request);
    all_wait.get_future().wait();
    return io::Completion{ENOSPC, 0};
  }));
  WriteBuffers buffers(memory_.span(), monitor_);
  {
    StreamBytes sink(file, io);
    GeneralOutput output(sink, buffers, kOutputBlockBytes, monitor_);
    write_pieces(output, pieces, GetParam(), monitor_);
    all_wait.set_value();
    EXPECT_THROW(output.finish(), Monitor::Abandoned);
  }
  EXPECT_THROW(monitor_.check(), Error);
  EXPECT_EQ(file_text(path).size(), kOutputBlockBytes);
}

}  // namespace
}  // namespace xxl
