#include "base/extents.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"

namespace xxl {
namespace {

TEST(Extents, what_is_taken_is_aligned_and_never_overlaps) {
  MemoryRegion memory(kMiB);
  Extents extents;
  extents.add(memory.span().first(300 * kKiB));
  extents.add(memory.span().subspan(400 * kKiB, 200 * kKiB + 100));  // the odd bytes are left out
  EXPECT_EQ(extents.total_bytes(), 500 * kKiB);
  Random random(5);
  std::map<std::byte*, std::size_t> taken;
  std::size_t used = 0;
  for (int round = 0; round < 20000; ++round) {
    if (random.below(2) == 0 && !taken.empty()) {
      auto it = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random.below(taken.size())));
      extents.give_back(it->first, it->second);
      used -= round_up(it->second, kSectorBytes);
      taken.erase(it);
      continue;
    }
    const std::size_t bytes = 1 + random.below(60 * kKiB);
    std::byte* const start = extents.take(bytes);
    if (start == nullptr) continue;
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(start) % kSectorBytes, 0u);
    const auto next = taken.lower_bound(start);
    if (next != taken.end()) {
      ASSERT_LE(start + bytes, next->first);
    }
    if (next != taken.begin()) {
      ASSERT_LE(std::prev(next)->first + std::prev(next)->second, start);
    }
    taken[start] = bytes;
    used += round_up(bytes, kSectorBytes);
    ASSERT_EQ(extents.free_bytes(), extents.total_bytes() - used);
  }
  for (const auto& [start, bytes] : taken) extents.give_back(start, bytes);
  // Joined again: each span can be taken whole.
  EXPECT_NE(extents.take(300 * kKiB), nullptr);
  EXPECT_NE(extents.take(200 * kKiB), nullptr);
  EXPECT_EQ(extents.take(1), nullptr);
}

TEST(Extents, neighbouring_spans_become_one) {
  MemoryRegion memory(64 * kKiB);
  Extents extents;
  extents.add(memory.span().first(32 * kKiB));
  extents.add(memory.span().subspan(32 * kKiB));
  EXPECT_NE(extents.take(64 * kKiB), nullptr);
}

}  // namespace
}  // namespace xxl
