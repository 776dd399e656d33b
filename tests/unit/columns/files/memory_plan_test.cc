#include "columns/files/memory_plan.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "xxl/error.h"

namespace xxl {
namespace {

using module_table::Format;

TEST(ColumnMemoryPlan, the_parts_are_the_whole) {
  for (std::uint64_t memory = 64 * kMiB; memory <= 64 * kGiB; memory *= 2) {
    for (const Format format : {Format::parquet, Format::ipc_file}) {
      const ColumnFileMemory plan = plan_column_memory(memory, 5 * kMiB, format, false);
      EXPECT_LE(plan.engine_bytes + plan.module_bytes, memory);
      EXPECT_GE(plan.engine_bytes, memory / 2);
      EXPECT_LE(plan.batches.given_bytes, plan.batches.read_bytes);
      EXPECT_LE(plan.batches.read_bytes, plan.module_bytes);
    }
  }
}

TEST(ColumnMemoryPlan, reading_gets_what_its_row_groups_need) {
  const ColumnFileMemory plan = plan_column_memory(kGiB, 600 * kMiB, Format::parquet, false);
  EXPECT_GE(plan.module_bytes, 600 * kMiB);
}

TEST(ColumnMemoryPlan, what_is_said_to_be_enough_is) {
  for (const std::uint64_t reading : {std::uint64_t{0}, 50 * kMiB, kGiB}) {
    for (const Format format : {Format::parquet, Format::ipc_file}) {
      for (const bool join : {false, true}) {
        std::uint64_t memory = kMiB;
        try {
          plan_column_memory(memory, reading, format, join);
          FAIL();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::no_space);
          const std::string text = error.what();
          const std::size_t at = text.find("files: -S ");
          ASSERT_NE(at, std::string::npos) << text;
          memory = std::stoull(text.substr(at + 10)) * kMiB;
        }
        EXPECT_NO_THROW(plan_column_memory(memory, reading, format, join)) << reading;
        EXPECT_THROW(plan_column_memory(memory - kMiB, reading, format, join), Error) << reading;
      }
    }
  }
}

}  // namespace
}  // namespace xxl
