#include "base/memory_name.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace xxl {
namespace {

class MemoryNameTest : public ::testing::Test {
 protected:
  ~MemoryNameTest() override { set_memory_name(MemoryName::member); }
};

TEST_F(MemoryNameTest, of_cpp_is_the_member) {
  EXPECT_EQ(memory_name(), "memory_bytes");
  EXPECT_EQ(memory_given(8 * kMiB), "memory_bytes (8 MiB)");
  EXPECT_EQ(memory_of_name(8 * kMiB), "memory_bytes (8 MiB)");
  EXPECT_EQ(memory_to_give(8 * kMiB - 1), "memory_bytes = 8388608");
}

TEST_F(MemoryNameTest, of_a_program_is_its_option) {
  set_memory_name(MemoryName::option);
  EXPECT_EQ(memory_name(), "-S");
  EXPECT_EQ(memory_given(8 * kMiB), "-S 8 MiB");
  EXPECT_EQ(memory_of_name(8 * kMiB), "the memory of -S (8 MiB)");
  EXPECT_EQ(memory_to_give(8 * kMiB - 1), "-S 8M");
}

TEST_F(MemoryNameTest, of_python_is_its_argument) {
  set_memory_name(MemoryName::argument);
  EXPECT_EQ(memory_name(), "memory=");
  EXPECT_EQ(memory_given(8 * kMiB), "memory=8 MiB");
  EXPECT_EQ(memory_of_name(8 * kMiB), "memory= (8 MiB)");
  EXPECT_EQ(memory_to_give(8 * kMiB - 1), "memory=8M");
}

}  // namespace
}  // namespace xxl
