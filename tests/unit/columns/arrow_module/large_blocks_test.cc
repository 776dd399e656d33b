#include "columns/arrow_module/large_blocks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "base/random.h"
#include "base/units.h"

namespace xxl::arrow_module {
namespace {

constexpr std::size_t kLeast = LargeBlocks::kLeastBytes;

TEST(LargeBlocks, what_was_given_back_is_taken_again) {
  LargeBlocks blocks;
  blocks.keep_at_most(kMiB);
  void* const block = blocks.take(3 * kLeast);
  blocks.give(block);
  EXPECT_EQ(blocks.take(3 * kLeast - 5000), block);
  blocks.give(block);
  void* const smaller = blocks.take(kLeast);  // too little of it would be used
  EXPECT_NE(smaller, block);
  blocks.give(smaller);
}

TEST(LargeBlocks, no_more_is_kept_than_is_allowed) {
  LargeBlocks blocks;
  blocks.keep_at_most(2 * kMiB);
  std::vector<void*> all;
  for (int i = 0; i < 8; ++i) all.push_back(blocks.take(kMiB));
  for (void* const block : all) blocks.give(block);
  EXPECT_EQ(blocks.kept_bytes(), 2 * kMiB);
  blocks.keep_at_most(kMiB + kMiB / 2);
  EXPECT_EQ(blocks.kept_bytes(), kMiB);
  blocks.keep_at_most(0);
  EXPECT_EQ(blocks.kept_bytes(), 0U);
}

TEST(LargeBlocks, content_survives_any_change_of_size) {
  LargeBlocks blocks;
  blocks.keep_at_most(8 * kMiB);
  struct Used {
    std::size_t bytes;
    int value;
  };
  std::map<std::byte*, Used> used;
  Random random(1);
  const auto is_whole = [](const std::byte* block, const Used& use, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 997) {
      if (block[i] != static_cast<std::byte>(use.value)) return false;
    }
    return true;
  };
  for (int step = 0; step < 2000; ++step) {
    const std::size_t bytes = kLeast + random.below(kMiB);
    if (used.size() < 8) {
      auto* const block = static_cast<std::byte*>(blocks.take(bytes));
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0U);
      ASSERT_FALSE(used.contains(block));
      std::memset(block, step % 256, bytes);
      used[block] = {bytes, step % 256};
      continue;
    }
    auto it = used.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random.below(used.size())));
    auto [block, use] = *it;
    used.erase(it);
    ASSERT_TRUE(is_whole(block, use, use.bytes));
    if (random.below(2) == 0) {
      blocks.give(block);
      continue;
    }
    auto* const moved = static_cast<std::byte*>(blocks.resize(block, use.bytes, bytes));
    ASSERT_NE(moved, nullptr);
    ASSERT_TRUE(is_whole(moved, use, std::min(bytes, use.bytes)));
    std::memset(moved, use.value, bytes);
    used[moved] = {bytes, use.value};
  }
  for (const auto& [block, use] : used) blocks.give(block);
}

}  // namespace
}  // namespace xxl::arrow_module
