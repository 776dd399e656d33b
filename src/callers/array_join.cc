// Joins of arrays (xxl/array.h): pairs of places.
//
// Records stay where they are. What is sorted are *entries*, the words of a record's key
// (record/key_layout.h) and its place in the array:
//
//     array R   c a b c      entries   [c 0][a 1][b 2][c 3]      sorted   [a 1][b 2][c 0][c 3]
//
// Entries of keys of one word are records that GPUs sort directly and join. Longer keys are sorted
// likewise, and then stood for by numbers of the same order, so that the rest is done as for one
// word, on the processors.
//
//     entries --sort--> sorted --number keys--> sorted, one word --match--> parts --> rows
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/partition_index.h"
#include "base/thread.h"
#include "base/units.h"
#include "callers/array_gpus.h"
#include "callers/array_sorting.h"
#include "callers/key_fields.h"
#include "gpu/join/array_join.h"
#include "gpu/join/host_match.h"
#include "job/phase_meter.h"
#include "join/join_kind.h"
#include "join/output_layout.h"
#include "xxl/array.h"

namespace xxl::detail {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kEntryBytes = 2 * kWord;              // of a key of one word
constexpr std::size_t kMadeEntries = std::size_t{1} << 16;  // by a thread at a time
constexpr std::size_t kPartRecords = std::size_t{1} << 16;  // that a processor matches at a time
constexpr std::uint64_t kTaskRows = std::uint64_t{1} << 15;
// Parts of more rows are divided among threads.
constexpr std::uint64_t kLargePartRows = 64 * kTaskRows;
constexpr std::size_t kSlicesOfThread = 4;

std::uint64_t word_at(const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

void write_entry(std::byte* to, std::uint64_t key, std::uint64_t place) {
  std::memcpy(to, &key, sizeof key);
  std::memcpy(to + kWord, &place, sizeof place);
}

RecordFormat entry_format(std::size_t words) {
  RecordFormat format{.name = "entries", .record_bytes = (words + 1) * kWord, .key = {}};
  for (std::size_t i = 0; i < words; ++i) {
    format.key.push_back({.offset = i * kWord, .length = kWord, .type = KeyType::u64});
  }
  return format;
}

// The entries of an array; each of some words and a place.
struct Entries {
  MemoryRegion memory;
  std::size_t count = 0;
  std::size_t bytes = kEntryBytes;  // of an entry

  Entries(std::size_t entries, std::size_t entry_bytes)
      : memory(std::max<std::size_t>(entries * entry_bytes, 1)),
        count(entries),
        bytes(entry_bytes) {}
  const std::byte* at(std::size_t i) const { return memory.data() + i * bytes; }
  std::span<std::byte> span() const { return memory.span().first(count * bytes); }
  std::uint64_t place(std::size_t i) const { return word_at(at(i + 1) - kWord); }
};

Entries make_entries(const JoinedArray& array, const KeyLayout& layout, unsigned threads) {
  Entries entries(array.records.size() / array.record_bytes, (layout.words() + 1) * kWord);
  run_numbered(threads, ceil_div(entries.count, kMadeEntries), [&](unsigned, std::size_t number) {
    const std::size_t end = std::min((number + 1) * kMadeEntries, entries.count);
    for (std::size_t i = number * kMadeEntries; i < end; ++i) {
      const std::byte* const record = array.records.data() + i * array.record_bytes;
      std::byte* to = entries.memory.data() + i * entries.bytes;
      for (std::size_t word = 0; word < layout.words(); ++word, to += kWord) {
        const std::uint64_t value = layout.word(record, word);
        std::memcpy(to, &value, sizeof value);
      }
      std::memcpy(to, &i, sizeof i);
    }
  });
  return entries;
}

// --- numbers in place of keys of several words ---

int compare(const std::byte* a, const std::byte* b, std::size_t words) {
  for (; words > 0; --words, a += kWord, b += kWord) {
    const std::uint64_t x = word_at(a), y = word_at(b);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

// The first entry whose key is not less than that of `key`.
std::size_t lower_bound(const Entries& entries, const std::byte* key, std::size_t words) {
  return partition_index(0, entries.count, [&](std::size_t entry) {
    return compare(entries.at(entry), key, words) < 0;
  });
}

// Entries of one word in the same order: the number of a key is that of the entries of both sides
// before it.
std::pair<Entries, Entries> number_keys(const Entries& r, const Entries& s, unsigned threads) {
  const std::size_t words = r.bytes / kWord - 1;
  std::pair numbered{Entries(r.count, kEntryBytes), Entries(s.count, kEntryBytes)};
  // Slices of the larger side, which begin with a key, and what belongs to them of the other.
  const Entries& larger = r.count > s.count ? r : s;
  const std::size_t slices = kSlicesOfThread * threads;
  const auto cut = [&](std::size_t slice) -> std::pair<std::size_t, std::size_t> {
    if (slice == 0) return {0, 0};
    if (slice == slices) return {r.count, s.count};
    const std::byte* const key = larger.at(larger.count * slice / slices);
    return {lower_bound(r, key, words), lower_bound(s, key, words)};
  };
  if (larger.count == 0) return numbered;
  run_numbered(threads, slices, [&](unsigned, std::size_t slice) {
    auto [i, j] = cut(slice);
    const auto [r_end, s_end] = cut(slice + 1);
    const auto pass_group = [words](const Entries& from, std::size_t& at, std::size_t end,
                                    const std::byte* key, std::uint64_t number, Entries& to) {
      for (; at < end && compare(from.at(at), key, words) == 0; ++at) {
        write_entry(to.memory.data() + at * kEntryBytes, number, from.place(at));
      }
    };
    while (i < r_end || j < s_end) {
      const bool from_s = i == r_end || (j < s_end && compare(s.at(j), r.at(i), words) < 0);
      const std::byte* const key = from_s ? s.at(j) : r.at(i);
      const std::uint64_t number = i + j;
      pass_group(r, i, r_end, key, number, numbered.first);
      pass_group(s, j, s_end, key, number, numbered.second);
    }
  });
  return numbered;
}

// --- rows ---

// The order of rows: where the part begins, and the row in it.
using RowPlace = std::pair<std::uint64_t, std::uint64_t>;
using TakeRows = std::function<void(const RowPlace&, std::vector<index_pair>)>;

class PairWriter {
 public:
  PairWriter(const Entries& r, const Entries& s, const gpu::JoinPart& part, std::uint64_t rows)
      : r_(r), s_(s), part_(part) {
    pairs_.reserve(rows);
  }

  void pairs(std::size_t i, std::size_t first, std::size_t count) {
    const std::uint64_t r = r_.place(part_.first_r + i);
    for (; count > 0; --count, ++first) pairs_.push_back({r, s_.place(part_.first_s + first)});
  }
  void lone_r(std::size_t i) { pairs_.push_back({r_.place(part_.first_r + i), index_pair::kNone}); }
  void lone_s(std::size_t first, std::size_t count) {
    for (; count > 0; --count, ++first) {
      pairs_.push_back({index_pair::kNone, s_.place(part_.first_s + first)});
    }
  }
  std::vector<index_pair> take() { return std::move(pairs_); }

 private:
  const Entries& r_;
  const Entries& s_;
  const gpu::JoinPart& part_;
  std::vector<index_pair> pairs_;
};

// Makes rows of parts.
class Rows {
 public:
  Rows(const Entries& r, const Entries& s, JoinKind kind, const TakeRows& take)
      : r_(r), s_(s), take_(take) {
    const JoinShape shape = shape_of(kind);
    wanted_ = {shape.pairs, shape.matched_r, shape.unmatched_r, shape.unmatched_s};
  }

  // On any thread. Does not throw: finish() does.
  void add(const gpu::MatchedPart& matched) noexcept {
    try {
      {
        std::lock_guard lock(mutex_);
        if (failure_ != nullptr) return;
        counts_.add(matched);
        if (matched.rows(wanted_) > kLargePartRows) {
          keep(matched);
          return;
        }
      }
      for (const gpu::RowTask& task : row_tasks(matched, wanted_, kTaskRows)) write(matched, task);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }

  // When all have been added.
  gpu::JoinCounts finish(unsigned threads) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    for (const Kept& kept : kept_) {
      const gpu::MatchedPart matched = kept.matched();
      const std::vector<gpu::RowTask> tasks = row_tasks(matched, wanted_, kTaskRows);
      run_numbered(threads, tasks.size(),
                   [&](unsigned, std::size_t number) { write(matched, tasks[number]); });
    }
    return counts_;
  }
  std::uint64_t rows() const { return counts_.rows(wanted_); }

 private:
  // A part of many rows.
  struct Kept {
    gpu::JoinPart part;
    std::vector<gpu::MatchRange> ranges;
    std::vector<gpu::TileTotals> totals;

    gpu::MatchedPart matched() const {
      return {part, ranges.empty() ? nullptr : ranges.data(),
              totals.empty() ? nullptr : totals.data()};
    }
  };

  void keep(const gpu::MatchedPart& matched) {
    Kept kept{matched.part, {}, {}};
    if (matched.ranges != nullptr) {
      const std::size_t count = matched.part.r_count();
      kept.ranges.assign(matched.ranges, matched.ranges + count);
      kept.totals.assign(matched.totals, matched.totals + ceil_div(count, gpu::kMatchTile));
    }
    kept_.push_back(std::move(kept));
  }

  void write(const gpu::MatchedPart& matched, const gpu::RowTask& task) const {
    PairWriter writer(r_, s_, matched.part, task.rows);
    give_task_rows(matched, wanted_, task, writer);
    take_({matched.part.first_r + matched.part.first_s, task.first_row}, writer.take());
  }

  const Entries& r_;
  const Entries& s_;
  gpu::WantedRows wanted_;
  const TakeRows& take_;
  std::mutex mutex_;
  gpu::JoinCounts counts_;
  std::vector<Kept> kept_;
  std::exception_ptr failure_;
};

// --- matching ---

void match_on_cpu(const gpu::Relation& r, const gpu::Relation& s, unsigned threads, Rows& rows) {
  std::mutex mutex;
  gpu::JoinCutter cutter(r, s, kPartRecords);
  run_threads(threads, [&](unsigned, const std::atomic<bool>& stop) {
    std::vector<gpu::MatchRange> ranges(2 * kPartRecords);
    std::vector<gpu::TileTotals> totals(ceil_div(ranges.size(), gpu::kMatchTile));
    while (!stop) {
      std::unique_lock lock(mutex);
      const std::optional<gpu::JoinPart> part = cutter.next();
      lock.unlock();
      if (!part) return;
      gpu::MatchedPart matched{*part};
      if (part->needs_search()) {
        gpu::match_sorted(
            part->r_count(), [&](std::size_t i) { return r.key(part->first_r + i); },
            part->s_count(), [&](std::size_t i) { return s.key(part->first_s + i); }, ranges.data(),
            totals.data());
        matched.ranges = ranges.data();
        matched.totals = totals.data();
      }
      rows.add(matched);
    }
  });
}

class Joining {
 public:
  Joining(const JoinedArray& r, const JoinedArray& s, JoinKind kind, const array_options& options,
          const TakeRows& take)
      : kind_(kind),
        asked_(options.device),
        threads_(threads_of(options)),
        gpus_(devices_of(options)),
        take_(take),
        formats_(formats_of(r, s)),
        r_(make_entries(r, KeyLayout(formats_[0]), threads_)),
        s_(make_entries(s, KeyLayout(formats_[1]), threads_)),
        layout_(entry_format(r_.bytes / kWord - 1)) {}

  array_join_report run() {
    if (asked_ == Device::automatic) report_.no_gpu = "processors join faster";
    sort();
    if (layout_.words() > 1) {
      std::tie(r_, s_) = number_keys(r_, s_, threads_);
    }
    Rows rows(r_, s_, kind_, take_);
    match(rows);
    const gpu::JoinCounts counts = rows.finish(threads_);
    report_.rows = rows.rows();
    report_.matched_r = counts.matched_r;
    report_.matched_s = counts.matched_s;
    return report_;
  }

 private:
  // Processors join faster than they and a GPU hand records to each other.
  static array_options devices_of(array_options options) {
    if (options.device == Device::automatic) options.device = Device::cpu;
    return options;
  }
  static std::array<RecordFormat, kJoinSides> formats_of(const JoinedArray& r,
                                                         const JoinedArray& s) {
    std::array<RecordFormat, kJoinSides> formats;
    formats[0] = {.name = "R", .record_bytes = r.record_bytes, .key = key_fields(r.key)};
    formats[1] = {.name = "S", .record_bytes = s.record_bytes, .key = key_fields(s.key)};
    check_compatible(formats);
    return formats;
  }

  // The larger side first: then what it needs is enough for the other.
  void sort() {
    ArraySorting sorting(layout_, gpus_, threads_);
    const bool r_first = r_.count >= s_.count;
    for (const Entries* side : {r_first ? &r_ : &s_, r_first ? &s_ : &r_}) {
      sorting.sort(side->span(), side->span(), report_);
    }
  }

  void match(Rows& rows) {
    const KeyLayout one_word(entry_format(1));
    if (layout_.words() == 1 && gpus_.required()) {
      gpus_.wanted(0, report_.no_gpu);  // finds them
      gpu::ArrayJoiner joiner(
          gpus_.apart(), one_word, one_word,
          gpu::ArrayJoinOptions{.memory_bytes = gpus_.memory_bytes(), .threads = threads_});
      joiner.matches(r_.span(), s_.span(),
                     [&rows](const gpu::MatchedPart& part) { rows.add(part); });
      return report_use(report_, gpus_.apart());
    }
    const gpu::RecordShape shape = gpu::joinable_shape(one_word);
    match_on_cpu({shape, r_.memory.data(), r_.count}, {shape, s_.memory.data(), s_.count}, threads_,
                 rows);
    report_use(report_, "cpu");
  }

  JoinKind kind_;
  Device asked_;
  unsigned threads_;
  ArrayGpus gpus_;
  const TakeRows& take_;
  std::array<RecordFormat, kJoinSides> formats_;
  Entries r_, s_;
  const KeyLayout layout_;  // of entries
  array_join_report report_;
};

array_join_report run_join(const JoinedArray& r, const JoinedArray& s, JoinKind kind,
                           const array_options& options, const TakeRows& take) {
  const auto start = std::chrono::steady_clock::now();
  array_join_report report = Joining(r, s, kind, options, take).run();
  report.seconds = seconds_since(start);
  return report;
}

}  // namespace

array_join_report join(const JoinedArray& r, const JoinedArray& s, JoinKind kind,
                       const array_options& options, const TakePairs& take) {
  return run_join(r, s, kind, options,
                  [&take](const RowPlace&, const std::vector<index_pair>& pairs) { take(pairs); });
}

array_join join(const JoinedArray& r, const JoinedArray& s, JoinKind kind,
                const array_options& options) {
  std::mutex mutex;
  std::vector<std::pair<RowPlace, std::vector<index_pair>>> pieces;
  const auto start = std::chrono::steady_clock::now();
  array_join result;
  result.report =
      run_join(r, s, kind, options, [&](const RowPlace& place, std::vector<index_pair> pairs) {
        std::lock_guard lock(mutex);
        pieces.emplace_back(place, std::move(pairs));
      });
  std::sort(pieces.begin(), pieces.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  result.pairs.reserve(result.report.rows);
  for (auto& [place, pairs] : pieces) {
    result.pairs.insert(result.pairs.end(), pairs.begin(), pairs.end());
    pairs = {};
  }
  result.report.seconds = seconds_since(start);
  return result;
}

}  // namespace xxl::detail
