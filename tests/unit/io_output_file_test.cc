#include "io/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "tests/unit/io_test_support.h"

namespace xxl::io {
namespace {

using test::file_text;
using test::TempDirectory;
using test::write_file;
using Names = std::vector<std::string>;

void write_output(OutputFile& output, const std::string& text) {
  MemoryRegion block(round_up(text.size(), kSectorBytes));
  std::memcpy(block.data(), text.data(), text.size());
  output.file().write_at(0, block.span().first(round_up(text.size(), kSectorBytes)));
}

void publish(const std::string& path, const std::string& text) {
  OutputFile output(path);
  write_output(output, text);
  output.publish(text.size());
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(OutputFile, AppearsWhenPublished) {
  const TempDirectory directory;
  OutputFile output(directory / "out");
  write_output(output, "sorted");
  EXPECT_TRUE(directory.names().empty());
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, LeavesNothingWhenNotPublished) {
  const TempDirectory directory;
  {
    OutputFile output(directory / "out");
    write_output(output, "sorted");
  }
  EXPECT_TRUE(directory.names().empty());
}

TEST(OutputFile, KeepsTheExistingFileWhenNotPublished) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  {
    OutputFile output(directory / "out");
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
  EXPECT_EQ(reader.read_at(0, block.span()), 3);
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
  OutputFile output(directory / "out");
  write_output(output, "sorted");
  write_file(directory / "out", "somebody else's");
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, LeavesNothingWhenItsPlaceWasTakenByADirectory) {
  const TempDirectory directory;
  {
    OutputFile output(directory / "out");
    write_output(output, "sorted");
    std::filesystem::create_directory(directory / "out");
    EXPECT_THROW(output.publish(6), Error);
  }
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(OutputFile, EmptyOutputIsPublished) {
  const TempDirectory directory;
  OutputFile output(directory / "out");
  output.publish(0);
  EXPECT_EQ(directory.names(), Names{"out"});
  EXPECT_EQ(file_text(directory / "out"), "");
}

TEST(OutputFile, WorksBufferedToo) {
  const TempDirectory directory;
  OutputFile output(directory / "out", false);
  EXPECT_FALSE(output.file().direct());
  output.file().write_at(0, std::as_bytes(std::span("sorted", 6)));
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
}

TEST(OutputFile, RefusesADirectory) {
  const TempDirectory directory;
  try {
    OutputFile output(directory.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), EISDIR);
  }
}

TEST(OutputFile, RefusesAMissingDirectory) {
  const TempDirectory directory;
  EXPECT_THROW(OutputFile(directory / "missing/out"), Error);
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
  EXPECT_THROW(OutputFile("/dev/null"), Error);
}

// Whatever publish() needed could be missing when the output has its name already.
int publish_without_free_descriptors() {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  OutputFile output(directory / "out");
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
    OutputFile abandoned(directory / "out");
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
  const auto die_with_a_named_file = [&] {
    signal(SIGTERM, SIG_DFL);
    if (!forbid_unnamed_files()) _exit(test::kCannotFilter);
    OutputFile output((directory / "out").string());
    if (std::filesystem::is_empty(directory)) _exit(1);
    raise(SIGTERM);
    _exit(2);
  };
  EXPECT_EXIT(
      die_with_a_named_file(),
      [](int status) {
        return (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) ||
               (WIFEXITED(status) && WEXITSTATUS(status) == test::kCannotFilter);
      },
      "");
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  unsetenv(kVariable);
}

}  // namespace
}  // namespace xxl::io
