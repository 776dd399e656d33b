// In which order to fetch the blocks of a merge from several disks.
//
// The prediction sequence says in which order the merge needs its blocks. Fetched in that order,
// neighbours on one disk fill the buffers while other disks are idle; fetched far ahead from every
// disk, blocks that are needed late fill them. The best order follows from a duality (Hutchinson,
// Sanders, Vitter: "Duality between prefetching and queued writing with parallel disks", SIAM J.
// Comput. 2005; Dementiev and Sanders, SPAA'03, section 2.4): reading a sequence with m buffers is
// writing its reverse with m buffers, seen backwards in time. And writing is easy to do well: put
// blocks into the buffers, each queued at its disk, until the buffers are full; then let every disk
// write the head of its queue.
//
// Example: blocks 0..5 on disks A A B A B B, m = 3 buffers. Written in the order 5 4 3 2 1 0:
//
//   step   buffers when full   written   left
//   1      5B 4B 3A            5B 3A     4B
//   2      4B 2B 1A            4B 1A     2B
//   3      2B 0A               2B 0A
//
// Backwards: fetch 0 and 2, then 1 and 4, then 3 and 5: three steps, both disks busy in each. The
// order of need takes four: 0 and 2, then 1 alone (3 waits for the same disk and has the last
// buffer), then 3 and 4, then 5.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace xxl {

// The order in which to issue the fetches: a permutation of the positions of `disk_of`.
// disk_of[i] < `disks` is the disk of the i-th block that the merge needs; `buffer_blocks` >= 1 is
// the number m of blocks that may be issued and not yet used by the merge. At most 2^32 - 1 blocks.
// Blocks may differ: size_of[i] is then what the i-th one takes of the m (none: 1 each). One that
// takes more than m is issued when it is needed next.
//
// Whoever issues in this order whenever one of the m buffers is free
// - never gets stuck: as long as the block needed next has not been issued, a buffer is free;
// - fetches in the smallest possible number of steps, if a step takes at most one block from every
//   disk and all are of one size;
// - reads every disk's blocks in the order of need; with one disk that is the whole schedule.
// Concatenated schedules of consecutive parts of a sequence do not get stuck either, but lose up to
// m / disks steps at each seam.
//
// Takes O(n log disks) time, and O(buffer_blocks) memory beside the result.
std::vector<std::uint32_t> prefetch_schedule(std::span<const std::uint8_t> disk_of, unsigned disks,
                                             std::size_t buffer_blocks,
                                             std::span<const std::uint32_t> size_of = {});

// Of `spare` buffers, those that a merge can do without, how many the schedule should count on; the
// rest lets blocks wait for the merge. `least`: two a disk. The measured rule of Dementiev and
// Sanders, section 5.
inline std::size_t scheduled_buffers(std::size_t spare, std::size_t least) {
  return least + 3 * (spare - std::min(spare, least)) / 10;
}

}  // namespace xxl
