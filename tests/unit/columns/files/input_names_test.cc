#include "columns/files/input_names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "xxl/error.h"

namespace xxl {
namespace {

using module_table::Format;
using Names = std::vector<std::string>;

class InputNames : public ::testing::Test {
 protected:
  InputNames() {
    std::string name = std::filesystem::temp_directory_path() / "xxl-names-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~InputNames() override { std::filesystem::remove_all(root_); }

  std::string make(const std::string& name) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.string();
  }
  Names expand(const std::string& name, Format format = Format::parquet) const {
    return expand_inputs({name}, format);
  }

  std::filesystem::path root_;
};

TEST_F(InputNames, names_stay_as_they_are) {
  const Names names{"-", "b", "a", "a"};
  EXPECT_EQ(expand_inputs(names, Format::parquet), names);
}

TEST_F(InputNames, a_directory_is_its_data_files_by_name) {
  const Names parts{make("d/10.parquet"), make("d/2.pq"), make("d/sub/1.parquet")};
  make("d/_SUCCESS");
  make("d/_temporary/3.parquet");
  make("d/.hidden.parquet");
  make("d/notes.txt");
  EXPECT_EQ(expand(root_ / "d"), parts);
  EXPECT_EQ(expand(root_ / "d/"),
            (Names{root_ / "d/10.parquet", root_ / "d/2.pq", root_ / "d/sub/1.parquet"}));
  EXPECT_THROW(expand(root_ / "d", Format::ipc_file), Error);
  const std::string stream = make("d/x.arrows");
  EXPECT_EQ(expand(root_ / "d", Format::ipc_file), Names{stream});
}

TEST_F(InputNames, a_pattern_is_the_files_that_fit) {
  const Names files{make("p1"), make("p2")};
  make("q1");
  EXPECT_EQ(expand(root_ / "p*"), files);
  EXPECT_THROW(expand(root_ / "z*"), Error);
}

TEST_F(InputNames, a_name_that_looks_like_a_pattern_but_is_a_file) {
  make("p1");
  const std::string file = make("p[1]");
  EXPECT_EQ(expand(file), Names{file});
}

}  // namespace
}  // namespace xxl
