#include "io/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "io_output_file_fixture.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io {
namespace {

using test::file_text;
using test::mode_of;
using test::Names;
using test::publish;
using test::TempDirectory;
using test::write_file;
using test::write_output;

TEST(OutputFile, AppearsWhenPublished) {
  const TempDirectory directory;
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  EXPECT_TRUE(directory.names().empty());
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, LeavesNothingWhenNotPublished) {
  const TempDirectory directory;
  {
    OutputFile output(directory / "out", true, {directory.path()});
    write_output(output, "sorted");
  }
  EXPECT_TRUE(directory.names().empty());
}

TEST(OutputFile, KeepsTheExistingFileWhenNotPublished) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  {
    OutputFile output(directory / "out", true, {directory.path()});
    write_output(output, "sorted");
  }
  EXPECT_EQ(file_text(directory / "out"), "old");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, ReplacesAnExistingFileWhoseReadersKeepTheOldOne) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  const File reader = File::open_input(directory / "out");
  publish(directory / "out", "sorted");
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
  MemoryRegion block(4096);
  EXPECT_EQ(io::read_at(reader, 0, block.span()), 3);
}

TEST(OutputFile, KeepsTheModeOfTheFileItReplaces) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  ASSERT_EQ(chmod((directory / "out").c_str(), 0640), 0);
  publish(directory / "out", "sorted");
  EXPECT_EQ(mode_of(directory / "out"), 0640);
}

TEST(OutputFile, KeepsTheOwnerOfTheFileItReplaces) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TempDirectory directory;
  write_file(directory / "out", "old");
  ASSERT_EQ(chown((directory / "out").c_str(), 12345, 54321), 0);
  publish(directory / "out", "sorted");
  struct stat status {};
  ASSERT_EQ(stat((directory / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 12345);
  EXPECT_EQ(status.st_gid, 54321);
}

TEST(OutputFile, NewFileFollowsTheUmask) {
  const TempDirectory directory;
  const mode_t before = umask(027);
  publish(directory / "out", "sorted");
  EXPECT_EQ(umask(before), 027);
  EXPECT_EQ(mode_of(directory / "out"), 0640);
}

TEST(OutputFile, ReplacesTheTargetOfASymbolicLink) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "real");
  write_file(directory / "real/out", "old");
  std::filesystem::create_symlink("real/out", directory / "link");
  publish(directory / "link", "sorted");
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(file_text(directory / "real/out"), "sorted");
}

TEST(OutputFile, CreatesTheMissingTargetOfASymbolicLink) {
  const TempDirectory directory;
  std::filesystem::create_symlink("out", directory / "link");
  publish(directory / "link", "sorted");
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(file_text(directory / "out"), "sorted");
}

TEST(OutputFile, ReplacesAFileThatAppearedMeanwhile) {
  const TempDirectory directory;
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  write_file(directory / "out", "somebody else's");
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
}

// What happens to the existing file while the output is made.

TEST(OutputFile, KeepsTheModeThatTheFileItReplacesGotMeanwhile) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  ASSERT_EQ(chmod((directory / "out").c_str(), 0600), 0);
  output.publish(6);
  EXPECT_FALSE(output.in_place());
  EXPECT_EQ(mode_of(directory / "out"), 0600);
}

TEST(OutputFile, KeepsTheModeOfAFileThatAppearedMeanwhile) {
  const TempDirectory directory;
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  write_file(directory / "out", "somebody else's");
  ASSERT_EQ(chmod((directory / "out").c_str(), 0600), 0);
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(mode_of(directory / "out"), 0600);
}

TEST(OutputFile, FileThatTookThePlaceOfTheExistingOneIsReplaced) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  write_file(directory / "newer", "somebody else's");
  ASSERT_EQ(chmod((directory / "newer").c_str(), 0600), 0);
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  std::filesystem::rename(directory / "newer", directory / "out");
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(mode_of(directory / "out"), 0600);
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, AppearsWhereTheExistingFileWasRemovedMeanwhile) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  std::filesystem::remove(directory / "out");
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, FileThatGotAnotherNameMeanwhileIsWrittenInPlace) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  std::filesystem::create_hard_link(directory / "out", directory / "other");
  output.publish(6);
  EXPECT_TRUE(output.in_place());
  EXPECT_EQ(file_text(directory / "other"), "sorted");
  EXPECT_EQ(directory.names().size(), 2U);
}

TEST(OutputFile, LinkThatAppearedMeanwhileIsNotFollowed) {
  const TempDirectory directory;
  write_file(directory / "precious", "old");
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  std::filesystem::create_symlink("precious", directory / "out");
  EXPECT_THROW(output.publish(6), Error);
  EXPECT_EQ(file_text(directory / "precious"), "old");
}

TEST(OutputFile, LeavesNothingWhenItsPlaceWasTakenByADirectory) {
  const TempDirectory directory;
  {
    OutputFile output(directory / "out", true, {directory.path()});
    write_output(output, "sorted");
    std::filesystem::create_directory(directory / "out");
    EXPECT_THROW(output.publish(6), Error);
  }
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, EmptyOutputIsPublished) {
  const TempDirectory directory;
  OutputFile output(directory / "out", true, {directory.path()});
  output.publish(0);
  EXPECT_EQ(directory.names(), Names{"out"});
  EXPECT_EQ(file_text(directory / "out"), "");
}

TEST(OutputFile, WorksBufferedToo) {
  const TempDirectory directory;
  OutputFile output(directory / "out", false, {directory.path()});
  EXPECT_FALSE(output.file().direct());
  io::write_at(output.file(), 0, std::as_bytes(std::span("sorted", 6)));
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
}

TEST(OutputFile, RefusesADirectory) {
  const TempDirectory directory;
  try {
    OutputFile output(directory.path(), true, {directory.path()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), EISDIR);
  }
}

TEST(OutputFile, RefusesAMissingDirectory) {
  const TempDirectory directory;
  EXPECT_THROW(OutputFile(directory / "missing/out", true, {directory.path()}), Error);
}

TEST(OutputFile, RefusesWhatIsToBeWrittenToInstead) {
  const TempDirectory directory;
  ASSERT_EQ(mkfifo((directory / "fifo").c_str(), 0600), 0);
  write_file(directory / "file", "");
  EXPECT_TRUE(OutputFile::is_replaceable(directory / "file"));
  EXPECT_TRUE(OutputFile::is_replaceable(directory / "missing"));
  EXPECT_FALSE(OutputFile::is_replaceable("/dev/null"));
  EXPECT_FALSE(OutputFile::is_replaceable("/dev/stdout"));
  EXPECT_FALSE(OutputFile::is_replaceable(directory / "fifo"));
  EXPECT_THROW(OutputFile("/dev/null", true, {directory.path()}), Error);
}

// The directory.

TEST(OutputFile, DirectoryMayBeRenamedMeanwhile) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "before");
  write_file(directory / "before/out", "old");
  OutputFile replacing(directory / "before/out", true, {directory.path()});
  OutputFile making(directory / "before/new", true, {directory.path()});
  write_output(replacing, "sorted");
  write_output(making, "too");
  std::filesystem::rename(directory / "before", directory / "after");
  replacing.publish(6);
  making.publish(3);
  EXPECT_EQ(file_text(directory / "after/out"), "sorted");
  EXPECT_EQ(file_text(directory / "after/new"), "too");
}

constexpr time_t kDaySeconds = 24 * 60 * 60;

void leave_file(const std::string& path, time_t age_seconds) {
  write_file(path, "part of an output");
  const timespec then{time(nullptr) - age_seconds, 0};
  const timespec times[] = {then, then};
  XXL_CHECK(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

TEST(OutputFile, NewOneRemovesWhatKilledProcessesLeft) {
  const TempDirectory directory;
  leave_file(directory / ".xxl-1-0123456789abcdef.tmp", 2 * kDaySeconds);
  publish(directory / "out", "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, RemovesWhatKilledProcessesLeft) {
  const TempDirectory directory;
  const auto leave = [&](const std::string& name, time_t age_seconds) {
    leave_file(directory / name, age_seconds);
  };
  leave(".xxl-1-0123456789abcdef.tmp", 2 * kDaySeconds);
  leave(".xxl-2-0123456789abcdef.tmp", kDaySeconds / 2);
  leave(".xxl-3-0123456789abcdef.tmp", 2 * kDaySeconds);
  const Names others = {"xxl.tmp",
                        ".xxl-notes.tmp",
                        ".xxl-1-0123456789ABCDEF.tmp",
                        ".xxl--0123456789abcdef.tmp",
                        ".xxl-1-0123456789abcdef0.tmp",
                        ".xxl-4-0123456789abcdef.tmp"};
  for (const std::string& name : others) leave(name, 2 * kDaySeconds);
  std::filesystem::create_hard_link(directory / others.back(), directory / "kept");
  const int in_use = open((directory / ".xxl-3-0123456789abcdef.tmp").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(in_use, LOCK_EX), 0);
  write_file(directory / "out", "old");
  publish(directory / "out", "sorted");
  Names names = directory.names();
  std::sort(names.begin(), names.end());
  Names expected = others;
  for (const char* name :
       {".xxl-2-0123456789abcdef.tmp", ".xxl-3-0123456789abcdef.tmp", "kept", "out"}) {
    expected.push_back(name);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names, expected);
  close(in_use);
}

// Descriptor of the directory `path`.
int descriptor_of(const std::string& path) {
  for (int fd = 3; fd < 100; ++fd) {
    std::error_code error;
    if (std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error) == path) {
      return fd;
    }
  }
  return -1;
}

int publish_where_the_directory_cannot_be_synced() {
  const TempDirectory directory;
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  const int fd = descriptor_of(directory.path());
  if (!test::make_system_call_fail_for(SYS_fsync, EIO, fd)) return test::kCannotFilter;
  try {
    output.publish(6);
    return 1;
  } catch (const Error& error) {
    if (std::string(error.what()).find("in its place") == std::string::npos) return 2;
  }
  return file_text(directory / "out") == "sorted" ? 0 : 3;
}

TEST(OutputFileDeathTest, DirectoryThatCannotBeSyncedIsToldWithTheOutputInPlace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(publish_where_the_directory_cannot_be_synced()), test::ended_well, "");
}

// Whatever publish() needed could be missing when the output has its name already.
int publish_without_free_descriptors() {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &limit);
  output.publish(6);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return file_text(directory / "out") == "sorted" ? 0 : 1;
}

TEST(OutputFileDeathTest, PublishOpensNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(publish_without_free_descriptors()), testing::ExitedWithCode(0), "");
}

// Without O_TMPFILE: the output has a name from the start.

bool forbid_unnamed_files() {
  return test::make_system_call_fail(SYS_openat, EOPNOTSUPP, O_TMPFILE);
}

int publish_without_unnamed_files() {
  const TempDirectory directory;
  if (!forbid_unnamed_files()) return test::kCannotFilter;
  {
    OutputFile abandoned(directory / "out", true, {directory.path()});
    if (directory.names().size() != 1) return 1;
  }
  if (!directory.names().empty()) return 2;
  publish(directory / "out", "sorted");
  return directory.names() == Names{"out"} && file_text(directory / "out") == "sorted" ? 0 : 3;
}

TEST(OutputFileDeathTest, DoesWithoutUnnamedFiles) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(publish_without_unnamed_files()), test::ended_well, "");
}

// The child process of a "threadsafe" death test runs the test from its start: the environment
// tells it the directory that its parent made.
TEST(OutputFileDeathTest, SignalRemovesTheNamedFallBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr const char* kVariable = "XXL_TEST_SIGNAL_DIRECTORY";
  const char* of_parent = getenv(kVariable);
  std::optional<TempDirectory> own;
  if (of_parent == nullptr) setenv(kVariable, own.emplace().path().c_str(), 1);
  const std::filesystem::path directory = getenv(kVariable);
  const auto die_with_a_named_file = [&](int number) {
    signal(number, SIG_DFL);
    if (!forbid_unnamed_files()) _exit(test::kCannotFilter);
    OutputFile output((directory / "out").string(), true, {directory.string()});
    if (std::filesystem::is_empty(directory)) _exit(1);
    raise(number);
    _exit(2);
  };
  for (const int number : {SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGPOLL, SIGPROF,
                           SIGVTALRM, SIGXCPU, SIGXFSZ}) {
    EXPECT_EXIT(
        die_with_a_named_file(number),
        [number](int status) {
          return (WIFSIGNALED(status) && WTERMSIG(status) == number) ||
                 (WIFEXITED(status) && WEXITSTATUS(status) == test::kCannotFilter);
        },
        "");
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << strsignal(number);
  }
  unsetenv(kVariable);
}

}  // namespace
}  // namespace xxl::io
