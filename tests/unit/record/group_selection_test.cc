#include "record/group_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sort_test_support.h"

namespace xxl {
namespace {

constexpr std::size_t kInputs = 3;
constexpr std::size_t kMost = 3;  // records of an input
constexpr GroupRule kOperations[] = {GroupRule::intersect, GroupRule::intersect_all,
                                     GroupRule::except, GroupRule::except_all};

RecordTags tags_of_inputs() {
  return {.kind = RecordTags::Kind::input, .inputs = {0, 1, 2}};
}

// Records of one key: a tag and a number each.
using Group = std::vector<std::string>;
using Counts = std::array<std::size_t, kInputs>;

Group group_of(const Counts& counts) {
  Group group;
  for (std::size_t input = 0; input < kInputs; ++input) {
    for (std::size_t i = 0; i < counts[input]; ++i) {
      group.push_back({static_cast<char>(input), static_cast<char>('0' + i)});
    }
  }
  return group;
}

// What is kept of `groups`, one after the other.
Group kept(GroupRule rule, const std::vector<Group>& groups) {
  GroupSelection selection(rule, tags_of_inputs());
  Group left;
  for (const Group& group : groups) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (selection.keeps(group[i], i > 0)) left.push_back(group[i]);
    }
  }
  return left;
}

// By counting.
Group expected(GroupRule rule, const Counts& counts) {
  const auto [n, o, m] = counts;
  const std::size_t others = n + o, least = std::min({m, n, o});
  const auto [from, to] = test::kept_by(rule, least, others, m);
  const Group group = group_of(counts);
  const auto first = group.begin() + static_cast<std::ptrdiff_t>(others);
  return {first + static_cast<std::ptrdiff_t>(from), first + static_cast<std::ptrdiff_t>(to)};
}

template <class Visit>
void for_all_counts(const Visit& visit) {
  for (std::size_t n = 0; n <= kMost; ++n) {
    for (std::size_t o = 0; o <= kMost; ++o) {
      for (std::size_t m = 0; m <= kMost; ++m) visit(Counts{n, o, m});
    }
  }
}

TEST(GroupSelection, keeps_what_counting_gives_of_groups_one_after_the_other) {
  for (const GroupRule rule : kOperations) {
    for_all_counts([&](const Counts& a) {
      for_all_counts([&](const Counts& b) {
        Group both = expected(rule, a);
        const Group second = expected(rule, b);
        both.insert(both.end(), second.begin(), second.end());
        EXPECT_EQ(kept(rule, {group_of(a), group_of(b)}), both);
      });
    });
  }
}

TEST(GroupSelection, what_runs_and_runs_of_runs_leave_out_does_not_matter) {
  for (const GroupRule rule : kOperations) {
    const GroupRule of_run = rule_of_run(rule);
    EXPECT_EQ(rule_of_run(of_run), of_run);
    for_all_counts([&](const Counts& counts) {
      const Group group = group_of(counts);
      for (std::size_t a = 0; a <= group.size(); ++a) {
        for (std::size_t b = a; b <= group.size(); ++b) {
          const auto part = [&](std::size_t from, std::size_t to) {
            return kept(of_run, {Group(group.begin() + static_cast<std::ptrdiff_t>(from),
                                       group.begin() + static_cast<std::ptrdiff_t>(to))});
          };
          const auto joined = [](Group front, const Group& back) {
            front.insert(front.end(), back.begin(), back.end());
            return front;
          };
          // The first two runs are merged to one, then that and the third.
          const Group merged = kept(of_run, {joined(part(0, a), part(a, b))});
          EXPECT_EQ(kept(rule, {joined(merged, part(b, group.size()))}), expected(rule, counts));
        }
      }
    });
  }
}

TEST(GroupSelection, without_tags_is_all_or_the_first) {
  GroupSelection all, first(GroupRule::first);
  EXPECT_FALSE(all.has_groups());
  EXPECT_TRUE(first.has_groups());
  for (const bool same : {false, true, true, false, false}) {
    EXPECT_TRUE(all.keeps("", same));
    EXPECT_EQ(first.keeps("", same), !same);
  }
}

TEST(GroupSelection, KeepsTheFirstOnesOfEach) {
  GroupSelection selection(GroupRule::first, nullptr, 2);
  std::string kept;
  for (const bool same_key : {false, true, true, false, false, true, true, true}) {
    kept.push_back(selection.keeps("", same_key) ? '1' : '0');
  }
  EXPECT_EQ(kept, "11011100");
}

}  // namespace
}  // namespace xxl
