#include "io/file.h"
#include "io/transfer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/units.h"
#include "tests/unit/io_test_support.h"
#include "tests/unit/standard_input.h"

namespace xxl::io {
namespace {

using test::TempDirectory;

class FileTest : public testing::Test {
 protected:
  TempDirectory directory_;
  MemoryRegion memory_{64 * kKiB};
};

template <class Function>
Error error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorCode::usage, "none");
}

TEST_F(FileTest, InputIsOpenedForReadingOnly) {
  test::write_file(directory_ / "f", "text");
  const File file = File::open_input(directory_ / "f");
  EXPECT_EQ(fcntl(file.fd(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_TRUE(file.seekable());
  EXPECT_EQ(file.size(), 4);
  EXPECT_EQ(file.path(), directory_ / "f");
}

TEST_F(FileTest, MissingInputIsAnErrorThatNamesIt) {
  const Error error = error_of([&] { File::open_input(directory_ / "missing"); });
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_EQ(error.sys_errno(), ENOENT);
  EXPECT_EQ(error.path(), directory_ / "missing");
}

TEST_F(FileTest, DirectoryIsNoInput) {
  const Error error = error_of([&] { File::open_input(directory_.path()); });
  EXPECT_EQ(error.sys_errno(), EISDIR);
}

TEST_F(FileTest, NamedPipeIsNotSeekable) {
  ASSERT_EQ(mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  const int keep_open = open((directory_ / "fifo").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_FALSE(File::open_input(directory_ / "fifo").seekable());
  close(keep_open);
}

TEST_F(FileTest, PipesAreMadeToHoldMore) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int usual = fcntl(ends[0], F_GETPIPE_SZ);
  const File reader = File::stream(ends[0], "reader");
  const File writer = File::stream(ends[1], "writer");
  EXPECT_GE(fcntl(ends[0], F_GETPIPE_SZ), usual);
  if (geteuid() == 0) {  // others may be short of pages for pipes
    EXPECT_EQ(fcntl(ends[0], F_GETPIPE_SZ), 1 << 20);
  }
}

TEST_F(FileTest, FilesOfProcAreReadAsStreams) {
  const File file = File::open_input("/proc/self/status");
  EXPECT_FALSE(file.seekable());
  EXPECT_FALSE(file.direct());
}

TEST_F(FileTest, StandardInputFromAFileIsSeekable) {
  test::write_file(directory_ / "f", "text");
  const xxl::test::StandardInput input(open((directory_ / "f").c_str(), O_RDONLY));
  const File file = File::open_input("-");
  EXPECT_TRUE(file.seekable());
  EXPECT_EQ(file.size(), 4);
  EXPECT_NE(file.fd(), STDIN_FILENO);
  EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFL) & O_DIRECT, 0) << "it is shared with other programs";
}

TEST_F(FileTest, StandardInputIsReadOnFromWhereItStands) {
  test::write_file(directory_ / "f", "text");
  const xxl::test::StandardInput input(open((directory_ / "f").c_str(), O_RDONLY));
  char first = 0;
  ASSERT_EQ(read(STDIN_FILENO, &first, 1), 1);
  const File file = File::open_input("-");
  EXPECT_FALSE(file.seekable());
  EXPECT_EQ(read(file.fd(), &first, 1), 1);
  EXPECT_EQ(first, 'e');
}

TEST_F(FileTest, StandardInputStaysOpen) {
  { const File file = File::open_input("-"); }
  EXPECT_NE(fcntl(STDIN_FILENO, F_GETFD), -1);
}

TEST_F(FileTest, UnnamedFileIsPrivateAndHasNoName) {
  const File file = File::create_unnamed(directory_.path());
  EXPECT_TRUE(directory_.names().empty());
  EXPECT_EQ(file.path(), directory_.path());
  struct stat status;
  ASSERT_EQ(fstat(file.fd(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600);
  EXPECT_EQ(status.st_nlink, 0);
}

TEST_F(FileTest, UnnamedFileNeedsADirectory) {
  const Error error = error_of([&] { File::create_unnamed(directory_ / "missing"); });
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_EQ(error.path(), directory_ / "missing");
}

TEST_F(FileTest, BlockingTransfersAreComplete) {
  const File file = File::create_unnamed(directory_.path());
  const auto block = memory_.span().first(8192);
  test::fill(block, 0);
  io::write_at(file, 4096, block);
  const auto copy = memory_.span().subspan(8192, 16384);
  EXPECT_EQ(io::read_at(file, 4096, copy), 8192);
  EXPECT_TRUE(test::is_filled(copy.first(8192), 0));
}

TEST_F(FileTest, BlockingTransferThatFailsThrows) {
  test::write_file(directory_ / "f", std::string(4096, 'x'));
  const File file = File::open_input(directory_ / "f");
  const Error error = error_of([&] { io::write_at(file, 4096, memory_.span().first(4096)); });
  EXPECT_EQ(error.sys_errno(), EBADF);
  EXPECT_EQ(error.offset(), 4096);
}

TEST_F(FileTest, ReserveExtendsTheFile) {
  File file = File::create_unnamed(directory_.path());
  file.reserve(4096, 8192);
  struct stat status;
  ASSERT_EQ(fstat(file.fd(), &status), 0);
  EXPECT_EQ(status.st_size, 12288);
}

TEST_F(FileTest, ReserveOfTooMuchSaysHowMuchAndWhere) {
  File file = File::create_unnamed(directory_.path());
  const Error error = error_of([&] { file.reserve(0, std::uint64_t{1} << 60); });
  EXPECT_EQ(error.code(), ErrorCode::no_space);
  const std::string message = error.what();
  EXPECT_NE(message.find(directory_.path()), std::string::npos) << message;
  EXPECT_NE(message.find(format_bytes(std::uint64_t{1} << 60)), std::string::npos) << message;
  EXPECT_NE(message.find("free"), std::string::npos) << message;
}

TEST_F(FileTest, MovedFromFileIsClosed) {
  File a = File::create_unnamed(directory_.path());
  const int fd = a.fd();
  File b = std::move(a);
  EXPECT_EQ(b.fd(), fd);
  b = File();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

// For a process of its own; 0 when a file system without O_TMPFILE and fallocate is good enough.
int use_a_plain_file_system() {
  const TempDirectory directory;
  if (!test::make_system_call_fail(SYS_openat, EOPNOTSUPP, O_TMPFILE) ||
      !test::make_system_call_fail(SYS_fallocate, EOPNOTSUPP)) {
    return test::kCannotFilter;
  }
  File file = File::create_unnamed(directory.path());
  if (!directory.names().empty()) return 1;
  file.reserve(0, 8192);
  if (lseek(file.fd(), 0, SEEK_END) != 8192) return 2;
  const Error error = error_of([&] { file.reserve(0, std::uint64_t{1} << 50); });
  return error.code() == ErrorCode::no_space ? 0 : 3;
}

TEST(FileDeathTest, DoesWithoutUnnamedFilesAndReservation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(use_a_plain_file_system()), test::ended_well, "");
}

TEST_F(FileTest, FreeBytesOfAMissingDirectoryIsAnError) {
  EXPECT_GT(free_bytes(directory_.path()), 0);
  EXPECT_THROW(free_bytes(directory_ / "missing"), Error);
}

}  // namespace
}  // namespace xxl::io
