// Sorts of text by where records stand in the input.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/general_sort/general_sort_fixture.h"
#include "job/general_sort/kept_order.h"
#include "record/record_tags.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using namespace test;

class TaggedSortTest : public GeneralSortTest {
 protected:
  TaggedSortTest() { options_.keys = nullptr; }

  // Which of the first `records` are written, and how they are sorted.
  void draw_means(Random& random, unsigned round, std::uint64_t records) {
    options_.skip = random.below(4) == 0 ? random.below(records) : 0;
    options_.limit.reset();
    if (random.below(4) == 0) options_.limit = random.below(2) == 0 ? 10 : random.below(records);
    options_.queue_factory = nullptr;
    if (random.below(3) != 0) options_.queue_factory = test::simulated_queues(round);
    options_.spare_table_bytes.reset();
    if (random.below(3) == 0) options_.spare_table_bytes = random.below(5000);
  }

  void expect_output(const SortReport& report, const std::string& expected) const {
    EXPECT_TRUE(file_text(options_.output) == expected);
    EXPECT_EQ(report.records_in, all_.size());
    EXPECT_EQ(report.checksum, checksum_of(expected, '\n'));
    expect_nothing_left();
  }

  // The records in the order of random tags, of which the options let pass some.
  std::string shuffled() const {
    std::vector<std::pair<std::uint64_t, std::string>> tagged;
    std::uint64_t place = 0;
    for (const std::string& record : all_) {
      tagged.emplace_back(options_.tags.of(place), record);
      place += record.size() + options_.syntax.frame_bytes();
    }
    std::stable_sort(tagged.begin(), tagged.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    const std::size_t begin = std::min<std::size_t>(options_.skip, tagged.size());
    const std::size_t end = begin + options_.written_of(tagged.size());
    for (std::size_t i = begin; i < end; ++i) {
      text += tagged[i].second;
      if (options_.syntax.record_bytes == 0) text += options_.syntax.terminator;
    }
    return text;
  }

  // The first record of each key, in the order of the input, of which the options let pass some.
  std::string kept() const {
    std::set<std::string> keys;
    std::string text;
    std::uint64_t number = 0;
    for (const std::string& record : all_) {
      if (!keys.insert(test::key_of(*options_.keys, record)).second) continue;
      if (number >= options_.skip &&
          number - options_.skip < options_.limit.value_or(all_.size())) {
        text += record + '\n';
      }
      ++number;
    }
    return text;
  }

  // What the options leave of the inputs, by counting; the last one is that which is compared.
  std::string left_of(const std::vector<Records>& inputs) const {
    struct Group {
      std::vector<std::size_t> counts;
      Records of_last;
    };
    std::map<std::string, Group> groups;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (const std::string& record : inputs[i]) {
        Group& group = groups[test::key_of(*options_.keys, record)];
        group.counts.resize(inputs.size());
        ++group.counts[i];
        if (i + 1 == inputs.size()) group.of_last.push_back(record);
      }
    }
    std::string text;
    std::uint64_t number = 0;
    for (const auto& [key, group] : groups) {
      const std::size_t last = group.counts.back();
      const std::size_t least = *std::min_element(group.counts.begin(), group.counts.end());
      const std::size_t others =
          std::accumulate(group.counts.begin(), group.counts.end(), std::size_t{0}) - last;
      auto [from, to] = test::kept_by(options_.group_rule_of_inputs, least, others, last);
      for (; from < to; ++from, ++number) {
        if (number >= options_.skip &&
            number - options_.skip < options_.limit.value_or(all_.size())) {
          text += group.of_last[from] + '\n';
        }
      }
    }
    return text;
  }
};

TEST_F(TaggedSortTest, random_tags_shuffle_any_records_in_any_order_of_completion) {
  for (unsigned round = 0; round < 32; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(round);
    forget_inputs();
    options_.tags = {.kind = RecordTags::Kind::random, .key = {round, 1}};
    const unsigned kind = round % kKinds;
    const std::size_t files = random.below(3) == 0 ? 1 + random.below(5) : 1;
    const std::size_t bytes = random.below(3) == 0 ? random.below(2000) : 2 * kMiB / files;
    for (std::size_t i = 0; i < files; ++i) {
      // Only the last file may lack its end: what follows would stand elsewhere.
      add_input(random_records(kind, random.below(5) == 0 ? 0 : bytes, random),
                i + 1 < files || random.below(2) == 0);
    }
    options_.memory_bytes = (kind == 6 ? 3 * kMiB : kMiB) + random.below(4 * kMiB);
    options_.threads = static_cast<unsigned>(1 + random.below(8));
    draw_means(random, round, 50000);
    options_.batch_size = random.below(3) == 0 ? static_cast<unsigned>(2 + random.below(5)) : 0;
    const SortReport report = general_sort(options_);
    expect_output(report, shuffled());
    if (HasFailure()) return;
  }
}

TEST_F(TaggedSortTest, of_equal_keys_the_first_stays_in_any_order_of_completion) {
  for (unsigned round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(round);
    forget_inputs();
    options_.keys = random.below(2) == 0 ? std::shared_ptr<const KeyExtractor>(new WholeLine)
                                         : std::make_shared<BackwardsKey>();
    options_.unique = true;
    const unsigned kind = round % kKinds;
    const std::size_t files = random.below(3) == 0 ? 1 + random.below(5) : 1;
    const std::size_t bytes = random.below(3) == 0 ? random.below(2000) : kMiB / files;
    for (std::size_t i = 0; i < files; ++i) {
      add_input(random_records(kind, random.below(5) == 0 ? 0 : bytes, random),
                random.below(2) == 0);
    }
    options_.memory_bytes = (kind == 6 ? 6 * kMiB : 2 * kMiB) + random.below(4 * kMiB);
    options_.threads = static_cast<unsigned>(1 + random.below(4));
    draw_means(random, round, 5000);
    const SortReport report = sort_in_kept_order(options_);
    expect_output(report, kept());
    if (HasFailure()) return;
  }
}

TEST_F(TaggedSortTest, inputs_are_told_apart_in_any_order_of_completion) {
  for (unsigned round = 0; round < 40; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(round);
    forget_inputs();
    options_.keys = random.below(2) == 0 ? std::shared_ptr<const KeyExtractor>(new WholeLine)
                                         : std::make_shared<BackwardsKey>();
    const unsigned kind = round % kKinds;
    const std::size_t files = random.below(5) == 0 ? 257 + random.below(50) : 2 + random.below(3);
    const std::size_t bytes = random.below(3) == 0 ? random.below(2000) : 2 * kMiB / files;
    std::vector<Records> inputs;
    options_.tags = {.kind = RecordTags::Kind::input};
    options_.merge_only = kind != 6 && random.below(3) == 0;
    const auto before = [this](const std::string& a, const std::string& b) {
      return test::key_of(*options_.keys, a) < test::key_of(*options_.keys, b);
    };
    for (std::size_t i = 0; i < files; ++i) {
      Records records = i > 0 && random.below(2) == 0
                            ? Records(all_.begin(), all_.begin() + all_.size() / 2)
                            : random_records(kind, random.below(9) == 0 ? 0 : bytes, random);
      if (files > 5) records.resize(std::min<std::size_t>(records.size(), 40));
      if (options_.merge_only) std::stable_sort(records.begin(), records.end(), before);
      // An input may be of two files.
      if (i > 0 && random.below(4) == 0) {
        inputs.back().insert(inputs.back().end(), records.begin(), records.end());
      } else {
        inputs.push_back(records);
      }
      options_.tags.inputs.push_back(static_cast<std::uint32_t>(inputs.size() - 1));
      add_input(records, random.below(2) == 0);
    }
    options_.group_rule_of_inputs = std::array{GroupRule::intersect, GroupRule::intersect_all,
                                               GroupRule::except, GroupRule::except_all}[round % 4];
    options_.memory_bytes = (kind == 6 ? 3 * kMiB : kMiB) + random.below(4 * kMiB);
    options_.threads = static_cast<unsigned>(1 + random.below(8));
    draw_means(random, round, 5000);
    options_.batch_size = random.below(3) == 0 ? static_cast<unsigned>(2 + random.below(5)) : 0;
    const SortReport report = general_sort(options_);
    expect_output(report, left_of(inputs));
    if (HasFailure()) return;
  }
}

TEST_F(TaggedSortTest, a_failure_of_either_sort_is_that_of_both) {
  Random random(1);
  options_.keys = std::make_shared<WholeLine>();
  options_.unique = true;
  options_.memory_bytes = 4 * kMiB;
  add_input(random_records(0, 2 * kMiB, random));
  GeneralSortOptions options = options_;
  options.malformed = [&](std::string_view record) {
    return record == all_[all_.size() / 2] ? std::optional<std::string>("bad") : std::nullopt;
  };
  const auto sort = [&] { sort_in_kept_order(options); };
  EXPECT_EQ(error_of_sort(options.output, sort).code(), ErrorCode::bad_input);
  options = options_;
  options.output = directory_ / "none/output";
  EXPECT_THROW(sort(), Error);
  options = options_;
  options.inputs.push_back(directory_ / "none");
  EXPECT_EQ(error_of_sort(options.output, sort).code(), ErrorCode::io);
  options = options_;
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  EXPECT_EQ(error_of_sort(options.output, sort).sys_errno(), ECANCELED);
}

TEST_F(TaggedSortTest, random_tags_shuffle_records_of_a_fixed_size) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
    SCOPED_TRACE(size);
    forget_inputs();
    Random random(size);
    std::string text(200000 / size * size, ' ');
    for (char& c : text) c = static_cast<char>(random());
    const std::string path = directory_ / "records";
    write_file(path, text);
    options_.inputs = {path};
    for (std::size_t at = 0; at < text.size(); at += size) all_.push_back(text.substr(at, size));
    options_.syntax.record_bytes = size;
    options_.tags = {.kind = RecordTags::Kind::random, .key = {1, 2}};
    general_sort(options_);
    EXPECT_TRUE(file_text(options_.output) == shuffled());
    write_file(path, text + "x");
    if (size > 1) {
      EXPECT_EQ(error_of(options_).code(), ErrorCode::bad_input);
    }
  }
}

}  // namespace
}  // namespace xxl
