// How many records an input has, and how long they are, as far as that is known before they are
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace xxl {

// Records as scratch has them (stored_records.h).
struct StoredRecords {
  std::uint64_t records = 0;              // about; 0: not known
  std::uint64_t input_bytes = 0;          // that they take in the input
  std::uint64_t bytes = 0;                // that they take with tags and lengths
  std::size_t longest = 0;                // with its tag
  std::optional<std::size_t> tag_growth;  // GeneralSortOptions::tag_growth()
};

}  // namespace xxl
