// Records that are fetched from memory ahead of their use, where they lie anywhere.
#pragma once

#include <cstddef>

namespace xxl {

inline constexpr std::size_t kPrefetchRecords = 10;  // ahead

// The first bytes of a record: most are not longer. Inlined in any case, as what calls it must be:
// GCC drops calls of functions that do nothing but prefetch.
[[gnu::always_inline]] inline void prefetch_record(const char* record) {
  __builtin_prefetch(record);
  __builtin_prefetch(record + 64);
}

}  // namespace xxl
