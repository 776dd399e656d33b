#include "job/job_defaults.h"

#include <gtest/gtest.h>

#include "base/machine_limits.h"
#include "base/units.h"

namespace xxl {
namespace {

TEST(JobDefaults, memory_that_is_asked_for_is_cut_to_that_of_the_machine) {
  EXPECT_EQ(cut_to_machine(kMiB), kMiB);
  EXPECT_LT(cut_to_machine(kUnlimited), physical_memory_bytes());
  EXPECT_GE(cut_to_machine(kUnlimited), kLeastMemoryBytes);
}

}  // namespace
}  // namespace xxl
