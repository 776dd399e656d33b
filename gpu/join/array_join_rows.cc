#include "gpu/join/array_join_rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "base/units.h"
#include "gpu/join/row_stream.h"

namespace xxl::gpu {
namespace {

// Rows of the records of R in a tile and of the lone S before them; those after the last R belong
// to it.
std::uint64_t rows_of_tile(const MatchedPart& part, const WantedRows& wanted, std::size_t tile) {
  const TileTotals& sum = part.totals[tile];
  const std::size_t first = tile * kMatchTile;
  const std::size_t end = std::min(first + kMatchTile, part.part.r_count());
  std::uint64_t rows = 0;
  if (wanted.pairs) rows += sum.pairs;
  if (wanted.matched_r) rows += sum.matched_r;
  if (wanted.lone_r) rows += end - first - sum.matched_r;
  if (wanted.lone_s) {
    const std::size_t s_end = end == part.part.r_count() ? part.part.s_count() : sum.s_end;
    rows += s_end - (tile == 0 ? 0 : part.totals[tile - 1].s_end) - sum.matched_s;
  }
  return rows;
}

// Writes rows of one layout; the sizes are constants, so that each row takes a few moves.
template <unsigned kKey, unsigned kValueR, unsigned kValueS>
class Writer {
 public:
  Writer(const Relation& r, const Relation& s, const JoinPart& part, const RowFormat& format,
         std::byte* to)
      : r_bytes_(r.shape.record_bytes),
        s_bytes_(s.shape.record_bytes),
        r_(r.records + part.first_r * r_bytes_),
        s_(s.records + part.first_s * s_bytes_),
        missing_(format.missing),
        rows_(to) {}
  ~Writer() { rows_.flush(); }

  void pairs(std::size_t i, std::size_t first, std::size_t count) {
    const std::byte* const r = r_ + i * r_bytes_;
    const std::byte* s = s_ + first * s_bytes_;
    for (; count > 0; --count, s += s_bytes_) put(r, r + kKey, s + kKey);
  }
  void lone_r(std::size_t i) {
    const std::byte* const r = r_ + i * r_bytes_;
    put(r, r + kKey, missing());
  }
  void lone_s(std::size_t first, std::size_t count) {
    const std::byte* s = s_ + first * s_bytes_;
    for (; count > 0; --count, s += s_bytes_) put(s, missing(), s + kKey);
  }

 private:
  const std::byte* missing() const { return reinterpret_cast<const std::byte*>(&missing_); }

  void put(const std::byte* key, const std::byte* r_value, const std::byte* s_value) {
    std::byte* const row = rows_.row(kKey + kValueR + kValueS);
    std::memcpy(row, key, kKey);
    if constexpr (kValueR != 0) std::memcpy(row + kKey, r_value, kValueR);
    if constexpr (kValueS != 0) std::memcpy(row + kKey + kValueR, s_value, kValueS);
  }

  std::size_t r_bytes_, s_bytes_;
  const std::byte *r_, *s_;
  std::uint64_t missing_;
  RowStream rows_;
};

// Combines (end_r, rows) ranges into tasks.
class TaskList {
 public:
  explicit TaskList(std::uint64_t rows) : rows_(rows) {}

  // The records of R up to `end_r` have `rows` rows.
  void add(std::size_t end_r, std::uint64_t rows) {
    if (rows > 2 * rows_) {
      finish();
      const std::uint64_t parts = ceil_div(rows, rows_);
      for (std::uint64_t p = 0; p < parts; ++p) {
        const std::uint64_t skip = rows / parts * p;
        task_ = {first_r_, end_r, skip, p + 1 == parts ? rows - skip : rows / parts, first_row_};
        finish();
      }
      first_r_ = end_r;
      return;
    }
    if (task_.rows == 0) task_ = {first_r_, end_r, 0, 0, first_row_};
    task_.end_r = end_r;
    task_.rows += rows;
    first_r_ = end_r;
    if (task_.rows >= rows_) finish();
  }
  std::vector<RowTask> take() {
    finish();
    return std::move(tasks_);
  }

 private:
  void finish() {
    if (task_.rows != 0) tasks_.push_back(task_);
    first_row_ += task_.rows;
    task_ = {};
  }

  std::uint64_t rows_;
  std::vector<RowTask> tasks_;
  RowTask task_;
  std::size_t first_r_ = 0;
  std::uint64_t first_row_ = 0;
};

}  // namespace

RowFormat RowFormat::of(const RecordShape& r, const RecordShape& s, const WantedRows& wanted,
                        std::uint64_t missing) {
  RowFormat format;
  format.key_bytes = r.item.key_bytes;
  format.r_value_bytes = r.item.value_bytes;
  format.s_value_bytes = wanted.has_s() ? s.item.value_bytes : 0;
  format.missing = missing;
  return format;
}

TileTotals MatchedPart::sum() const {
  TileTotals sum;
  if (totals != nullptr) {
    for (std::size_t tile = 0; tile < ceil_div(part.r_count(), kMatchTile); ++tile) {
      sum.pairs += totals[tile].pairs;
      sum.matched_r += totals[tile].matched_r;
      sum.matched_s += totals[tile].matched_s;
    }
  }
  return sum;
}

std::uint64_t MatchedPart::rows(const WantedRows& wanted) const {
  JoinCounts counts;
  counts.add(*this);
  return counts.rows(wanted);
}

void JoinCounts::add(const MatchedPart& part) {
  const std::uint64_t r = part.part.r_count(), s = part.part.s_count();
  if (!part.part.needs_search()) {
    const bool matches = r != 0 && s != 0;
    pairs += r * s;
    (matches ? matched_r : lone_r) += r;
    (matches ? matched_s : lone_s) += s;
    return;
  }
  const TileTotals sum = part.sum();
  pairs += sum.pairs;
  matched_r += sum.matched_r;
  matched_s += sum.matched_s;
  lone_r += r - sum.matched_r;
  lone_s += s - sum.matched_s;
}

std::uint64_t JoinCounts::rows(const WantedRows& wanted) const {
  return (wanted.pairs ? pairs : 0) + (wanted.matched_r ? matched_r : 0) +
         (wanted.lone_r ? lone_r : 0) + (wanted.lone_s ? lone_s : 0);
}

std::vector<RowTask> row_tasks(const MatchedPart& matched, const WantedRows& wanted,
                               std::uint64_t rows) {
  const JoinPart& part = matched.part;
  const std::size_t r_count = part.r_count();
  TaskList tasks(rows);
  if (matched.ranges == nullptr) {
    // Each R has as many rows as any other.
    const std::uint64_t all = matched.rows(wanted);
    if (all == 0) return {};
    const std::uint64_t each = r_count == 0 ? all : all / r_count;
    const std::size_t step =
        r_count == 0 ? 1 : static_cast<std::size_t>(std::max<std::uint64_t>(rows / each, 1));
    std::size_t i = 0;
    do {
      const std::size_t end = std::min(i + step, r_count);
      tasks.add(end, r_count == 0 ? all : each * (end - i));
      i = end;
    } while (i < r_count);
    return tasks.take();
  }
  for (std::size_t first = 0; first < r_count; first += kMatchTile) {
    const std::size_t end = std::min(first + kMatchTile, r_count);
    tasks.add(end, rows_of_tile(matched, wanted, first / kMatchTile));
  }
  return tasks.take();
}

std::vector<std::uint64_t> tile_rows(const MatchedPart& part, const WantedRows& wanted) {
  std::vector<std::uint64_t> rows = {0};
  for (std::size_t tile = 0; tile < ceil_div(part.part.r_count(), kMatchTile); ++tile) {
    rows.push_back(rows.back() + rows_of_tile(part, wanted, tile));
  }
  return rows;
}

void write_task_rows(const Relation& r, const Relation& s, const MatchedPart& part,
                     const WantedRows& wanted, const RowFormat& format, const RowTask& task,
                     std::byte* to) {
  XXL_CHECK(format.key_bytes == 4 || format.key_bytes == 8);
  const auto write = [&](auto key, auto r_value, auto s_value) {
    Writer<key, r_value, s_value> writer(r, s, part.part, format, to);
    give_task_rows(part, wanted, task, writer);
  };
  const auto write_with_key = [&](auto key) {
    constexpr std::integral_constant<unsigned, 0> kNone;
    if (format.r_value_bytes != 0) {
      format.s_value_bytes != 0 ? write(key, key, key) : write(key, key, kNone);
    } else {
      format.s_value_bytes != 0 ? write(key, kNone, key) : write(key, kNone, kNone);
    }
  };
  if (format.key_bytes == 4) {
    write_with_key(std::integral_constant<unsigned, 4>());
  } else {
    write_with_key(std::integral_constant<unsigned, 8>());
  }
}

}  // namespace xxl::gpu
