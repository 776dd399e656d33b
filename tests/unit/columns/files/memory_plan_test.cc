#include "columns/files/memory_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "xxl/error.h"

namespace xxl {
namespace {

using module_table::Format;
using module_table::SourceFacts;

ColumnFileMemory plan_sort(std::uint64_t memory_bytes, std::uint64_t reading_bytes, Format format) {
  SourceFacts facts{};
  facts.reading_bytes = reading_bytes;
  return plan_column_memory(memory_bytes, format, {&facts, 1});
}

TEST(ColumnMemoryPlan, the_parts_are_the_whole) {
  for (std::uint64_t memory = 64 * kMiB; memory <= 64 * kGiB; memory *= 2) {
    for (const Format format : {Format::parquet, Format::ipc_file}) {
      const ColumnFileMemory plan = plan_sort(memory, 5 * kMiB, format);
      EXPECT_LE(plan.engine_bytes + plan.module_bytes, memory);
      EXPECT_GE(plan.engine_bytes, memory / 2);
      EXPECT_LE(plan.batches.given_bytes, plan.batches.read_bytes);
      EXPECT_LE(plan.batches.read_bytes, plan.module_bytes);
    }
  }
}

TEST(ColumnMemoryPlan, reading_gets_what_its_row_groups_need) {
  const ColumnFileMemory plan = plan_sort(kGiB, 600 * kMiB, Format::parquet);
  EXPECT_GE(plan.module_bytes, 600 * kMiB);
}

TEST(ColumnMemoryPlan, metadata_of_both_sides_of_a_join_are_in_memory) {
  SourceFacts sides[2] = {};
  sides[0].metadata_bytes = 100 * kMiB;
  sides[1].metadata_bytes = 200 * kMiB;
  sides[1].reading_bytes = 50 * kMiB;
  EXPECT_GE(plan_column_memory(kGiB, Format::parquet, sides).module_bytes, 350 * kMiB);
  const auto of_sort = plan_column_memory(kGiB, Format::parquet, {sides, 1});
  EXPECT_GE(of_sort.module_bytes, 100 * kMiB);
  EXPECT_LT(of_sort.module_bytes, 350 * kMiB);
}

TEST(ColumnMemoryPlan, columns_and_large_rows_count) {
  SourceFacts facts{};
  const auto engine_bytes = [&] {
    return plan_column_memory(4 * kGiB, Format::parquet, {&facts, 1}).engine_bytes;
  };
  const std::uint64_t of_few = engine_bytes();
  facts.columns = 1000;
  EXPECT_LE(engine_bytes(), of_few - 1000 * 32 * kKiB);
  facts.columns = 0;
  facts.row_bytes = facts.all_row_bytes = 200 * kMiB;
  const auto plan = plan_column_memory(4 * kGiB, Format::parquet, {&facts, 1});
  EXPECT_GE(plan.writing_bytes, 5 * facts.row_bytes);
  EXPECT_GE(plan.module_bytes, plan.writing_bytes + 2 * facts.row_bytes);
  EXPECT_THROW(plan_column_memory(kGiB, Format::parquet, {&facts, 1}), Error);
  EXPECT_GE(plan.engine_bytes, facts.row_bytes * 5 / 2);
  facts.all_row_bytes = kGiB;  // several
  EXPECT_THROW(plan_column_memory(2 * kGiB, Format::parquet, {&facts, 1}), Error);
}

TEST(ColumnMemoryPlan, batches_of_many_columns_are_larger) {
  SourceFacts facts{};
  facts.columns = 5000;
  const auto plan = plan_column_memory(8 * kGiB, Format::parquet, {&facts, 1});
  EXPECT_GE(plan.batches.given_bytes, 16 * kMiB);
  EXPECT_LE(plan.batches.given_bytes, plan.batches.read_bytes);
}

TEST(ColumnMemoryPlan, what_is_said_to_be_enough_is) {
  for (const std::uint64_t reading : {std::uint64_t{0}, 50 * kMiB, kGiB}) {
    for (const Format format : {Format::parquet, Format::ipc_file}) {
      for (const std::size_t count : {1, 2}) {
        std::vector<SourceFacts> sources(count, SourceFacts{});
        for (SourceFacts& facts : sources) facts.reading_bytes = reading;
        std::uint64_t memory = kMiB;
        try {
          plan_column_memory(memory, format, sources);
          FAIL();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::no_space);
          const std::string text = error.what();
          constexpr std::string_view kAdvice = "files: memory_bytes = ";
          const std::size_t at = text.find(kAdvice);
          ASSERT_NE(at, std::string::npos) << text;
          memory = std::stoull(text.substr(at + kAdvice.size()));
        }
        EXPECT_NO_THROW(plan_column_memory(memory, format, sources)) << reading;
        EXPECT_THROW(plan_column_memory(memory - kMiB, format, sources), Error) << reading;
      }
    }
  }
}

}  // namespace
}  // namespace xxl
