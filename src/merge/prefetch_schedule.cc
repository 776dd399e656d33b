#include "merge/prefetch_schedule.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace xxl {

std::vector<std::uint32_t> prefetch_schedule(std::span<const std::uint8_t> disk_of, unsigned disks,
                                             std::size_t buffer_blocks,
                                             std::span<const std::uint32_t> size_of) {
  XXL_CHECK(disks >= 1);
  XXL_CHECK(buffer_blocks >= 1);
  XXL_CHECK(disk_of.size() <= std::numeric_limits<std::uint32_t>::max());
  XXL_CHECK(size_of.empty() || size_of.size() == disk_of.size());

  std::vector<std::uint32_t> order(disk_of.size());
  if (disks == 1) {
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    return order;
  }

  // Time runs backwards: blocks come from the end of the sequence, and `order` is filled from its
  // end.
  const auto size = [&](std::size_t block) -> std::size_t {
    return size_of.empty() ? 1 : size_of[block];
  };
  std::vector<std::deque<std::uint32_t>> queues(disks);
  std::size_t buffered = 0;
  std::size_t unwritten = disk_of.size();  // blocks that have not come yet
  std::size_t end = order.size();          // order[end..] is done
  while (end > 0) {
    while (unwritten > 0 && (buffered == 0 || buffered + size(unwritten - 1) <= buffer_blocks)) {
      const std::uint8_t disk = disk_of[--unwritten];
      XXL_CHECK(disk < disks);
      buffered += size(unwritten);
      queues[disk].push_back(static_cast<std::uint32_t>(unwritten));
    }
    const std::size_t step_end = end;
    for (std::deque<std::uint32_t>& queue : queues) {
      if (queue.empty()) continue;
      order[--end] = queue.front();
      buffered -= size(queue.front());
      queue.pop_front();
    }
    // Blocks of one step may be issued in any order; the ones needed first come first.
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(end),
              order.begin() + static_cast<std::ptrdiff_t>(step_end));
  }
  return order;
}

}  // namespace xxl
