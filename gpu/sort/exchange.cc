#include "gpu/sort/exchange.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

// Swaps of fewer items are not divided between two devices.
constexpr std::uint64_t kLeastDivided = 4096;

// By devices, so that the first devices of both halves swap with each other, the second ones, ...
void order_by_device(std::vector<Fragment>& leaving) {
  std::stable_sort(leaving.begin(), leaving.end(), [](const Fragment& a, const Fragment& b) {
    return a.place.device < b.place.device;
  });
}

// The `count` items of `fragment` from `at` on, which have moved to `place`.
Fragment moved(const Fragment& fragment, std::uint64_t at, std::uint64_t count, ItemPlace place) {
  return {fragment.piece, fragment.first + at, count, place};
}

}  // namespace

void order_fragments(std::vector<Fragment>& fragments) {
  std::sort(fragments.begin(), fragments.end(), [](const Fragment& a, const Fragment& b) {
    return std::tie(a.piece, a.first) < std::tie(b.piece, b.first);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    const Fragment& next = fragments[i];
    if (next.count == 0) continue;
    if (kept > 0) {
      Fragment& last = fragments[kept - 1];
      if (last.piece == next.piece && last.first + last.count == next.first &&
          last.place + last.count == next.place) {
        last.count += next.count;
        continue;
      }
    }
    fragments[kept++] = next;
  }
  fragments.resize(kept);
}

std::uint64_t items_before(std::span<const Fragment> fragments, std::size_t middle) {
  std::uint64_t items = 0;
  for (const Fragment& fragment : fragments) {
    if (fragment.place.device < middle) items += fragment.count;
  }
  return items;
}

Halving halve(std::span<const Fragment> fragments, std::span<const std::uint64_t> cuts,
              std::size_t middle) {
  XXL_CHECK(cuts.size() == fragments.size());
  Halving halving;
  std::vector<Fragment> from_left, from_right;
  std::uint64_t leave_left = 0, leave_right = 0;
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    const Fragment& fragment = fragments[i];
    const std::uint64_t cut = cuts[i];
    XXL_CHECK(cut <= fragment.count);
    const Fragment before = moved(fragment, 0, cut, fragment.place);
    const Fragment behind = moved(fragment, cut, fragment.count - cut, fragment.place + cut);
    if (fragment.place.device < middle) {
      halving.left.push_back(before);
      if (behind.count > 0) from_left.push_back(behind);
      leave_left += behind.count;
    } else {
      halving.right.push_back(behind);
      if (before.count > 0) from_right.push_back(before);
      leave_right += before.count;
    }
  }
  XXL_CHECK(leave_left == leave_right);
  order_by_device(from_left);
  order_by_device(from_right);
  // Walks both lists in parallel; a swap ends where a fragment of either ends.
  std::uint64_t left_done = 0, right_done = 0;  // of the fragments l and r
  for (std::size_t l = 0, r = 0; l < from_left.size();) {
    const Fragment &left = from_left[l], &right = from_right[r];
    const std::uint64_t count = std::min(left.count - left_done, right.count - right_done);
    const Swap swap{left.place + left_done, right.place + right_done, count};
    halving.left.push_back(moved(right, right_done, count, swap.left));
    halving.right.push_back(moved(left, left_done, count, swap.right));
    halving.swaps.push_back(swap);
    left_done += count;
    right_done += count;
    if (left_done == left.count) ++l, left_done = 0;
    if (right_done == right.count) ++r, right_done = 0;
  }
  order_fragments(halving.left);
  order_fragments(halving.right);
  return halving;
}

std::vector<std::vector<Swap>> deal_swaps(std::span<const Swap> swaps, std::size_t devices,
                                          std::uint64_t most_items) {
  XXL_CHECK(most_items > 0);
  std::vector<std::vector<Swap>> parts(devices);
  std::vector<std::uint64_t> load(devices, 0);
  for (const Swap& swap : swaps) {
    const std::uint64_t half = std::max(ceil_div<std::uint64_t>(swap.count, 2), kLeastDivided);
    const std::uint64_t most = std::min(half, most_items);
    for (std::uint64_t done = 0; done < swap.count;) {
      const std::uint64_t count = std::min(most, swap.count - done);
      const std::size_t left = swap.left.device, right = swap.right.device;
      const std::size_t device = load[right] < load[left] ? right : left;
      parts[device].push_back({swap.left + done, swap.right + done, count});
      load[device] += count;
      done += count;
    }
  }
  return parts;
}

}  // namespace xxl::gpu
