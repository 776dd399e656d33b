// The surroundings of a whole sort of records: files of its own, and an oracle.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "io_test_support.h"
#include "job/fixed_sort/fixed_sort.h"
#include "sort_test_support.h"

namespace xxl {

constexpr std::uint64_t kMemory = kMiB;

class ExternalSortTest : public test::WholeSortTest {
 protected:
  std::string add_input(const test::Bytes& records) {
    const std::string path = directory_ / ("in" + std::to_string(inputs_.size()));
    io::test::write_file(path, test::text_of(records));
    inputs_.push_back(path);
    all_.insert(all_.end(), records.begin(), records.end());
    return path;
  }

  FixedSortOptions options(const RecordFormat& format, std::uint64_t memory = kMemory) const {
    FixedSortOptions options;
    options.format = format;
    options.inputs = inputs_;
    options.output = output_;
    options.memory_bytes = memory;
    options.scratch_dirs = {scratch_};
    options.threads = 2;
    return options;
  }

  // Sorts and compares the output with the oracle's.
  SortReport expect_sorted(const FixedSortOptions& options) {
    const SortReport report = fixed_sort(options);
    test::Bytes sorted = test::sorted_records(options.format, all_, options.unique);
    if (options.fold.folds()) sorted = test::folded_records(options.format, options.fold, sorted);
    const std::string expected = test::text_of(sorted);
    EXPECT_TRUE(io::test::file_text(options.output) == expected) << "the output is wrong";
    EXPECT_EQ(report.records_in, all_.size() / options.format.record_bytes);
    EXPECT_EQ(report.records_out, expected.size() / options.output_format().record_bytes);
    expect_nothing_left();
    return report;
  }

  Error error_of(const FixedSortOptions& options) const {
    return error_of_sort(options.output, [&] { fixed_sort(options); });
  }

  std::vector<std::string> inputs_;
  test::Bytes all_;  // of all inputs, one behind the other
};

}  // namespace xxl
