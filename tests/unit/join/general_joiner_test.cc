// Joining of two sequences in order, compared with all pairs of them.
#include "join/general_joiner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/monitor.h"
#include "base/random.h"
#include "base/units.h"

namespace xxl {
namespace {

using Records = std::vector<std::string>;

// What stands in front of '#'.
class KeyInFront final : public KeyExtractor {
 public:
  void append_key(std::string_view record, std::size_t, std::string& key) const override {
    key.append(record.substr(0, record.find('#')));
  }
};

std::string key_of_record(const std::string& record) {
  return record.substr(0, record.find('#'));
}

class VectorCursor final : public RecordCursor {
 public:
  explicit VectorCursor(const Records& records) : records_(records) {}
  bool advance() override {
    if (next_ == records_.size()) return false;
    current_ = records_[next_++];  // a copy: what was given before is gone
    return true;
  }
  std::string_view record() const override { return current_; }

 private:
  const Records& records_;
  std::size_t next_ = 0;
  std::string current_;
};

// "R+S", "R+", "+S"; S without what stands behind '|'.
class PlusRows final : public JoinRows {
 public:
  void set_r(std::string_view r) override { r_ = r; }
  void append_pair(std::string_view s, std::string& row) override {
    row.append(r_).append("+");
    append_part(s, row);
  }
  void append_part(std::string_view s, std::string& part) override {
    part.append(s.substr(0, s.find('|')));
  }
  void append_pair_of_part(std::string_view part, std::string& row) override {
    row.append(r_).append("+").append(part);
  }
  void append_alone(JoinSide side, std::string_view record, std::string& row) override {
    if (side == JoinSide::s) row.push_back('+');
    row.append(record);
    if (side == JoinSide::r) row.push_back('+');
  }

 private:
  std::string r_;
};

// A ByteSink that keeps everything.
class Kept final : public ByteSink {
 public:
  bool in_order() const override { return true; }
  void put(std::uint64_t, std::byte* buffer, std::size_t bytes, Done done) override {
    text_.append(reinterpret_cast<const char*>(buffer), bytes);
    done(nullptr);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Records random_sorted(Random& random, std::size_t most, unsigned keys) {
  Records records;
  for (std::uint64_t n = random.below(most + 1); n > 0; --n) {
    std::string key(random.below(2), 'a');  // empty at times
    if (!key.empty()) key += std::to_string(random.below(keys));
    records.push_back(key + "#" + std::to_string(random.below(1000)));
  }
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return key_of_record(a) < key_of_record(b);
  });
  return records;
}

// All rows by looking at all pairs, in the order of keys.
std::string expected_rows(const Records& r, const Records& s, const JoinShape& shape,
                          const std::optional<std::string>& lonely) {
  std::vector<std::pair<std::string, std::string>> rows;  // key, row
  const auto match = [&](const std::string& a, const std::string& b) {
    return key_of_record(a) == key_of_record(b) && key_of_record(a) != lonely;
  };
  for (const std::string& a : r) {
    const bool has = std::any_of(s.begin(), s.end(), [&](const auto& b) { return match(a, b); });
    if (has && shape.pairs) {
      for (const std::string& b : s) {
        if (match(a, b)) rows.push_back({key_of_record(a), a + "+" + b});
      }
    }
    if (has ? shape.matched_r : shape.unmatched_r) rows.push_back({key_of_record(a), a + "+"});
  }
  for (const std::string& b : s) {
    const bool has = std::any_of(r.begin(), r.end(), [&](const auto& a) { return match(a, b); });
    if (!has && shape.unmatched_s) rows.push_back({key_of_record(b), "+" + b});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [key, row] : rows) text += row + "\n";
  return text;
}

struct Joined {
  std::string text;
  JoinTotals totals;
  std::uint64_t spilled_bytes = 0;
};

Joined join(const Records& r, const Records& s, JoinRules rules, bool writes = true) {
  const KeyInFront keys;
  rules.keys = {&keys, &keys};
  rules.make_rows = [] { return std::make_unique<PlusRows>(); };
  rules.buffer_bytes = 64;
  Monitor monitor;
  const MemoryRegion memory(256 * kKiB), group_memory(2 * kSectorBytes);
  WriteBuffers buffers(memory.span(), monitor);
  Kept kept;
  GeneralOutput text_output(kept, buffers, kSectorBytes, monitor);
  GroupStore group(group_memory.span().first(2 * kSectorBytes), ::testing::TempDir());
  VectorCursor r_cursor(r), s_cursor(s);
  const auto on_disorder = [] { throw Error(ErrorCode::bad_input, "disorder"); };
  KeyedRecords r_records(r_cursor, keys, on_disorder), s_records(s_cursor, keys, on_disorder);
  RowOutput output(writes ? &text_output : nullptr, Ticket{0}, RecordSyntax{}, rules.buffer_bytes);
  JoinEmitter emitter(rules, output);
  GeneralJoiner(r_records, s_records, rules, group, emitter).run([](std::uint64_t) {});
  output.finish();
  if (writes) text_output.finish();
  return {kept.text(), emitter.totals(), group.spilled_bytes()};
}

MultisetHash hash_of(const Records& records) {
  MultisetHash hash;
  for (const std::string& record : records) add_record(hash, record);
  return hash;
}

TEST(GeneralJoiner, makes_the_rows_of_every_shape) {
  Random random(1);
  for (int trial = 0; trial < 600; ++trial) {
    const unsigned keys = 1 + static_cast<unsigned>(random.below(12));
    const Records r = random_sorted(random, 20, keys), s = random_sorted(random, 20, keys);
    const std::uint64_t bits = random();
    JoinRules rules;
    rules.shape = {.pairs = (bits & 1) != 0,
                   .matched_r = (bits & 3) == 2,
                   .unmatched_r = (bits & 4) != 0,
                   .unmatched_s = (bits & 8) != 0};
    std::optional<std::string> lonely;
    if ((bits & 48) == 0) {
      lonely = "";
      rules.matches_nothing = [](std::string_view record) {
        return key_of_record(std::string(record)).empty();
      };
    }
    const std::string expected = expected_rows(r, s, rules.shape, lonely);
    const Joined joined = join(r, s, rules);
    EXPECT_EQ(joined.text, expected) << "trial " << trial;
    EXPECT_EQ(joined.totals.sides[0].records, hash_of(r));
    EXPECT_EQ(joined.totals.sides[1].records, hash_of(s));
    const auto rows =
        static_cast<std::uint64_t>(std::count(joined.text.begin(), joined.text.end(), '\n'));
    EXPECT_EQ(joined.totals.rows, rows);
    EXPECT_EQ(joined.totals.written.records, rows);
    const Joined counted = join(r, s, rules, false);
    EXPECT_EQ(counted.totals.rows, rows);
    EXPECT_EQ(counted.text, "");
  }
}

Records equal_records(std::size_t count, char name) {
  Records records;
  for (std::size_t i = 0; i < count; ++i)
    records.emplace_back("k#").append(1, name).append(std::to_string(i));
  return records;
}

// The join of `r` with `s` where rows have both records; they are those of `r` with `expected`.
Joined join_pairs(const Records& r, const Records& s, const Records& expected) {
  JoinRules rules;
  rules.shape.pairs = true;
  Joined joined = join(r, s, rules);
  EXPECT_TRUE(joined.text == expected_rows(r, expected, rules.shape, {}));
  return joined;
}

TEST(GeneralJoiner, a_group_that_does_not_fit_in_memory_comes_in_the_same_order) {
  const Records s = equal_records(3000, 's');
  EXPECT_GT(join_pairs(equal_records(3, 'r'), s, s).spilled_bytes, 0u);
}

TEST(GeneralJoiner, of_a_group_only_what_rows_have_of_s_is_kept) {
  const Records s = equal_records(500, 's');
  Records wide;
  for (const std::string& record : s) wide.push_back(record + "|" + std::string(1000, 'w'));
  EXPECT_EQ(join_pairs(equal_records(3, 'r'), wide, s).spilled_bytes, 0u);
}

TEST(GeneralJoiner, an_r_that_is_alone_in_its_group_needs_no_store) {
  const Records s = equal_records(3000, 's');
  EXPECT_EQ(join_pairs(equal_records(1, 'r'), s, s).spilled_bytes, 0u);
}

TEST(GeneralJoiner, what_is_not_in_order_is_told) {
  JoinRules rules;
  rules.shape.pairs = true;
  EXPECT_THROW(join({"b#", "a#"}, {"b#"}, rules), Error);
  EXPECT_THROW(join({"b#"}, {"c#", "d#", "a#"}, rules), Error);
}

}  // namespace
}  // namespace xxl
