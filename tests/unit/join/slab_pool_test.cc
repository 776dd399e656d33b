#include "join/slab_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

class SlabPoolTest : public testing::Test {
 protected:
  static constexpr std::size_t kSlabs = 100;
  static constexpr std::size_t kSlabBytes = 300;

  std::vector<SlabId> chain(SlabId head) const {
    std::vector<SlabId> slabs;
    for (SlabId slab = head; slab != kNoSlab; slab = pool_.next(slab)) slabs.push_back(slab);
    return slabs;
  }

  std::vector<std::byte> memory_{SlabPool::memory_bytes(kSlabs, kSlabBytes)};
  SlabPool pool_{memory_, kSlabBytes};
};

TEST_F(SlabPoolTest, has_at_least_the_slabs_that_its_memory_was_sized_for) {
  EXPECT_GE(pool_.count(), kSlabs);
  for (const std::size_t slab_bytes : {1u, 2u, 3u, 99u, 4096u}) {
    for (const std::size_t slabs : {1u, 2u, 77u}) {
      std::vector<std::byte> memory(SlabPool::memory_bytes(slabs, slab_bytes));
      SlabPool pool(memory, slab_bytes);
      ASSERT_GE(pool.count(), slabs);
      SlabId last = pool.take(pool.count(), kNoSlab);
      while (pool.next(last) != kNoSlab) last = pool.next(last);
      ASSERT_LE(pool.data(last) + slab_bytes, memory.data() + memory.size());
    }
  }
}

TEST_F(SlabPoolTest, slabs_of_a_chain_are_distinct_and_do_not_overlap) {
  const auto slabs = chain(pool_.take(kSlabs, kNoSlab));
  ASSERT_EQ(slabs.size(), kSlabs);
  std::set<std::byte*> places;
  for (const SlabId slab : slabs) {
    places.insert(pool_.data(slab));
    std::fill_n(pool_.data(slab), kSlabBytes, static_cast<std::byte>(slab));
  }
  ASSERT_EQ(places.size(), kSlabs);
  EXPECT_EQ(chain(slabs.front()), slabs);  // the links lie elsewhere
  for (const SlabId slab : slabs) {
    EXPECT_EQ(pool_.data(slab)[0], static_cast<std::byte>(slab));
    EXPECT_EQ(pool_.data(slab)[kSlabBytes - 1], static_cast<std::byte>(slab));
  }
}

TEST_F(SlabPoolTest, take_appends_to_a_chain) {
  const SlabId head = pool_.take(2, kNoSlab);
  const SlabId more = pool_.take(3, chain(head).back());
  const auto slabs = chain(head);
  ASSERT_EQ(slabs.size(), 5u);
  EXPECT_EQ(slabs[2], more);
}

TEST_F(SlabPoolTest, takes_all_or_nothing) {
  const std::size_t all = pool_.count();
  EXPECT_EQ(pool_.take(all + 1, kNoSlab), kNoSlab);
  const SlabId head = pool_.take(all, kNoSlab);
  EXPECT_EQ(pool_.take(1, chain(head).back()), kNoSlab);
  EXPECT_EQ(chain(head).size(), all);
}

TEST_F(SlabPoolTest, slabs_given_back_are_used_before_others_are_touched) {
  const SlabId head = pool_.take(12, kNoSlab);
  std::set<SlabId> used;
  for (const SlabId slab : chain(head)) used.insert(slab);
  pool_.give_back(head);
  for (const SlabId slab : chain(pool_.take(12, kNoSlab))) EXPECT_TRUE(used.contains(slab));
}

TEST_F(SlabPoolTest, threads_never_share_a_slab) {
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([this, seed] {
      Random random(seed);
      for (int i = 0; i < 2000; ++i) {
        const SlabId head = pool_.take(1 + random.below(20), kNoSlab);
        if (head == kNoSlab) continue;
        for (const SlabId slab : chain(head)) {
          std::fill_n(pool_.data(slab), kSlabBytes, static_cast<std::byte>(seed));
        }
        for (const SlabId slab : chain(head)) {
          ASSERT_EQ(std::count(pool_.data(slab), pool_.data(slab) + kSlabBytes,
                               static_cast<std::byte>(seed)),
                    static_cast<std::ptrdiff_t>(kSlabBytes));
        }
        pool_.give_back(head);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(chain(pool_.take(pool_.count(), kNoSlab)).size(), pool_.count());
}

}  // namespace
}  // namespace xxl
