#include "job/general_sort/limit_threshold.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "merge/merge_source.h"

namespace xxl {
namespace {

constexpr std::size_t kMostBytes = 4096;  // of a key; records that agree in these are kept

}  // namespace

std::span<StringItem> LimitThreshold::drop(std::span<StringItem> items, const char* memory,
                                           const KeyExtractor& keys) const {
  std::string threshold;
  {
    std::lock_guard lock(mutex_);
    if (!key_) return items;
    threshold = *key_;
  }
  std::string made;
  std::size_t kept = 0;
  for (const StringItem& item : items) {
    const std::string_view record = chunk_record(memory, item.place());
    const std::string_view key =
        key_of(keys, record, std::min(threshold.size() + 1, kMostBytes), made);
    if (key.substr(0, kMostBytes) <= threshold) items[kept++] = item;
  }
  return items.first(kept);
}

void LimitThreshold::learn(std::span<const StringItem> items, const char* memory,
                           const KeyExtractor& keys, std::uint64_t needed, bool by_groups) {
  if (needed == 0) return;
  std::uint64_t seen = 0;
  for (const StringItem& item : items) {
    if (by_groups && item.same_key()) continue;
    if (++seen < needed) continue;
    std::string key;
    keys.append_key(chunk_record(memory, item.place()), kMostBytes, key);
    key.resize(std::min(key.size(), kMostBytes));
    std::lock_guard lock(mutex_);
    if (!key_ || key < *key_) key_ = std::move(key);
    return;
  }
}

}  // namespace xxl
