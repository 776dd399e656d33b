// Rows in memory, found by their keys: the table of a hash join.
//
//   heads     of each bucket, the number of its first row      [ 3 | - | 1 | - ]
//   entries   of each row: where it is, its hash, the next one of its bucket
//   blocks    the rows, as they were added (columns/row_format.h)
//
// Rows of a bucket are in the order in which they were added.
//
// Source: Lutz et al., "Pump Up the Volume" (SIGMOD 2020), section 5.1 (no-partitioning hash join).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "record/caller_keys.h"
#include "record/text_records.h"

namespace xxl {

// The parts of a record of a row.
struct RowParts {
  std::string_view key;
  const std::byte* values;
  std::size_t value_bytes;
};
inline RowParts parts_of_row(std::string_view record) {
  const std::string_view key = LeadingKey::key_of(record);
  const char* const values = key.data() + key.size();
  return {key, reinterpret_cast<const std::byte*>(values),
          static_cast<std::size_t>(record.data() + record.size() - values)};
}
// Calls visit(record) for each of some records.
template <class Visit>
void visit_rows(std::span<const std::byte> records, Visit&& visit) {
  visit_counted({reinterpret_cast<const char*>(records.data()), records.size()},
                [&](std::string_view record) {
                  visit(record);
                  return true;
                });
}
std::uint32_t hash_of_key(std::string_view key);

class RowTable {
 public:
  using Rows = std::span<const std::byte>;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Takes at most `most_bytes` of memory.
  explicit RowTable(std::uint64_t most_bytes);

  // Adds whole records, at least one. False, and nothing has changed, if there is no room for them.
  bool add(Rows records);
  // Gives all that was added, in order, and gives back its memory bit by bit.
  void give_back(const std::function<void(Rows records)>& put);

  // No more are added. Rows of which `matches_nothing` is true are not found.
  void build(const std::function<bool(std::string_view key)>& matches_nothing);

  // --- once it is built ---

  // No two rows that are found have the same key.
  bool is_unique() const { return is_unique_; }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(entries_.size()); }
  // What is likely to be needed by find(): the bucket first, some time later its first row. Always
  // inlined: see base/prefetch.h.
  [[gnu::always_inline]] void prefetch_bucket(std::uint32_t hash) const {
    __builtin_prefetch(&heads_[hash & mask_]);
  }
  [[gnu::always_inline]] void prefetch_entry(std::uint32_t hash) const {
    const std::uint32_t head = heads_[hash & mask_];
    if (head != kNone) __builtin_prefetch(&entries_[head]);
  }
  [[gnu::always_inline]] void prefetch_row(std::uint32_t hash) const {
    const std::uint32_t head = heads_[hash & mask_];
    if (head != kNone) __builtin_prefetch(entries_[head].record);
  }
  // The first row of this key, and the one behind `row`; kNone if there is none.
  std::uint32_t find(std::uint32_t hash, std::string_view key) const {
    return find_from(heads_[hash & mask_], hash, key);
  }
  std::uint32_t find_next(std::uint32_t row, std::string_view key) const {
    return find_from(entries_[row].next, entries_[row].hash, key);
  }
  RowParts row(std::uint32_t number) const {
    const char* const record = entries_[number].record;
    RecordCount bytes;
    std::memcpy(&bytes, record - sizeof(bytes), sizeof(bytes));
    return parts_of_row({record, bytes});
  }

 private:
  struct StoredRow {
    const char* record;  // behind its count
    std::uint32_t hash;
    std::uint32_t next;
  };
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t capacity;
    std::size_t bytes;
  };

  static std::uint64_t table_bytes(std::uint64_t rows);
  std::uint32_t find_from(std::uint32_t row, std::uint32_t hash, std::string_view key) const {
    while (row != kNone && !(entries_[row].hash == hash && this->row(row).key == key)) {
      row = entries_[row].next;
    }
    return row;
  }

  const std::uint64_t most_bytes_;
  std::vector<Block> blocks_;
  std::uint64_t block_bytes_ = 0;  // capacities of all
  std::uint64_t count_ = 0;        // of rows that were added
  std::vector<StoredRow> entries_;
  std::vector<std::uint32_t> heads_;
  std::uint32_t mask_ = 0;
  bool is_unique_ = true;
};

}  // namespace xxl
