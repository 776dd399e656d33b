// Which of sorted records are written, and what is told of them.
#include "merge/record_emitter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sort_test_support.h"

namespace xxl {
namespace {

using Records = std::vector<std::string>;
using test::Counter;

struct EmittedRecords {
  Records records;
  void add(std::string_view record) { records.emplace_back(record); }
};

MultisetHash hash_of(const Records& records) {
  MultisetHash hash;
  for (const std::string& record : records) add_record(hash, record);
  return hash;
}

// Records of three keys, their first letters.
const Records kRecords = {"a1", "a2", "b1", "c1", "c2", "c3"};

struct Outcome {
  Records written;
  GeneralTotals totals;
  std::size_t taken = 0;  // records
};

Outcome emit(const EmitRules& rules) {
  Outcome outcome;
  EmittedRecords collector;
  RecordEmitter emitter(collector, rules);
  char key = 0;
  for (const std::string& record : kRecords) {
    if (!emitter.add(record, record[0] == key)) break;
    key = record[0];
    ++outcome.taken;
  }
  outcome.totals = emitter.finish();
  outcome.written = collector.records;
  return outcome;
}

TEST(RecordEmitter, without_rules_all_records_are_written) {
  const Outcome outcome = emit({});
  EXPECT_EQ(outcome.written, kRecords);
  EXPECT_EQ(outcome.totals.records_out, 6u);
  EXPECT_EQ(outcome.totals.written, hash_of(kRecords));
  EXPECT_EQ(outcome.totals.removed, MultisetHash{});
}

TEST(RecordEmitter, of_equal_keys_the_first_is_written_and_the_others_are_accounted_for) {
  EmitRules rules;
  rules.kept = GroupSelection(GroupRule::first);
  const Outcome outcome = emit(rules);
  EXPECT_EQ(outcome.written, (Records{"a1", "b1", "c1"}));
  EXPECT_EQ(outcome.totals.written, hash_of({"a1", "b1", "c1"}));
  EXPECT_EQ(outcome.totals.removed, hash_of({"a2", "c2", "c3"}));
}

TEST(RecordEmitter, a_fold_is_written_for_each_group) {
  EmitRules rules;
  rules.kept = GroupSelection(GroupRule::first);
  rules.fold = std::make_unique<Counter>;
  const Outcome outcome = emit(rules);
  EXPECT_EQ(outcome.written, (Records{"a1*2", "b1*1", "c1*3"}));
  EXPECT_EQ(outcome.totals.records_out, 3u);
  EXPECT_EQ(outcome.totals.removed, hash_of({"a2", "c2", "c3"}));
}

TEST(RecordEmitter, the_limit_counts_what_is_written_and_whole_groups) {
  EmitRules rules;
  rules.limit = 2;
  EXPECT_EQ(emit(rules).written, (Records{"a1", "a2"}));
  EXPECT_EQ(emit(rules).taken, 2u);
  rules.kept = GroupSelection(GroupRule::first);
  EXPECT_EQ(emit(rules).written, (Records{"a1", "b1"}));
  EXPECT_EQ(emit(rules).taken, 3u);
  rules.fold = std::make_unique<Counter>;
  EXPECT_EQ(emit(rules).written, (Records{"a1*2", "b1*1"}));
  rules.limit = 0;
  EXPECT_TRUE(emit(rules).written.empty());
  rules.limit = 3;
  EXPECT_EQ(emit(rules).written, (Records{"a1*2", "b1*1", "c1*3"}));
  EXPECT_EQ(emit(rules).taken, 6u);
}

TEST(RecordEmitter, what_is_skipped_is_whole_groups_and_accounted_for) {
  EmitRules rules;
  rules.skip = 1;
  EXPECT_EQ(emit(rules).written, (Records{"a2", "b1", "c1", "c2", "c3"}));
  EXPECT_EQ(emit(rules).totals.removed, hash_of({"a1"}));
  rules.limit = 2;
  EXPECT_EQ(emit(rules).written, (Records{"a2", "b1"}));
  EXPECT_EQ(emit(rules).taken, 3u);
  rules.kept = GroupSelection(GroupRule::first);
  EXPECT_EQ(emit(rules).written, (Records{"b1", "c1"}));
  EXPECT_EQ(emit(rules).totals.removed, hash_of({"a1", "a2", "c2", "c3"}));
  rules.fold = std::make_unique<Counter>;
  EXPECT_EQ(emit(rules).written, (Records{"b1*1", "c1*3"}));
  rules.skip = 7;
  EXPECT_TRUE(emit(rules).written.empty());
  EXPECT_EQ(emit(rules).totals.records_skipped, 3u);
}

}  // namespace
}  // namespace xxl
