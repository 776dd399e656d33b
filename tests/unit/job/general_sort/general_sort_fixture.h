// What tests of whole sorts of text share: records, keys, what a sort should make of them, and a
// sort over real files.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "io_test_support.h"
#include "job/general_sort/general_sort.h"
#include "sort_test_support.h"

namespace xxl::test {

using io::test::file_text;
using io::test::write_file;
using Records = std::vector<std::string>;

// The record backwards, without what follows a '#'.
class BackwardsKey final : public KeyExtractor {
 public:
  void append_key(std::string_view record, std::size_t limit, std::string& key) const override {
    record = record.substr(0, record.find('#'));
    if (record.size() > limit) record.remove_prefix(record.size() - limit);
    key.append(record.rbegin(), record.rend());
  }
};

inline std::string key_of(const KeyExtractor& keys, std::string_view record) {
  std::string key;
  keys.append_key(record, KeyExtractor::kWholeKey, key);
  return key;
}

// What `options` make of `records`, in the order of the input.
inline std::string expected_of(const GeneralSortOptions& options, Records records) {
  std::vector<std::pair<std::string, std::string>> keyed;
  for (std::string& record : records) {
    std::string key = key_of(*options.keys, record);
    keyed.emplace_back(std::move(key), std::move(record));
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  std::uint64_t skip = options.skip, left = options.limit.value_or(~std::uint64_t{0});
  for (std::size_t i = 0, end; i < keyed.size() && left > 0; i = end) {
    end = i + 1;
    if (options.unique) {
      while (end < keyed.size() && keyed[end].first == keyed[i].first) ++end;
    }
    if (skip > 0) {
      --skip;
      continue;
    }
    --left;
    text += keyed[i].second;
    if (options.fold) text += "*" + std::to_string(end - i);
    text += options.syntax.terminator;
  }
  return text;
}

// The multiset hash of the records of `text`.
inline std::uint64_t checksum_of(std::string_view text, char terminator) {
  MultisetHash hash;
  while (!text.empty()) {
    const std::size_t end = text.find(terminator);
    add_record(hash, text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return hash.sum;
}

inline Records random_records(unsigned kind, std::size_t bytes, Random& random) {
  Records records;
  for (std::size_t made = 0; made < bytes; made += records.back().size() + 1) {
    std::string& record = records.emplace_back();
    const auto letters = [&](std::size_t most, unsigned of) {
      std::string text(random.below(most + 1), ' ');
      for (char& c : text) c = static_cast<char>(random.below(of) + (of <= 26 ? 'a' : 0));
      std::replace(text.begin(), text.end(), '\n', 'n');
      return text;
    };
    switch (kind) {
      case 0:
        record = letters(40, 256);
        break;
      case 1:
        record = letters(2, 2);
        break;
      case 2:
        record = "https://www.example.com/" + std::to_string(random.below(20000)) + '#' +
                 std::to_string(records.size());
        break;
      case 3:
        record = std::string(300, 'c') + letters(4, 3);
        break;
      case 4:
        record = std::to_string(made) + std::string(10 - std::to_string(made).size(), '.');
        break;
      case 5:  // one frequent key
        record =
            random.below(4) != 0 ? "frequent#" + std::to_string(records.size()) : letters(8, 26);
        break;
      default:  // long ones between short ones
        record = random.below(50) == 0 ? std::string(random.below(150000), 'l') + letters(3, 26)
                                       : letters(30, 26);
    }
  }
  return records;
}
inline constexpr unsigned kKinds = 7;

class GeneralSortTest : public WholeSortTest {
 protected:
  GeneralSortTest() {
    options_.keys = std::make_shared<WholeLine>();
    options_.output = output_;
    options_.memory_bytes = kMiB;
    options_.scratch_dirs = {scratch_};
    options_.threads = 2;
  }

  std::string add_input(const Records& records, bool ends = true) {
    std::string text;
    for (const std::string& record : records) text += record + options_.syntax.terminator;
    if (!ends && !records.empty() && !records.back().empty()) text.pop_back();
    const std::string path = directory_ / ("in" + std::to_string(options_.inputs.size()));
    write_file(path, text);
    options_.inputs.push_back(path);
    all_.insert(all_.end(), records.begin(), records.end());
    return path;
  }
  void forget_inputs() {
    options_.inputs.clear();
    all_.clear();
  }

  SortReport expect_sorted(const GeneralSortOptions& options) {
    const SortReport report = general_sort(options);
    const std::string expected = expected_of(options, all_);
    EXPECT_TRUE(file_text(options.output) == expected) << "the output is wrong";
    EXPECT_EQ(report.records_in, all_.size());
    EXPECT_EQ(report.records_out,
              static_cast<std::uint64_t>(
                  std::count(expected.begin(), expected.end(), options.syntax.terminator)));
    if (!options.fold) {
      EXPECT_EQ(report.checksum, checksum_of(expected, options.syntax.terminator));
    }
    expect_nothing_left();
    return report;
  }

  Error error_of(const GeneralSortOptions& options) const {
    return error_of_sort(options.output, [&] { general_sort(options); });
  }

  GeneralSortOptions options_;
  Records all_;
};

}  // namespace xxl::test
