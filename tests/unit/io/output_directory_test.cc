#include "io/output_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace xxl::io {
namespace {

namespace fs = std::filesystem;

class OutputDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/xxl-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string content(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  std::size_t names() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }

  fs::path root_;
  OutputDirectory::Check allow_ = [](const std::string&) {};
  OutputDirectory::Check refuse_ = [](const std::string& path) {
    throw Error(ErrorCode::io, "is not ours", path);
  };
};

TEST_F(OutputDirectoryTest, appears_with_all_its_files) {
  OutputDirectory output(root_ / "out", refuse_);
  File file = output.create("a", false);
  output.add(file, "a", 3);
  output.add("b", "text");
  EXPECT_FALSE(fs::exists(root_ / "out"));
  output.publish();
  EXPECT_EQ(content(root_ / "out" / "a"), std::string(3, '\0'));
  EXPECT_EQ(content(root_ / "out" / "b"), "text");
  EXPECT_EQ(names(), 1u);
}

TEST_F(OutputDirectoryTest, without_publish_nothing_remains) {
  {
    OutputDirectory output(root_ / "out", refuse_);
    output.create("a", true);
    output.add("b", "text");
  }
  EXPECT_EQ(names(), 0u);
}

TEST_F(OutputDirectoryTest, an_existing_one_stays_until_it_is_replaced) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "old") << "old";
  OutputDirectory output((root_ / "out").string() + "/", allow_);
  output.add("new", "new");
  EXPECT_EQ(content(root_ / "out" / "old"), "old");
  output.publish();
  EXPECT_FALSE(fs::exists(root_ / "out" / "old"));
  EXPECT_EQ(content(root_ / "out" / "new"), "new");
  EXPECT_EQ(names(), 1u);
}

TEST_F(OutputDirectoryTest, an_empty_one_is_taken) {
  fs::create_directory(root_ / "out");
  OutputDirectory output(root_ / "out", refuse_);
  output.add("new", "new");
  output.publish();
  EXPECT_EQ(content(root_ / "out" / "new"), "new");
}

TEST_F(OutputDirectoryTest, one_that_was_filled_meanwhile_is_not_replaced) {
  OutputDirectory output(root_ / "out", refuse_);
  output.add("new", "new");
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "other") << "other";
  EXPECT_THROW(output.publish(), Error);
  EXPECT_EQ(content(root_ / "out" / "other"), "other");
}

TEST_F(OutputDirectoryTest, one_that_may_not_be_replaced_is_refused_at_once) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "old") << "old";
  EXPECT_THROW(OutputDirectory(root_ / "out", refuse_), Error);
  EXPECT_EQ(names(), 1u);
}

TEST_F(OutputDirectoryTest, one_that_has_vanished_need_not_be_replaced) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "old") << "old";
  OutputDirectory output(root_ / "out", allow_);
  fs::remove_all(root_ / "out");
  output.add("new", "new");
  output.publish();
  EXPECT_EQ(content(root_ / "out" / "new"), "new");
}

TEST_F(OutputDirectoryTest, nobody_gets_rights_to_what_replaces_a_private_one) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "old") << "old";
  fs::permissions(root_ / "out", fs::perms::owner_all);
  OutputDirectory output(root_ / "out", allow_);
  output.add("new", "new");
  output.publish();
  EXPECT_EQ(fs::status(root_ / "out").permissions(), fs::perms::owner_all);
  EXPECT_EQ(names(), 1u);
}

TEST_F(OutputDirectoryTest, an_empty_one_keeps_its_rights_and_attributes) {
  fs::create_directory(root_ / "out");
  fs::permissions(root_ / "out", fs::perms::owner_all | fs::perms::set_gid);
  const bool has_attributes = setxattr((root_ / "out").c_str(), "user.xxl", "kept", 4, 0) == 0;
  OutputDirectory output(root_ / "out", refuse_);
  const File file = output.create("a", false);
  output.add(file, "a", 3);
  output.publish();
  EXPECT_EQ(fs::status(root_ / "out").permissions(), fs::perms::owner_all | fs::perms::set_gid);
  EXPECT_EQ(content(root_ / "out" / "a").size(), 3u);
  EXPECT_EQ(names(), 1u);
  if (!has_attributes) GTEST_SKIP() << "this file system has no extended attributes";
  std::string value(4, '\0');
  EXPECT_EQ(getxattr((root_ / "out").c_str(), "user.xxl", value.data(), value.size()), 4);
  EXPECT_EQ(value, "kept");
}

TEST_F(OutputDirectoryTest, files_inherit_the_access_list_of_an_existing_one) {
  fs::create_directory(root_ / "out");
  // Version 2; then tag, rights and id: the owner rw-, the group r--, others nothing.
  constexpr unsigned char kList[] = {2,    0,    0, 0, 1,    0,    6,    0,    0xff, 0xff,
                                     0xff, 0xff, 4, 0, 4,    0,    0xff, 0xff, 0xff, 0xff,
                                     0x20, 0,    0, 0, 0xff, 0xff, 0xff, 0xff};
  if (setxattr((root_ / "out").c_str(), "system.posix_acl_default", kList, sizeof kList, 0) != 0) {
    GTEST_SKIP() << "this file system has no access control lists";
  }
  OutputDirectory output(root_ / "out", refuse_);
  const File file = output.create("a", false);
  output.add(file, "a", 3);
  output.add("b", "text");
  output.publish();
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(fs::status(root_ / "out" / name).permissions(),
              fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  }
  EXPECT_EQ(getxattr((root_ / "out").c_str(), "system.posix_acl_default", nullptr, 0),
            static_cast<ssize_t>(sizeof kList));
}

TEST_F(OutputDirectoryTest, one_in_which_its_owner_may_make_no_files_is_replaced) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "old") << "old";
  constexpr fs::perms kRead = fs::perms::owner_read | fs::perms::owner_exec;
  fs::permissions(root_ / "out", kRead);
  OutputDirectory output(root_ / "out", allow_);
  output.add("new", "new");
  output.publish();
  EXPECT_EQ(fs::status(root_ / "out").permissions(), kRead);
  EXPECT_EQ(content(root_ / "out" / "new"), "new");
  EXPECT_EQ(names(), 1u);
  fs::permissions(root_ / "out", fs::perms::owner_all);
}

TEST_F(OutputDirectoryTest, says_what_it_could_not_remove) {
  fs::create_directories(root_ / "out" / "old");
  OutputDirectory output(root_ / "out", allow_);
  output.add("new", "new");
  try {
    output.publish();
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("complete and in its place"), std::string::npos) << message;
    EXPECT_NE(message.find("cannot be removed"), std::string::npos) << message;
    EXPECT_TRUE(fs::exists(fs::path(error.path()) / "old")) << message;
  }
  EXPECT_EQ(content(root_ / "out" / "new"), "new");
}

TEST_F(OutputDirectoryTest, what_a_link_leads_to_is_replaced) {
  fs::create_directory(root_ / "real");
  std::ofstream(root_ / "real" / "old") << "old";
  fs::create_directory_symlink(root_ / "real", root_ / "link");
  OutputDirectory output(root_ / "link", allow_);
  output.add("new", "new");
  output.publish();
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
  EXPECT_EQ(content(root_ / "real" / "new"), "new");
}

TEST_F(OutputDirectoryTest, refuses_what_is_no_directory) {
  std::ofstream(root_ / "file") << "text";
  EXPECT_THROW(OutputDirectory(root_ / "file", allow_), Error);
  EXPECT_THROW(OutputDirectory(root_ / "none" / "out", allow_), Error);
  EXPECT_THROW(OutputDirectory(".", allow_), Error);
}

}  // namespace
}  // namespace xxl::io
