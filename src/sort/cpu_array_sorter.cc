#include "sort/cpu_array_sorter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/units.h"
#include "sort/counting_sort.h"
#include "sort/key_sorter.h"
#include "sort/scatter.h"

namespace xxl {
namespace {

constexpr std::size_t kBucketBytes = std::size_t{512} << 10;  // of records, or of what stands for
                                                              // them while they are sorted
constexpr std::size_t kItemBytes = 16;
constexpr std::size_t kMostBuckets = 2048;    // that are written to at once
constexpr std::size_t kSampledOfBucket = 32;  // keys sampled for each bucket
constexpr std::size_t kBlockRecords = 4096;   // classified at a time
constexpr std::size_t kStripesOfThread = 4;
constexpr std::size_t kMostStripeRecords = std::size_t{1} << 31;
constexpr std::size_t kCopiedRecords = std::size_t{1} << 18;  // of a bucket, by one thread
constexpr std::uint64_t kSeed = 1;

}  // namespace

void CpuArraySorter::sort(std::span<const std::byte> from, std::span<std::byte> to) {
  const std::size_t record_bytes = layout_.record_bytes();
  XXL_CHECK(from.size() == to.size() && from.size() % record_bytes == 0);
  const Segment records{from.data(), from.size() / record_bytes};
  if (records.count == 0 || sort_by_counting(layout_, from, to, threads_)) return;
  const bool moves_items = layout_.kind() != RecordKind::generic && from.data() != to.data();
  if (!moves_items && room_.size() < from.size()) {
    room_ = {};
    room_ = MemoryRegion(from.size());
  }
  choose_splitters(records);
  std::byte* const room = moves_items ? to.data() : room_.data();
  const std::vector<Bucket> buckets = distribute(records, room);
  buckets_ = room;
  run_numbered(threads_, buckets.size(), [&](unsigned thread, std::size_t number) {
    sort_bucket(buckets[number], thread, to.data());
  });
}

void CpuArraySorter::choose_splitters(const Segment& records) {
  const std::size_t record_bytes = layout_.record_bytes();
  const std::size_t bucket_records = kBucketBytes / std::max(record_bytes, kItemBytes) + 1;
  const std::size_t wanted =
      std::clamp<std::size_t>(records.count / bucket_records, 1, kMostBuckets);
  std::vector<SplitterKey> splitters;
  if (wanted > 1) {
    Random random(kSeed);
    std::vector<SplitterKey> sample(kSampledOfBucket * wanted);
    for (SplitterKey& key : sample) {
      key = splitter_key(layout_, records.records + random.below(records.count) * record_bytes);
    }
    splitters = pick_splitters(std::move(sample), wanted);
    round_splitters(splitters);
  }
  classifier_.set_splitters(std::move(splitters));
}

std::vector<CpuArraySorter::Bucket> CpuArraySorter::distribute(const Segment& records,
                                                               std::byte* to) {
  const std::size_t record_bytes = layout_.record_bytes();
  const std::size_t stripes =
      std::clamp<std::size_t>(records.count / kBlockRecords, 1, kStripesOfThread * threads_) +
      records.count / kMostStripeRecords;
  const std::size_t step = ceil_div(records.count, stripes);
  const auto stripe = [&](std::size_t number) {
    const std::size_t first = std::min(number * step, records.count);
    return Segment{records.records + first * record_bytes, std::min(step, records.count - first)};
  };
  const std::size_t width = classifier_.buckets();
  std::vector<std::uint32_t> counts(stripes * width);
  run_numbered(threads_, stripes, [&](unsigned, std::size_t number) {
    std::uint16_t ids[kBlockRecords];
    for (Segment left = stripe(number); left.count > 0;) {
      const std::size_t count = std::min(left.count, kBlockRecords);
      classifier_.classify({left.records, count}, ids, &counts[number * width]);
      left = {left.records + count * record_bytes, left.count - count};
    }
  });

  std::vector<Bucket> buckets;
  std::vector<std::size_t> places(stripes * width);
  const std::vector<SplitterKey>& splitters = classifier_.splitters();
  std::size_t first = 0, largest = 1;
  for (std::size_t id = 0; id < width; ++id) {
    std::size_t count = 0;
    for (std::size_t number = 0; number < stripes; ++number) {
      places[number * width + id] = first + count;
      count += counts[number * width + id];
    }
    const bool one_key = id > 0 && id + 1 < width && layout_.words() <= kMaxSplitterWords &&
                         successor(splitters[id - 1]) == splitters[id];
    if (!one_key) largest = std::max(largest, count);
    const std::size_t most = one_key ? kCopiedRecords : std::max<std::size_t>(count, 1);
    for (std::size_t done = 0; done < count; done += most) {
      buckets.push_back({first + done, std::min(most, count - done), one_key});
    }
    first += count;
  }
  make_scratch(largest);
  run_numbered(threads_, stripes, [&](unsigned, std::size_t number) {
    distribute(stripe(number), &places[number * width], to);
  });
  return buckets;
}

// Buckets are larger than wanted where an array is hard to sample, or where keys differ only beyond
// what splitters hold. Memory that no such bucket needs is not touched.
void CpuArraySorter::make_scratch(std::size_t records) {
  capacity_ = records;
  const std::size_t bytes = key_sorter_bytes(layout_, records);
  scratch_.resize(threads_);
  for (MemoryRegion& scratch : scratch_) {
    if (scratch.size() < bytes) scratch = MemoryRegion(bytes);
  }
}

// `places`: of each bucket, the number of the record in `to` that the next one becomes.
void CpuArraySorter::distribute(const Segment& records, std::size_t* places, std::byte* to) const {
  const std::size_t record_bytes = layout_.record_bytes();
  std::uint16_t ids[kBlockRecords];
  std::vector<std::uint32_t> counts(classifier_.buckets());  // again, to no purpose
  for (Segment left = records; left.count > 0;) {
    const std::size_t count = std::min(left.count, kBlockRecords);
    classifier_.classify({left.records, count}, ids, counts.data());
    scatter({left.records, count}, record_bytes, ids, places, to);
    left = {left.records + count * record_bytes, left.count - count};
  }
}

void CpuArraySorter::sort_bucket(const Bucket& bucket, unsigned thread, std::byte* to) {
  const std::size_t record_bytes = layout_.record_bytes();
  const Segment records{buckets_ + bucket.first * record_bytes, bucket.count};
  to += bucket.first * record_bytes;
  if (bucket.one_key) {
    if (to != records.records) std::memcpy(to, records.records, bucket.count * record_bytes);
    return;
  }
  const auto sorter = make_key_sorter(layout_, false, capacity_, scratch_[thread].span());
  sorter->sort({&records, 1});
  sorter->write(0, bucket.count, to);
}

}  // namespace xxl
