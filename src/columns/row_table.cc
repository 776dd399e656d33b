#include "columns/row_table.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/units.h"

namespace xxl {
namespace {

constexpr std::uint64_t kBlockBytes = 4 * kMiB;
constexpr std::uint64_t kBlocks = 16;  // at least, of the memory

}  // namespace

std::uint32_t hash_of_key(std::string_view key) {
  return static_cast<std::uint32_t>(XXH3_64bits(key.data(), key.size()));
}

RowTable::RowTable(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

// Buckets: a power of two, between one and two a row.
std::uint64_t RowTable::table_bytes(std::uint64_t rows) {
  return rows * sizeof(StoredRow) +
         std::bit_ceil(std::max<std::uint64_t>(rows, 1)) * sizeof(std::uint32_t);
}

bool RowTable::add(Rows records) {
  std::uint64_t more = 0;
  visit_rows(records, [&](std::string_view) { ++more; });
  const bool fits =
      !blocks_.empty() && blocks_.back().capacity - blocks_.back().bytes >= records.size();
  const std::size_t capacity =
      fits ? 0
           : std::max<std::size_t>(std::min(kBlockBytes, most_bytes_ / kBlocks), records.size());
  if (count_ + more >= kNone ||
      block_bytes_ + capacity + table_bytes(count_ + more) > most_bytes_) {
    return false;
  }
  if (!fits) {
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(capacity), capacity, 0});
    block_bytes_ += capacity;
  }
  Block& block = blocks_.back();
  std::memcpy(block.memory.get() + block.bytes, records.data(), records.size());
  block.bytes += records.size();
  count_ += more;
  return true;
}

void RowTable::give_back(const std::function<void(Rows records)>& put) {
  for (Block& block : std::exchange(blocks_, {})) {
    put({block.memory.get(), block.bytes});
    block.memory.reset();
  }
  block_bytes_ = count_ = 0;
}

// From the last row to the first: each becomes the first of its bucket.
void RowTable::build(const std::function<bool(std::string_view key)>& matches_nothing) {
  entries_.reserve(count_);
  for (const Block& block : blocks_) {
    visit_rows({block.memory.get(), block.bytes}, [this](std::string_view record) {
      entries_.push_back({record.data(), hash_of_key(LeadingKey::key_of(record)), kNone});
    });
  }
  heads_.assign(std::bit_ceil(std::max<std::size_t>(entries_.size(), 1)), kNone);
  mask_ = static_cast<std::uint32_t>(heads_.size() - 1);
  for (std::uint32_t i = rows(); i-- > 0;) {
    const std::string_view key = row(i).key;
    if (matches_nothing(key)) continue;
    if (is_unique_) is_unique_ = find(entries_[i].hash, key) == kNone;
    entries_[i].next = std::exchange(heads_[entries_[i].hash & mask_], i);
  }
}

}  // namespace xxl
