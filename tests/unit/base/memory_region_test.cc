// Memory from the operating system.
#include "base/memory_region.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

std::uint64_t mapped_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

int take_all_addresses_but_a_few() {
  constexpr std::size_t kBytes = 64 * kMiB;
  const rlim_t limit = mapped_bytes() + kBytes + kMiB;
  const rlimit addresses{limit, limit};
  if (setrlimit(RLIMIT_AS, &addresses) != 0) return 1;
  const MemoryRegion region(kBytes);
  if (region.size() != kBytes) return 2;
  region.span().front() = region.span().back() = std::byte{1};
  try {
    const MemoryRegion another(kBytes);
    return 3;
  } catch (const Error&) {
    return 0;
  }
}

TEST(MemoryRegionDeathTest, NeedsNoMoreAddressesThanItHasBytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve all addresses";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(take_all_addresses_but_a_few()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace xxl
