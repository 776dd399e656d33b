// What the tests of sorting and merging share: record formats, data, an order of keys that owes
// nothing to the library, an oracle, and the files of a whole sort.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "io_test_support.h"
#include "record/group_fold.h"
#include "record/group_selection.h"
#include "record/key_extractor.h"
#include "record/record_fold.h"
#include "record/record_format.h"
#include "sort/segment.h"
#include "watchdog.h"

namespace xxl::test {

// Lines whose key is the line.
class WholeLine final : public KeyExtractor {
 public:
  bool is_whole_record() const override { return true; }
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    key.append(record.substr(0, limit));
  }
};

// "first record of the group*number"
class Counter final : public GroupFold {
 public:
  void begin(std::string_view record) override {
    first_ = record;
    count_ = 1;
  }
  void add(std::string_view) override { ++count_; }
  void finish(std::string& out) override { out += first_ + "*" + std::to_string(count_); }

 private:
  std::string first_;
  std::size_t count_ = 0;
};

// Of records of one key, `last` of the last input, `others` of all others, `least` of that which
// has the fewest: those of the last from the first number to the second are left by `rule`.
inline std::pair<std::size_t, std::size_t> kept_by(GroupRule rule, std::size_t least,
                                                   std::size_t others, std::size_t last) {
  switch (rule) {
    case GroupRule::intersect:
      return {0, std::min<std::size_t>(least, 1)};
    case GroupRule::intersect_all:
      return {0, least};
    case GroupRule::except:
      return {0, others == 0 ? std::min<std::size_t>(last, 1) : 0};
    default:
      return {std::min(others, last), last};
  }
}

using Bytes = std::vector<std::byte>;

// A record format with keys of its own in place of the preset's, if there are any.
inline RecordFormat format_of(std::string_view record,
                              std::initializer_list<std::string_view> keys = {}) {
  RecordFormat format = parse_record_format(record);
  if (keys.size() == 0) return format;
  std::vector<KeyField> fields;
  for (const std::string_view key : keys) fields.push_back(parse_key_field(key, format));
  format.key = std::move(fields);
  return format;
}

// ---- the order of keys, worked out field by field with native numbers ----

inline std::uint64_t field_bits(const std::byte* field, const KeyField& key) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < key.length; ++i) {
    const std::size_t place = key.big_endian ? key.length - 1 - i : i;
    value |= std::to_integer<std::uint64_t>(field[i]) << (8 * place);
  }
  return value;
}

// Ascends with the field; bytes behind the eighth are left out.
inline std::int64_t rank_of_field(const std::byte* field, const KeyField& key) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  if (key.type == KeyType::bytes) {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      first = first << 8 | (i < key.length ? std::to_integer<std::uint64_t>(field[i]) : 0);
    }
    return static_cast<std::int64_t>(first) ^ kLeast;
  }
  const std::uint64_t bits = field_bits(field, key);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(key.length);
  const std::int64_t as_signed = static_cast<std::int64_t>(bits << unused) >> unused;
  switch (key.type) {
    case KeyType::f32:
    case KeyType::f64: {  // totalOrder: sign and magnitude
      const auto magnitude = static_cast<std::int64_t>((bits << (unused + 1)) >> (unused + 1));
      return as_signed < 0 ? -magnitude - 1 : magnitude;
    }
    case KeyType::i8:
    case KeyType::i16:
    case KeyType::i32:
    case KeyType::i64:
      return as_signed;
    default:
      return static_cast<std::int64_t>(bits) ^ kLeast;
  }
}

inline int compare_field(const std::byte* a, const std::byte* b, const KeyField& key) {
  if (key.type == KeyType::bytes) return std::memcmp(a, b, key.length);
  const std::int64_t x = rank_of_field(a, key), y = rank_of_field(b, key);
  return x < y ? -1 : x > y ? 1 : 0;
}

inline int compare_records(const RecordFormat& format, const std::byte* a, const std::byte* b) {
  for (const KeyField& key : format.key) {
    const int order = compare_field(a + key.offset, b + key.offset, key);
    if (order != 0) return key.descending ? -order : order;
  }
  return 0;
}

// ---- the oracle ----

// `records` in stable order; with `unique` the first of each key only.
inline Bytes sorted_records(const RecordFormat& format, const Bytes& records, bool unique = false) {
  const std::size_t size = format.record_bytes;
  struct Ranked {
    std::int64_t rank;  // of the first field: most records differ there
    const std::byte* record;
  };
  const KeyField& first = format.key.front();
  std::vector<Ranked> order;
  order.reserve(records.size() / size);
  for (std::size_t at = 0; at < records.size(); at += size) {
    const std::byte* const record = records.data() + at;
    order.push_back({rank_of_field(record + first.offset, first), record});
  }
  std::stable_sort(order.begin(), order.end(), [&](const Ranked& a, const Ranked& b) {
    if (a.rank != b.rank) return (a.rank < b.rank) != first.descending;
    return compare_records(format, a.record, b.record) < 0;
  });
  if (unique) {
    const auto equal = [&](const Ranked& a, const Ranked& b) {
      return compare_records(format, a.record, b.record) == 0;
    };
    order.erase(std::unique(order.begin(), order.end(), equal), order.end());
  }
  Bytes sorted;
  sorted.reserve(order.size() * size);
  for (const auto& [rank, record] : order) sorted.insert(sorted.end(), record, record + size);
  return sorted;
}

// One record of each key in `sorted`.
inline Bytes folded_records(const RecordFormat& format, const RecordFold& fold,
                            const Bytes& sorted) {
  const FoldRules rules{.fold = fold, .format = format};
  RecordGroup group(rules);
  Bytes folded;
  const auto end_group = [&] {
    if (group.empty()) return;
    folded.resize(folded.size() + rules.bytes_out());
    group.write(folded.data() + folded.size() - rules.bytes_out());
  };
  for (std::size_t at = 0; at < sorted.size(); at += format.record_bytes) {
    const std::byte* record = sorted.data() + at;
    if (!group.empty() && compare_records(format, group.first(), record) == 0) {
      group.add(record);
    } else {
      end_group();
      group.begin(record);
    }
  }
  end_group();
  return folded;
}

inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline MultisetHash hash_of(const Bytes& records, std::size_t record_bytes) {
  MultisetHash hash;
  add_records(hash, records.data(), records.size() / record_bytes, record_bytes);
  return hash;
}

// ---- data ----

inline Bytes random_bytes(std::size_t count, Random& random) {
  Bytes bytes(count);
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    const std::uint64_t value = random();
    std::memcpy(bytes.data() + at, &value, 8);
  }
  for (; at < count; ++at) bytes[at] = static_cast<std::byte>(random());
  return bytes;
}

// Records that are random in every byte.
inline Bytes random_records(const RecordFormat& format, std::size_t count, Random& random) {
  return random_bytes(count * format.record_bytes, random);
}

// Records of `distinct` different keys, and random in all bytes that are not key.
inline Bytes few_distinct_records(const RecordFormat& format, std::size_t count,
                                  std::size_t distinct, Random& random) {
  const std::size_t size = format.record_bytes;
  const Bytes models = random_records(format, distinct, random);
  Bytes records = random_records(format, count, random);
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* model = models.data() + random.below(distinct) * size;
    for (const KeyField& key : format.key) {
      std::memcpy(records.data() + i * size + key.offset, model + key.offset, key.length);
    }
  }
  return records;
}

inline Bytes reversed_records(const RecordFormat& format, const Bytes& records) {
  const std::size_t size = format.record_bytes;
  Bytes reversed;
  reversed.reserve(records.size());
  for (std::size_t end = records.size(); end > 0; end -= size) {
    reversed.insert(reversed.end(), records.begin() + static_cast<std::ptrdiff_t>(end - size),
                    records.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return reversed;
}

// Records that agree in their first `prefix` bytes.
inline Bytes common_prefix_records(const RecordFormat& format, std::size_t count,
                                   std::size_t prefix, Random& random) {
  const std::size_t size = format.record_bytes;
  Bytes records = random_records(format, count, random);
  for (std::size_t i = 0; i < count; ++i) {
    std::fill_n(records.data() + i * size, std::min(prefix, size), std::byte{'/'});
  }
  return records;
}

// A named way to make test data.
struct Distribution {
  std::string name;
  std::function<Bytes(const RecordFormat&, std::size_t count, Random&)> make;
};

inline const std::vector<Distribution>& distributions() {
  static const std::vector<Distribution> all = {
      {"uniform", random_records},
      {"sorted", [](const RecordFormat& f, std::size_t n,
                    Random& r) { return sorted_records(f, random_records(f, n, r)); }},
      {"reverse",
       [](const RecordFormat& f, std::size_t n, Random& r) {
         return reversed_records(f, sorted_records(f, random_records(f, n, r)));
       }},
      {"constant", [](const RecordFormat& f, std::size_t n,
                      Random& r) { return few_distinct_records(f, n, 1, r); }},
      {"few_distinct", [](const RecordFormat& f, std::size_t n,
                          Random& r) { return few_distinct_records(f, n, 7, r); }},
      {"many_duplicates", [](const RecordFormat& f, std::size_t n,
                             Random& r) { return few_distinct_records(f, n, n / 8 + 1, r); }},
  };
  return all;
}

// `records` as segments of random lengths, some of them empty.
inline std::vector<Segment> random_segments(const Bytes& records, std::size_t record_bytes,
                                            std::size_t longest, Random& random) {
  std::vector<Segment> segments;
  const std::size_t count = records.size() / record_bytes;
  for (std::size_t first = 0; first < count;) {
    const std::size_t part = std::min(count - first, random.below(longest + 1));
    segments.push_back({records.data() + first * record_bytes, part});
    first += part;
  }
  return segments;
}

// ---- whole sorts ----

inline std::size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// A test of whole sorts: two directories for scratch, one for the output, and what must be in them
// afterwards.
class WholeSortTest : public testing::Test {
 protected:
  WholeSortTest() {
    for (const std::string& name : {scratch_, scratch_ + "2", directory_ / "out"}) {
      std::filesystem::create_directory(name);
    }
  }

  void expect_nothing_left() const {
    EXPECT_TRUE(std::filesystem::is_empty(scratch_));
    EXPECT_TRUE(std::filesystem::is_empty(scratch_ + "2"));
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out")) {
      EXPECT_EQ(entry.path().string(), output_);
    }
  }

  // Sorts by `sort`, which must fail; the `output` that was there before must be there still.
  // Returns what was thrown.
  Error error_of_sort(const std::string& output, const std::function<void()>& sort) const {
    const std::string old = "what was here before";
    io::test::write_file(output, old);
    const std::size_t files = open_files();
    try {
      sort();
    } catch (const Error& error) {
      EXPECT_EQ(io::test::file_text(output), old);
      EXPECT_EQ(open_files(), files);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      expect_nothing_left();
      return error;
    }
    ADD_FAILURE() << "must throw";
    return Error(ErrorCode::usage, "nothing was thrown");
  }

  Watchdog watchdog_;
  io::test::TempDirectory directory_;
  const std::string scratch_ = directory_ / "scratch";
  const std::string output_ = directory_ / "out/file";
};

}  // namespace xxl::test
