#include "gpu/find/find_gpus.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/units.h"

namespace xxl::gpu {
namespace {

using Gpus = std::vector<std::size_t>;

struct Share {
  Gpus gpus;
  unsigned users;

  friend bool operator==(const Share&, const Share&) = default;
};

Share share_of(unsigned number, unsigned processes, Gpus gpus) {
  const unsigned users = take_share(gpus, {number, processes});
  return {gpus, users};
}

TEST(FindGpusTest, gpus_are_dealt_to_processes_none_twice) {
  EXPECT_EQ(share_of(0, 1, {2, 0, 1}), (Share{{2, 0, 1}, 1}));
  EXPECT_EQ(share_of(0, 2, {0, 2, 1, 3}), (Share{{0, 1}, 1}));
  EXPECT_EQ(share_of(1, 2, {0, 2, 1, 3}), (Share{{2, 3}, 1}));
  EXPECT_EQ(share_of(0, 3, {0, 1, 2, 3}), (Share{{0, 3}, 1}));
  EXPECT_EQ(share_of(2, 3, {0, 1, 2, 3}), (Share{{2}, 1}));
}

TEST(FindGpusTest, of_fewer_gpus_than_processes_each_has_one_with_others) {
  EXPECT_EQ(share_of(3, 4, {5}), (Share{{5}, 4}));
  EXPECT_EQ(share_of(0, 5, {0, 1}), (Share{{0}, 3}));
  EXPECT_EQ(share_of(3, 5, {0, 1}), (Share{{1}, 2}));
  EXPECT_EQ(share_of(4, 5, {0, 1}), (Share{{0}, 3}));
}

TEST(FindGpusTest, a_process_takes_the_fewest_of_its_share_that_hold_its_input) {
  const auto found = [](GpuProcess process, std::uint64_t bytes) {
    return find_for_sort([] { return simulated_gpus(4, 64 * kMiB); }, {.process = process})(bytes);
  };
  EXPECT_EQ(found({1, 2}, kMiB).devices.size(), 1u);
  EXPECT_EQ(found({1, 2}, kGiB).devices.size(), 2u);
  EXPECT_EQ(found({1, 2}, kGiB).users, 1u);
  EXPECT_EQ(found({7, 8}, kGiB).devices.size(), 1u);
  EXPECT_EQ(found({7, 8}, kGiB).users, 2u);
}

}  // namespace
}  // namespace xxl::gpu
