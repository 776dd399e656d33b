#include "io/read_back.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "io/output_file.h"
#include "io/transfer.h"
#include "io/write_comparison.h"
#include "io/write_log.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io {
namespace {

class ReadBackTest : public testing::Test {
 protected:
  ReadBackTest() {
    Random random(5);
    text_.resize(9 * kMiB + 1234);
    for (char& byte : text_) byte = static_cast<char>(random.below(256));
  }

  // Writes all of `text_` to an output, in pieces of any order and, unless writes are direct, size.
  void write(OutputFile& output) {
    output.file().log_writes();
    const std::size_t unit = output.file().direct() ? kSectorBytes : 1;
    MemoryRegion memory(round_up(text_.size(), unit));
    std::memcpy(memory.data(), text_.data(), text_.size());
    Random random(6);
    std::vector<std::size_t> cuts{0, memory.size()};
    for (int i = 0; i < 20; ++i) cuts.push_back(random.below(text_.size()) / unit * unit);
    std::ranges::sort(cuts);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) order.push_back(i);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (const std::size_t i : order) {
      write_at(output.file(), cuts[i], memory.span().subspan(cuts[i], cuts[i + 1] - cuts[i]));
    }
  }
  OutputFile output() const { return {path_, false, {directory_.path()}}; }

  // Writes what was not noted.
  static void tamper(OutputFile& output, std::uint64_t offset, const std::string& text) {
    const int fd = output.file().fd();
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT);
    ASSERT_EQ(pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(text.size()));
  }

  ReadBack read_back(std::stop_token stop = {}) {
    return {io_, std::move(stop), [this](std::uint64_t bytes) { read_ += bytes; }};
  }
  // Where the file is found to be different.
  std::uint64_t found_at(OutputFile& output) {
    ReadBack back = read_back();
    try {
      output.publish(text_.size(), &back);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
      EXPECT_EQ(error.path(), path_);
      EXPECT_EQ(directory_.names(), std::vector<std::string>());
      return error.offset();
    }
    ADD_FAILURE() << "nothing was found";
    return 0;
  }

  test::TempDirectory directory_;
  const std::string path_ = directory_ / "out";
  std::string text_;
  IoService io_{Backend::threads, {}};
  std::uint64_t read_ = 0;
};

TEST_F(ReadBackTest, bytes_of_a_file_are_read_and_compared) {
  OutputFile to = output();
  write(to);
  const auto read = [&](std::uint64_t offset, std::size_t bytes) {
    const std::vector<std::byte> data = read_compared(to.file(), offset, bytes);
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
  };
  const std::size_t end = text_.size();
  for (const auto& [offset, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 10}, {123'456, 2 * kMiB + 7}, {end - 5, 5}, {0, end}}) {
    EXPECT_TRUE(read(offset, bytes) == text_.substr(offset, bytes)) << offset;
  }
  const std::size_t place = 5 * kMiB + 3;
  tamper(to, place, std::string(1, static_cast<char>(~text_[place])));
  EXPECT_TRUE(read(0, 10) == text_.substr(0, 10));
  for (const std::size_t offset : {place, place - 1, std::size_t{0}}) {
    EXPECT_THROW(read(offset, place + 1 - offset), Error) << offset;
  }
  MemoryRegion buffer(kMiB);
  EXPECT_THROW(read_written(to.file(), end, buffer.span(), [](std::uint64_t, auto) {}), Error);
}

TEST_F(ReadBackTest, finds_nothing_in_what_was_written_in_pieces_of_any_size_and_order) {
  OutputFile output = this->output();
  write(output);
  ReadBack back = read_back();
  output.publish(text_.size(), &back);
  EXPECT_TRUE(test::file_text(path_) == text_);
  EXPECT_EQ(read_, text_.size());
}

TEST_F(ReadBackTest, of_an_empty_file_nothing_is_read) {
  text_.clear();
  OutputFile output = this->output();
  output.file().log_writes();
  ReadBack back = read_back();
  output.publish(0, &back);
  EXPECT_EQ(test::file_text(path_), "");
}

TEST_F(ReadBackTest, finds_a_byte_that_changed) {
  for (const std::size_t at : {std::size_t{0}, 5 * kMiB + 17, text_.size() - 1}) {
    OutputFile output = this->output();
    write(output);
    tamper(output, at, std::string(1, static_cast<char>(text_[at] ^ 1)));
    const std::uint64_t found = found_at(output);
    EXPECT_LE(found, at);
    EXPECT_GT(found + WriteLog::kPieceBytes, at);
  }
}

TEST_F(ReadBackTest, finds_what_nobody_wrote) {
  OutputFile output = this->output();
  output.file().log_writes();
  const auto bytes = std::as_bytes(std::span(text_));
  write_at(output.file(), 0, bytes.first(3 * kMiB));
  write_at(output.file(), 4 * kMiB, bytes.subspan(4 * kMiB));
  EXPECT_EQ(found_at(output), 3 * kMiB);
}

TEST_F(ReadBackTest, finds_what_was_written_twice) {
  OutputFile output = this->output();
  write(output);
  write_at(output.file(), 2 * kMiB, std::as_bytes(std::span(text_)).subspan(2 * kMiB, 10));
  EXPECT_LE(found_at(output), 2 * kMiB + 10);
}

TEST_F(ReadBackTest, finds_an_end_that_is_missing) {
  OutputFile output = this->output();
  write(output);
  text_.resize(text_.size() - kSectorBytes);
  EXPECT_LE(found_at(output), text_.size());
}

TEST_F(ReadBackTest, zeros_that_fill_up_the_last_sector_may_be_cut_off) {
  OutputFile output = this->output();
  output.file().log_writes();
  const std::array<std::byte, kSectorBytes> block{};
  write_at(output.file(), 0, block);
  ReadBack back = read_back();
  output.publish(10, &back);
  EXPECT_EQ(test::file_text(path_), std::string(10, '\0'));
}

TEST_F(ReadBackTest, what_is_read_back_is_given_to_a_reader) {
  for (const std::size_t most : {std::size_t{0}, 3 * kMiB + 5, text_.size()}) {
    OutputFile output = this->output();
    write(output);
    ReadBack back = read_back();
    std::string text(text_.size() + 1, '\0');
    std::size_t read = 0;
    back.give_to([&](File& stream) {
      while (read < most) {
        Request request;
        request.op = Op::read;
        request.file = &stream;
        request.offset = Request::kStream;
        request.data = std::as_writable_bytes(std::span(text))
                           .subspan(read, std::min<std::size_t>(777777, text.size() - read));
        request.done = [&](const Completion& done) { read += done.bytes; };
        stream.caller()->submit(std::move(request));
      }
    });
    read_ = 0;
    output.publish(text_.size(), &back);
    EXPECT_GE(read, most);
    EXPECT_TRUE(text.substr(0, read) == text_.substr(0, read));
    EXPECT_EQ(read_, text_.size());
  }
}

TEST_F(ReadBackTest, what_changed_is_found_by_who_reads_it_or_after_that) {
  for (const bool reads : {true, false}) {
    OutputFile output = this->output();
    write(output);
    tamper(output, 5, "?!?!");
    ReadBack back = read_back();
    int error = 0;
    back.give_to([&](File& stream) {
      if (!reads) return;
      std::byte byte[1];
      Request request{Op::read, &stream, Request::kStream, byte,
                      [&](const Completion& done) { error = done.error; }};
      stream.caller()->submit(std::move(request));
      throw Error(ErrorCode::io, "says less");
    });
    try {
      output.publish(text_.size(), &back);
      ADD_FAILURE();
    } catch (const Error& found) {
      EXPECT_EQ(found.code(), ErrorCode::corrupt);
    }
    EXPECT_EQ(error != 0, reads);
  }
}

TEST_F(ReadBackTest, who_reads_may_find_something) {
  OutputFile output = this->output();
  write(output);
  ReadBack back = read_back();
  back.give_to([](File&) { throw Error(ErrorCode::corrupt, "in no order"); });
  EXPECT_THROW(output.publish(text_.size(), &back), Error);
  EXPECT_EQ(directory_.names(), std::vector<std::string>());
}

TEST_F(ReadBackTest, ends_when_it_is_asked_to) {
  OutputFile output = this->output();
  write(output);
  std::stop_source stop;
  stop.request_stop();
  ReadBack back = read_back(stop.get_token());
  EXPECT_ANY_THROW(output.publish(text_.size(), &back));
  EXPECT_EQ(directory_.names(), std::vector<std::string>());
}

TEST_F(ReadBackTest, a_file_that_is_overwritten_in_place_is_read_as_well) {
  test::write_file(path_, "old content");
  std::filesystem::create_hard_link(path_, directory_ / "other");
  OutputFile output = this->output();
  write(output);
  ReadBack back = read_back();
  output.publish(text_.size(), &back);
  EXPECT_TRUE(output.in_place());
  EXPECT_TRUE(test::file_text(directory_ / "other") == text_);
  EXPECT_EQ(read_, 2 * text_.size());
}

TEST_F(ReadBackTest, what_is_not_to_be_copied_into_a_file_leaves_it_as_it_was) {
  test::write_file(path_, "old content");
  std::filesystem::create_hard_link(path_, directory_ / "other");
  OutputFile output = this->output();
  write(output);
  tamper(output, 77, "?!?!");
  ReadBack back = read_back();
  EXPECT_THROW(output.publish(text_.size(), &back), Error);
  EXPECT_EQ(test::file_text(path_), "old content");
}

TEST_F(ReadBackTest, streams_are_refused) {
  EXPECT_THROW(open_output_stream("-", true), Error);
  EXPECT_THROW(open_output_stream("/dev/null", true), Error);
}

}  // namespace
}  // namespace xxl::io
