// Files that programs read and write record by record.
#include "xxl/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "callers/sorter_test_support.h"
#include "io_test_support.h"
#include "watchdog.h"
#include "xxl/sort.h"

namespace xxl {
namespace {

using test::Watchdog;

template <std::size_t kBytes>
struct Record {
  std::array<unsigned char, kBytes> bytes{};

  static Record of(std::uint64_t number) {
    Record record;
    for (std::size_t i = 0; i < kBytes; ++i) {
      record.bytes[i] = static_cast<unsigned char>(number * 31 + i * 7 + (number >> 8));
    }
    return record;
  }
  friend bool operator==(const Record&, const Record&) = default;
};

class CallerFiles : public testing::Test {
 protected:
  std::string path(const char* name) const { return directory_ / name; }

 private:
  const Watchdog watchdog_;
  const io::test::TempDirectory directory_;
};

template <std::size_t kBytes>
void write_and_read(const std::string& path, std::uint64_t count) {
  using Any = Record<kBytes>;
  file_writer<Any> out(path);
  std::vector<Any> some;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % 1000 < 500) {
      some.push_back(Any::of(i));
      if (i % 1000 < 499 && i + 1 < count) continue;
      out.push(some);
      some.clear();
    } else {
      out.push(Any::of(i));
    }
  }
  EXPECT_EQ(out.size(), count);
  EXPECT_FALSE(std::filesystem::exists(path));
  out.close();
  EXPECT_EQ(std::filesystem::file_size(path), count * kBytes);

  file_reader<Any> in(path);
  EXPECT_EQ(in.size(), count);
  std::uint64_t read = 0;
  for (const Any& record : in) ASSERT_EQ(record, Any::of(read++));
  EXPECT_EQ(read, count);
  for (const std::uint64_t from : {count / 3, std::uint64_t{0}, count}) {
    in.seek(from);
    read = from;
    for (auto part = in.pull(); !part.empty(); part = in.pull()) {
      for (const Any& record : part) ASSERT_EQ(record, Any::of(read++));
    }
    EXPECT_EQ(read, count);
  }
  EXPECT_THROW(in.seek(count + 1), Error);
}

TEST_F(CallerFiles, are_written_and_read_whatever_the_size_of_records) {
  write_and_read<1>(path("1"), 3'000'000);
  write_and_read<8>(path("8"), 1'000'000);
  write_and_read<100>(path("100"), 150'000);
  write_and_read<1001>(path("1001"), 20'000);
  write_and_read<1'100'000>(path("1100000"), 9);
}

TEST_F(CallerFiles, may_be_empty) {
  file_writer<int> out(path("none"));
  out.close();
  EXPECT_EQ(std::filesystem::file_size(path("none")), 0U);
  file_reader<int> in(path("none"));
  EXPECT_TRUE(in.empty());
  EXPECT_TRUE(in.pull().empty());
}

TEST_F(CallerFiles, are_compressed_by_suffix) {
  const std::string name = path("numbers.zst");
  file_writer<std::uint64_t> out(name);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) out.push(i);
  out.close();
  EXPECT_LT(std::filesystem::file_size(name), 4'000'000U);
  file_reader<std::uint64_t> in(name);
  EXPECT_EQ(in.size(), std::nullopt);
  EXPECT_THROW(in.seek(1), Error);
  std::uint64_t next = 0;
  for (const std::uint64_t number : in) ASSERT_EQ(number, next++);
  EXPECT_EQ(next, 1'000'000U);
}

TEST_F(CallerFiles, may_be_pipes) {
  const std::string name = path("pipe");
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  std::thread writing([&] {
    file_writer<std::uint64_t> out(name);
    for (std::uint64_t i = 0; i < 500'000; ++i) out.push(i);
    out.close();
  });
  file_reader<std::uint64_t> in(name);
  std::uint64_t next = 0;
  for (const std::uint64_t number : in) EXPECT_EQ(number, next++);
  writing.join();
  EXPECT_EQ(next, 500'000U);
}

TEST_F(CallerFiles, that_are_not_closed_do_not_appear) {
  const std::string name = path("old");
  std::ofstream(name) << "old";
  {
    file_writer<std::uint64_t> out(name);
    for (std::uint64_t i = 0; i < 2'000'000; ++i) out.push(i);
  }
  EXPECT_EQ(std::filesystem::file_size(name), 3U);
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(std::filesystem::path(name).parent_path()),
                    std::filesystem::directory_iterator()),
      1);
}

// A child would wait for threads that it does not have, and remove the file that is being written.
TEST_F(CallerFiles, are_left_to_the_parent_by_a_child) {
  const std::string name = path("numbers");
  std::optional<file_writer<std::uint64_t>> out(name);
  for (std::uint64_t i = 0; i < 3'000'000; ++i) out->push(i);
  EXPECT_EQ(test::status_of_child([&] { out.reset(); }), 0);
  out->close();
  EXPECT_EQ(std::filesystem::file_size(name), 24'000'000U);
  std::optional<file_reader<std::uint64_t>> in(name);
  EXPECT_EQ(**in, 0U);
  EXPECT_EQ(test::status_of_child([&] { in.reset(); }), 0);
  for (std::uint64_t i = 0; i < 3'000'000; ++i, ++*in) ASSERT_EQ(**in, i);
  EXPECT_THROW((void)**in, Error);
}

TEST_F(CallerFiles, are_given_up_while_they_are_read) {
  const std::string name = path("numbers");
  file_writer<std::uint64_t> out(name);
  for (std::uint64_t i = 0; i < 3'000'000; ++i) out.push(i);
  out.close();
  file_reader<std::uint64_t> in(name);
  ASSERT_FALSE(in.empty());
  file_reader<std::uint64_t> moved = std::move(in);
  EXPECT_EQ(*moved, 0U);
  EXPECT_TRUE(in.empty());
  EXPECT_EQ(in.size(), 0U);
  EXPECT_THROW(in.seek(0), Error);
}

TEST_F(CallerFiles, say_again_what_failed) {
  file_writer<std::uint64_t> out("/dev/full");
  const auto fails = [](const std::function<void()>& what) {
    try {
      what();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.sys_errno(), ENOSPC) << error.what();
    }
  };
  fails([&] {
    for (;;) out.push(1);
  });
  fails([&] {
    for (int i = 0; i < 100'000; ++i) out.push(1);
  });
  fails([&] { out.close(); });
}

TEST_F(CallerFiles, that_are_pipes_without_a_reader_are_an_error_and_no_signal) {
  const std::string name = path("pipe");
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  SortJob job;
  job.inputs = {path("in")};
  job.output = name;
  job.format = "u64";
  job.memory_bytes = 8 << 20;
  for (const std::size_t bytes : {std::size_t{800'000}, std::size_t{40'000'000}}) {
    std::ofstream(job.inputs.front()) << std::string(bytes, 'x');
    std::thread reading([&] { ::close(::open(name.c_str(), O_RDONLY)); });
    try {
      sort_files(job);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.sys_errno(), EPIPE) << error.what();
    }
    reading.join();
  }
}

TEST_F(CallerFiles, say_that_a_disk_is_full) {
  file_writer<std::uint64_t> out("/dev/full");
  try {
    for (std::uint64_t i = 0; i < 3'000'000; ++i) out.push(i);
    out.close();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), ENOSPC) << error.what();
  }
}

TEST_F(CallerFiles, say_what_is_wrong) {
  EXPECT_THROW(file_reader<int>(path("missing")), Error);
  file_writer<int> closed(path("closed"));
  closed.push(1);
  closed.close();
  EXPECT_THROW(closed.push(2), Error);
  EXPECT_THROW(closed.close(), Error);
  EXPECT_THROW(file_reader<int>(path("closed")).seek((std::uint64_t{1} << 62) + 1), Error);
  const std::string name = path("odd");
  std::ofstream(name) << "12345";
  try {
    file_reader<int> in(name);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.path(), name);
  }
  EXPECT_THROW(file_writer<int>(path("no/such/directory")), Error);
}

}  // namespace
}  // namespace xxl
