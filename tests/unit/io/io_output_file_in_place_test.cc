// Output files that are written in place, and attributes of files that are replaced.
#include "io/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/units.h"
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

// Written in place: files that cannot be replaced without loss.

void write_file_of_two_names(const TempDirectory& directory, const std::string& text) {
  write_file(directory / "out", text);
  std::filesystem::create_hard_link(directory / "out", directory / "other");
}

TEST(OutputFile, FileOfSeveralNamesIsWrittenInPlace) {
  const TempDirectory directory;
  write_file_of_two_names(directory, "what was there is longer");
  OutputFile output(directory / "out", true, {directory.path()});
  EXPECT_TRUE(output.in_place());
  write_output(output, "sorted");
  EXPECT_EQ(file_text(directory / "other"), "what was there is longer");
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(file_text(directory / "other"), "sorted");
  EXPECT_EQ(directory.names().size(), 2U);
}

// Scratch has no other checksums of it.
TEST(OutputFile, FileStaysWhenWhatIsToBeWrittenInPlaceHasChanged) {
  const TempDirectory directory;
  write_file_of_two_names(directory, "old");
  OutputFile output(directory / "out", false, {directory.path()});
  write_output(output, "sorted");
  ASSERT_EQ(pwrite(output.file().fd(), "S", 1, 0), 1);
  try {
    output.publish(6);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
  }
  EXPECT_EQ(file_text(directory / "out"), "old");
}

TEST(OutputFile, FileWrittenInPlaceStaysWhenNotPublished) {
  const TempDirectory directory;
  write_file_of_two_names(directory, "old");
  {
    OutputFile output(directory / "out", true, {directory.path()});
    write_output(output, "sorted");
  }
  EXPECT_EQ(file_text(directory / "out"), "old");
}

TEST(OutputFile, LongFileIsWrittenInPlaceWhole) {
  const TempDirectory directory;
  write_file_of_two_names(directory, "old");
  std::string text(2 * kMiB + 5, 'x');
  text[kMiB] = 'y';
  publish(directory / "out", text);
  EXPECT_EQ(file_text(directory / "other"), text);
}

TEST(OutputFile, FileThatIsRemovedIsNotWrittenInPlace) {
  const TempDirectory directory;
  write_file_of_two_names(directory, "old");
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  std::filesystem::remove(directory / "out");
  std::filesystem::remove(directory / "other");
  EXPECT_THROW(output.publish(6), Error);
  EXPECT_TRUE(directory.names().empty());
}

int publish_where_files_cannot_be_replaced() {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  if (!test::make_system_call_fail(SYS_renameat, EBUSY)) return test::kCannotFilter;
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  output.publish(6);
  if (!output.in_place() || file_text(directory / "out") != "sorted") return 1;
  return directory.names() == Names{"out"} ? 0 : 2;
}

TEST(OutputFileDeathTest, FileThatCannotBeReplacedIsWrittenInPlace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(publish_where_files_cannot_be_replaced()), test::ended_well, "");
}

// Attributes.

constexpr const char* kAccessList = "system.posix_acl_access";

// As the kernel takes it: user, a named user, group, mask, others.
struct AccessList {
  struct Entry {
    std::uint16_t tag, rights;
    std::uint32_t id = ~std::uint32_t{0};
  };
  std::uint32_t version = 2;
  Entry entries[5] = {{1, 6}, {2, 6, 12345}, {4, 0}, {16, 6}, {32, 0}};
};

bool set_attribute(const std::string& path, const char* name, std::string_view value) {
  return setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0;
}

bool set_access_list(const std::string& path, const char* name) {
  const AccessList list;
  return set_attribute(path, name, {reinterpret_cast<const char*>(&list), sizeof list});
}

std::string attribute_of(const std::string& path, const char* name) {
  std::array<char, 256> value{};
  const ssize_t bytes = getxattr(path.c_str(), name, value.data(), value.size());
  return bytes < 0 ? "none" : std::string(value.data(), static_cast<std::size_t>(bytes));
}

TEST(OutputFile, KeepsTheAccessListAndWidensNoRights) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  if (!set_access_list(directory / "out", kAccessList)) GTEST_SKIP() << "no access control lists";
  const std::string list = attribute_of(directory / "out", kAccessList);
  const mode_t mode = mode_of(directory / "out");
  EXPECT_EQ(mode, 0660);  // the mask, not the group, which has no rights
  publish(directory / "out", "sorted");
  EXPECT_EQ(attribute_of(directory / "out", kAccessList), list);
  EXPECT_EQ(mode_of(directory / "out"), mode);
}

TEST(OutputFile, FileWithoutAccessListGetsNoneFromTheDirectory) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  chmod((directory / "out").c_str(), 0640);
  if (!set_access_list(directory.path(), "system.posix_acl_default")) {
    GTEST_SKIP() << "no access control lists";
  }
  publish(directory / "out", "sorted");
  EXPECT_EQ(attribute_of(directory / "out", kAccessList), "none");
  EXPECT_EQ(mode_of(directory / "out"), 0640);
}

TEST(OutputFile, NewFileGetsTheAccessListThatTheDirectoryGives) {
  const TempDirectory directory;
  if (!set_access_list(directory.path(), "system.posix_acl_default")) {
    GTEST_SKIP() << "no access control lists";
  }
  write_file(directory / "another", "");
  publish(directory / "out", "sorted");
  EXPECT_EQ(attribute_of(directory / "out", kAccessList),
            attribute_of(directory / "another", kAccessList));
  EXPECT_EQ(mode_of(directory / "out"), mode_of(directory / "another"));
  EXPECT_NE(attribute_of(directory / "out", kAccessList), "none");
}

TEST(OutputFile, KeepsExtendedAttributes) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  if (!set_attribute(directory / "out", "user.xxl.origin", "a shop")) {
    GTEST_SKIP() << "no extended attributes";
  }
  publish(directory / "out", "sorted");
  EXPECT_EQ(attribute_of(directory / "out", "user.xxl.origin"), "a shop");
}

// False if the file system has no such flags.
bool set_inode_flag(const std::string& path, unsigned flag, bool on) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  fsxattr flags{};
  bool done = ioctl(fd, FS_IOC_FSGETXATTR, &flags) == 0;
  flags.fsx_xflags = on ? flags.fsx_xflags | flag : flags.fsx_xflags & ~flag;
  done = done && ioctl(fd, FS_IOC_FSSETXATTR, &flags) == 0;
  close(fd);
  return done;
}

bool has_inode_flag(const std::string& path, unsigned flag) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  fsxattr flags{};
  const bool known = ioctl(fd, FS_IOC_FSGETXATTR, &flags) == 0;
  close(fd);
  return known && (flags.fsx_xflags & flag) != 0;
}

TEST(OutputFile, KeepsTheFlagsOfTheInode) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  if (!set_inode_flag(directory / "out", FS_XFLAG_NODUMP, true)) GTEST_SKIP() << "no flags";
  publish(directory / "out", "sorted");
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_TRUE(has_inode_flag(directory / "out", FS_XFLAG_NODUMP));
}

TEST(OutputFile, WritesInPlaceWhereNamesCanOnlyBeAdded) {
  const TempDirectory directory;
  write_file(directory / "out", "old");
  if (!set_inode_flag(directory.path(), FS_XFLAG_APPEND, true)) GTEST_SKIP() << "no flags";
  OutputFile output(directory / "out", true, {std::filesystem::temp_directory_path().string()});
  EXPECT_TRUE(output.in_place());
  write_output(output, "sorted");
  output.publish(6);
  EXPECT_EQ(file_text(directory / "out"), "sorted");
  EXPECT_EQ(directory.names(), Names{"out"});
  publish(directory / "new", "sorted");
  EXPECT_EQ(file_text(directory / "new"), "sorted");
  EXPECT_EQ(directory.names().size(), 2U);
  set_inode_flag(directory.path(), FS_XFLAG_APPEND, false);
}

int publish_where_nothing_can_be_read() {
  const TempDirectory directory;
  write_file_of_two_names(directory, "old");
  OutputFile output(directory / "out", true, {directory.path()});
  write_output(output, "sorted");
  if (!test::make_system_call_fail(SYS_pread64, EIO)) return test::kCannotFilter;
  try {
    output.publish(6);
    return 1;
  } catch (const Error& error) {
    return std::string(error.what()).find("overwritten") == std::string::npos ? 0 : 2;
  }
}

TEST(OutputFileDeathTest, DoesNotSayThatAFileWasOverwrittenWhichWasNot) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(publish_where_nothing_can_be_read()), test::ended_well, "");
}

int publish_without_asking_for_the_umask() {
  const TempDirectory directory;
  if (!test::make_system_call_fail(SYS_umask, EPERM)) return test::kCannotFilter;
  publish(directory / "out", "sorted");
  write_file(directory / "another", "");
  return mode_of(directory / "out") == mode_of(directory / "another") ? 0 : 1;
}

// It would change it, for all threads.
TEST(OutputFileDeathTest, TheUmaskIsNotTouched) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(publish_without_asking_for_the_umask()), test::ended_well, "");
}

}  // namespace
}  // namespace xxl::io
