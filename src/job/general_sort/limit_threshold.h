// With --limit: a key above which no record is among the first, as the chunks seen so far tell.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "record/key_extractor.h"
#include "sort/string_sort.h"

namespace xxl {

// From any thread. `items` are records of a chunk at `memory` (chunk_record()).
class LimitThreshold {
 public:
  // Leaves out of `items` those above the threshold.
  std::span<StringItem> drop(std::span<StringItem> items, const char* memory,
                             const KeyExtractor& keys) const;

  // Of `items` in order, the first `needed` may be among the first of all, or with `by_groups` the
  // first `needed` groups: the others are not.
  void learn(std::span<const StringItem> items, const char* memory, const KeyExtractor& keys,
             std::uint64_t needed, bool by_groups);

 private:
  mutable std::mutex mutex_;
  std::optional<std::string> key_;  // its first bytes
};

}  // namespace xxl
