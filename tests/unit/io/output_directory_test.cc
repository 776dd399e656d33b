#include "io/output_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

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
};

TEST_F(OutputDirectoryTest, appears_with_all_its_files) {
  OutputDirectory output(root_ / "out");
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
    OutputDirectory output(root_ / "out");
    output.create("a", true);
    output.add("b", "text");
  }
  EXPECT_EQ(names(), 0u);
}

TEST_F(OutputDirectoryTest, an_existing_one_stays_until_it_is_replaced) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "old") << "old";
  OutputDirectory output((root_ / "out").string() + "/");
  EXPECT_TRUE(output.replaces());
  output.add("new", "new");
  EXPECT_EQ(content(root_ / "out" / "old"), "old");
  output.publish();
  EXPECT_FALSE(fs::exists(root_ / "out" / "old"));
  EXPECT_EQ(content(root_ / "out" / "new"), "new");
  EXPECT_EQ(names(), 1u);
}

TEST_F(OutputDirectoryTest, an_empty_one_is_taken) {
  fs::create_directory(root_ / "out");
  OutputDirectory output(root_ / "out");
  EXPECT_FALSE(output.replaces());
  output.add("new", "new");
  output.publish();
  EXPECT_EQ(content(root_ / "out" / "new"), "new");
}

TEST_F(OutputDirectoryTest, one_that_was_filled_meanwhile_is_not_replaced) {
  OutputDirectory output(root_ / "out");
  output.add("new", "new");
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "other") << "other";
  EXPECT_THROW(output.publish(), Error);
  EXPECT_EQ(content(root_ / "out" / "other"), "other");
}

TEST_F(OutputDirectoryTest, what_a_link_leads_to_is_replaced) {
  fs::create_directory(root_ / "real");
  std::ofstream(root_ / "real" / "old") << "old";
  fs::create_directory_symlink(root_ / "real", root_ / "link");
  OutputDirectory output(root_ / "link");
  output.add("new", "new");
  output.publish();
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
  EXPECT_EQ(content(root_ / "real" / "new"), "new");
}

TEST_F(OutputDirectoryTest, refuses_what_is_no_directory) {
  std::ofstream(root_ / "file") << "text";
  EXPECT_THROW(OutputDirectory(root_ / "file"), Error);
  EXPECT_THROW(OutputDirectory(root_ / "none" / "out"), Error);
  EXPECT_THROW(OutputDirectory("."), Error);
}

}  // namespace
}  // namespace xxl::io
