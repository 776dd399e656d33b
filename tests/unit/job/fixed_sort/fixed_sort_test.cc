// Whole sorts, over real files: with the real backends, and with queues that complete in random
// order and fail on demand.
#include "job/fixed_sort/fixed_sort.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io_test_support.h"
#include "job/fixed_sort/fixed_sort_fixture.h"
#include "job/fixed_sort/plan.h"
#include "simulated_queue.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using test::Bytes;
using test::format_of;
using test::text_of;

// ---- right results ----

struct Parameter {
  std::string name;
  RecordFormat format;
};

class ExternalSortOfFormat : public ExternalSortTest,
                             public testing::WithParamInterface<Parameter> {};

INSTANTIATE_TEST_SUITE_P(
    Formats, ExternalSortOfFormat,
    testing::Values(Parameter{"u32_desc", format_of("u32", {"0:u32:desc"})},
                    Parameter{"i64", format_of("i64")}, Parameter{"f64", format_of("f64")},
                    Parameter{"kv32", format_of("kv32")}, Parameter{"kv64", format_of("kv64")},
                    Parameter{"gensort", format_of("gensort")},
                    Parameter{"keys", format_of("fixed:37", {"30:u16:desc", "1:bytes20"})},
                    Parameter{"three_bytes", format_of("fixed:3")},
                    Parameter{"large", format_of("fixed:5003", {"4990:bytes13"})}),
    [](const auto& info) { return info.param.name; });

TEST_P(ExternalSortOfFormat, sorts_what_does_not_fit_in_memory_in_any_order_of_completion) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 800;
  for (const test::Distribution& distribution : test::distributions()) {
    SCOPED_TRACE(distribution.name + " seed " + std::to_string(++seed));
    Random random(seed);
    inputs_.clear();
    all_.clear();
    add_input(distribution.make(format, 3 * kMiB / format.record_bytes, random));
    FixedSortOptions options = this->options(format, kMemory + random.below(kMemory));
    if (format.record_bytes > 1000) options.memory_bytes += 2 * kMiB;
    options.unique = seed % 3 == 0;
    options.fold.count = seed % 3 == 1;
    options.queue_factory = test::simulated_queues(seed);
    ASSERT_NO_FATAL_FAILURE(expect_sorted(options));
    if (HasFailure()) return;
  }
}

// ---- runs left unsorted within cells ----

// Keys of which few are frequent and many are rare: the k-th most frequent as often as 1/k.
Bytes zipf_records(const RecordFormat& format, std::size_t count, Random& random) {
  Bytes records = test::random_records(format, count, random);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = static_cast<double>(random() >> 11) / 9007199254740992.0;
    const auto rank = static_cast<std::uint64_t>(std::pow(1e6, u));  // log-uniform
    const std::uint64_t key = rank * 0x9e3779b97f4a7c15u;            // spread over the key space
    std::byte* record = records.data() + i * format.record_bytes;
    std::fill_n(record, format.key.front().length, std::byte{0});
    std::memcpy(record, &key, std::min<std::size_t>(8, format.key.front().length));
  }
  return records;
}

Bytes drifting_records(const RecordFormat& format, std::size_t count, Random& random) {
  // The second half agrees in the leading byte of the key.
  Bytes records = test::random_records(format, count, random);
  const KeyField& key = format.key.front();
  const bool last_byte_leads = key.type != KeyType::bytes && !key.big_endian;
  const std::size_t leading = key.offset + (last_byte_leads ? key.length - 1 : 0);
  for (std::size_t i = count / 2; i < count; ++i) {
    records[i * format.record_bytes + leading] = std::byte{0x41};
  }
  return records;
}

class ExternalSortOfCells : public ExternalSortTest,
                            public testing::WithParamInterface<Parameter> {};

INSTANTIATE_TEST_SUITE_P(Formats, ExternalSortOfCells,
                         testing::Values(Parameter{"u64", format_of("u64")},
                                         Parameter{"kv64", format_of("kv64")},
                                         Parameter{"gensort", format_of("gensort")}),
                         [](const auto& info) { return info.param.name; });

TEST_P(ExternalSortOfCells, sorts_any_input_in_any_order_of_completion) {
  const RecordFormat& format = GetParam().format;
  std::vector<test::Distribution> distributions = test::distributions();
  distributions.push_back({"zipf", zipf_records});
  distributions.push_back({"drifting", drifting_records});
  std::uint64_t seed = 830;
  for (const auto& [threads, memory, tenths] :
       {std::tuple{1u, 6 * kMiB, 25u}, std::tuple{2u, 16 * kMiB, 11u}}) {
    for (const test::Distribution& distribution : distributions) {
      SCOPED_TRACE(distribution.name + " threads " + std::to_string(threads) + " seed " +
                   std::to_string(++seed));
      Random random(seed);
      inputs_.clear();
      all_.clear();
      const std::size_t count = memory * tenths / 10 / format.record_bytes;
      add_input(distribution.make(format, count, random));
      ASSERT_TRUE(plan_geometry({.memory_bytes = memory,
                                 .input_bytes = count * format.record_bytes,
                                 .threads = threads},
                                KeyLayout(format))
                      .cells_unsorted);
      FixedSortOptions options = this->options(format, memory);
      options.threads = threads;
      options.queue_factory = test::simulated_queues(seed);
      const SortReport report = expect_sorted(options);
      if (distribution.name == "uniform") {
        EXPECT_GT(report.runs, 1u);
      }
      if (HasFailure()) return;
    }
  }
}

// Input that is little more than memory: most of it is never written to scratch.
TEST_F(ExternalSortTest, keeps_what_is_in_memory_at_the_end_of_the_input) {
  constexpr std::size_t kMemory = 32 * kMiB;
  const RecordFormat format = format_of("kv64");
  const std::vector<test::Distribution> distributions{
      {"uniform", test::random_records}, {"zipf", zipf_records}, {"drifting", drifting_records}};
  std::uint64_t seed = 870;
  for (const test::Distribution& distribution : distributions) {
    SCOPED_TRACE(distribution.name + " seed " + std::to_string(++seed));
    Random random(seed);
    inputs_.clear();
    all_.clear();
    const std::size_t count = kMemory / 10 * (10 + seed % 4) / format.record_bytes;
    add_input(distribution.make(format, count, random));
    const PlanInput input{
        .memory_bytes = kMemory, .input_bytes = count * format.record_bytes, .threads = 2};
    ASSERT_TRUE(plan_geometry(input, KeyLayout(format)).chunk.keeps_rest);
    FixedSortOptions options = this->options(format, kMemory);
    options.threads = 2;
    options.queue_factory = test::simulated_queues(seed);
    const SortReport report = expect_sorted(options);
    EXPECT_GT(report.scratch_bytes, 0u);
    if (distribution.name == "uniform") {
      EXPECT_LT(report.scratch_bytes, input.input_bytes * 3 / 4);
    }
    if (HasFailure()) return;
  }
}

TEST_F(ExternalSortTest, every_backend_gives_the_same_output) {
  const RecordFormat format = format_of("kv64");
  Random random(81);
  add_input(test::few_distinct_records(format, 250000, 70000, random));
  for (const Backend backend : {Backend::threads, Backend::automatic, Backend::io_uring}) {
    FixedSortOptions options = this->options(format);
    options.backend = backend;
    options.scratch_dirs.push_back(scratch_ + "2");
    try {
      const SortReport report = expect_sorted(options);
      EXPECT_GT(report.runs, 1u);
      EXPECT_EQ(report.passes, 1u);
      for (const std::uint64_t bytes : report.scratch_bytes_written_per_dir) EXPECT_GT(bytes, 0u);
    } catch (const Error& error) {
      if (backend != Backend::io_uring) throw;
      GTEST_SKIP() << "no io_uring here: " << error.what();
    }
  }
}

TEST_F(ExternalSortTest, any_size_around_the_memory_is_sorted_with_any_number_of_threads) {
  const RecordFormat format = format_of("kv64");
  for (const unsigned threads : {1u, 8u, 32u}) {
    for (std::uint64_t tenths = 5; tenths <= 11; ++tenths) {
      SCOPED_TRACE(std::to_string(threads) + " threads, input of " + std::to_string(tenths) +
                   " tenths of the memory");
      Random random(82 + tenths);
      inputs_.clear();
      all_.clear();
      add_input(test::random_records(format, 8 * kMiB * tenths / 160, random));
      FixedSortOptions options = this->options(format, 8 * kMiB);
      options.threads = threads;
      const SortPlan plan = plan_sort(options);
      const SortReport report = expect_sorted(options);
      EXPECT_TRUE(plan.passes > 0 || report.runs == 1) << report.runs;
      if (HasFailure()) return;
    }
  }
}

TEST_F(ExternalSortTest, sorted_and_constant_input_are_one_run_without_a_merge) {
  const RecordFormat format = format_of("kv64");
  Random random(83);
  for (const bool sorted : {true, false}) {
    inputs_.clear();
    all_.clear();
    const Bytes records = test::few_distinct_records(format, 250000, sorted ? 250000 : 1, random);
    add_input(test::sorted_records(format, records));
    const SortReport report = expect_sorted(options(format));
    EXPECT_EQ(report.runs, 1u) << sorted;
    EXPECT_EQ(report.passes, 0u) << sorted;
    EXPECT_EQ(report.scratch_bytes, 0u) << sorted;
  }
}

TEST_F(ExternalSortTest, sorted_input_with_a_surprise_at_the_end_is_sorted) {
  for (const char* record : {"u64", "gensort"}) {
    const RecordFormat format = format_of(record);
    for (const bool to_stream : {false, true}) {
      Random random(84);
      inputs_.clear();
      all_.clear();
      Bytes records = test::sorted_records(
          format, test::random_records(format, 4 * kMiB / format.record_bytes, random));
      const Bytes surprise = test::random_records(format, 2 * kMiB / format.record_bytes, random);
      records.insert(records.end(), surprise.begin(), surprise.end());
      add_input(records);
      FixedSortOptions options = this->options(format);
      if (!to_stream) {
        EXPECT_GT(expect_sorted(options).runs, 1u);
        continue;
      }
      const io::File file(open(output_.c_str(), O_RDWR | O_TRUNC | O_CREAT | O_CLOEXEC, 0600),
                          output_, false);
      options.output = "/dev/fd/" + std::to_string(file.fd());
      fixed_sort(options);
      EXPECT_TRUE(file_text(output_) == text_of(test::sorted_records(format, all_)));
    }
  }
}

TEST_F(ExternalSortTest, keys_that_agree_in_more_than_256_bytes_are_sorted) {
  const RecordFormat format = format_of("fixed:300");
  for (const std::uint64_t memory : {kMemory, 4 * kMiB, 16 * kMiB}) {
    for (const bool to_stream : {false, true}) {
      SCOPED_TRACE(std::to_string(memory) + (to_stream ? " to a stream" : " to a file"));
      Random random(85);
      inputs_.clear();
      all_.clear();
      add_input(test::common_prefix_records(format, 2 * kMiB / 300, 270, random));
      FixedSortOptions options = this->options(format, memory);
      if (!to_stream) {
        expect_sorted(options);
        continue;
      }
      const io::File file(open(output_.c_str(), O_RDWR | O_TRUNC | O_CREAT | O_CLOEXEC, 0600),
                          output_, false);
      options.output = "/proc/self/fd/" + std::to_string(file.fd());
      fixed_sort(options);
      EXPECT_TRUE(file_text(output_) == text_of(test::sorted_records(format, all_)));
    }
  }
}

TEST_F(ExternalSortTest, several_inputs_are_sorted_as_one_and_empty_ones_do_not_matter) {
  const RecordFormat format = format_of("kv32");
  Random random(86);
  add_input({});
  for (const std::size_t count : {1u, 300000u, 0u, 511u, 40000u, 0u}) {
    add_input(test::few_distinct_records(format, count, 100, random));
  }
  expect_sorted(options(format));
}

TEST_F(ExternalSortTest, nothing_but_empty_inputs_make_an_empty_output) {
  add_input({});
  add_input({});
  for (const bool merge_only : {false, true}) {
    FixedSortOptions options = this->options(format_of("u64"));
    options.merge_only = merge_only;
    const SortReport report = expect_sorted(options);
    EXPECT_EQ(report.records_out, 0u);
    EXPECT_EQ(std::filesystem::file_size(output_), 0u);
  }
}

TEST_F(ExternalSortTest, the_output_may_be_one_of_the_inputs) {
  const RecordFormat format = format_of("gensort");
  Random random(87);
  for (const std::size_t count : {100u, 30000u}) {
    inputs_.clear();
    all_.clear();
    add_input(test::random_records(format, count, random));
    write_file(output_, text_of(test::random_records(format, count, random)));
    const std::string old = file_text(output_);
    const auto* bytes = reinterpret_cast<const std::byte*>(old.data());
    all_.insert(all_.end(), bytes, bytes + old.size());
    inputs_.push_back(output_);
    expect_sorted(options(format));
  }
}

TEST_F(ExternalSortTest, small_batches_take_several_passes_and_stay_stable) {
  const RecordFormat format = format_of("kv64");
  for (const unsigned batch_size : {2u, 3u}) {
    for (const bool unique : {false, true}) {
      SCOPED_TRACE(std::to_string(batch_size) + (unique ? " unique" : ""));
      Random random(88);
      inputs_.clear();
      all_.clear();
      add_input(test::few_distinct_records(format, 400000, 150000, random));
      FixedSortOptions options = this->options(format);
      options.batch_size = batch_size;
      options.unique = unique;
      options.scratch_dirs = {scratch_, scratch_ + "2", scratch_};
      options.queue_factory = test::simulated_queues(88);
      const SortReport report = expect_sorted(options);
      EXPECT_GT(report.runs, batch_size);
      EXPECT_GT(report.passes, 1u);
      EXPECT_LE(report.merge_degree, batch_size);
    }
  }
}

TEST_F(ExternalSortTest, a_stream_is_sorted_like_a_file) {
  const RecordFormat format = format_of("gensort");
  Random random(89);
  const std::string first = add_input(test::random_records(format, 5000, random));
  const std::string path = add_input(test::random_records(format, 25000, random));
  const std::string last = add_input(test::random_records(format, 700, random));
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const Backend backend : {Backend::automatic, Backend::threads}) {
    std::jthread writer([&] { write_file(fifo, file_text(path)); });
    FixedSortOptions options = this->options(format);
    options.inputs = {first, fifo, last};
    options.backend = backend;
    expect_sorted(options);
  }
}

// ---- merging only ----

TEST_F(ExternalSortTest, merge_only_merges_many_files_in_one_or_several_passes) {
  for (const char* record : {"u64", "gensort", "fixed:4099"}) {
    const RecordFormat format = format_of(record);
    for (const unsigned batch_size : {0u, 2u}) {
      SCOPED_TRACE(std::string(record) + " batch " + std::to_string(batch_size));
      Random random(90);
      inputs_.clear();
      all_.clear();
      for (int file = 0; file < 7; ++file) {
        const std::size_t count = random.below(500000 / format.record_bytes);
        add_input(
            test::sorted_records(format, test::few_distinct_records(format, count, 999, random)));
      }
      FixedSortOptions options = this->options(format, 4 * kMiB);
      options.merge_only = true;
      options.batch_size = batch_size;
      options.queue_factory = test::simulated_queues(90);
      const SortReport report = expect_sorted(options);
      EXPECT_EQ(report.passes, batch_size == 2 ? 3u : 1u);
    }
  }
}

TEST_F(ExternalSortTest, merge_only_of_a_file_out_of_order_is_bad_input) {
  const RecordFormat format = format_of("u64");
  Random random(91);
  add_input(test::sorted_records(format, test::random_records(format, 100000, random)));
  Bytes records = test::sorted_records(format, test::random_records(format, 100000, random));
  std::fill_n(records.begin() + 8 * 77777, 8, std::byte{1});
  add_input(records);
  FixedSortOptions options = this->options(format);
  options.merge_only = true;
  const Error error = error_of(options);
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
  const std::string text = error.what();
  EXPECT_NE(text.find(inputs_[1]), std::string::npos) << text;
  EXPECT_NE(text.find("byte " + std::to_string(8 * 77777)), std::string::npos) << text;
}

// ---- bad input, and bad places ----

TEST_F(ExternalSortTest, a_file_that_is_no_whole_number_of_records_is_bad_input) {
  add_input(Bytes(1003));
  for (const bool merge_only : {false, true}) {
    FixedSortOptions options = this->options(format_of("u64"));
    options.merge_only = merge_only;
    const Error error = error_of(options);
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.path(), inputs_[0]);
    EXPECT_EQ(error.offset(), 1000u);
  }
}

TEST_F(ExternalSortTest, a_stream_that_ends_inside_a_record_is_bad_input) {
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const bool merge_only : {false, true}) {
    std::jthread writer([&] { write_file(fifo, std::string(200005, 'x')); });
    FixedSortOptions options = this->options(format_of("u64"));
    options.inputs = {fifo};
    options.merge_only = merge_only;
    EXPECT_EQ(error_of(options).code(), ErrorCode::bad_input);
  }
}

TEST_F(ExternalSortTest, missing_inputs_and_directories_are_named) {
  add_input(Bytes(3 * kMiB));
  FixedSortOptions options = this->options(format_of("u64"));
  options.inputs.push_back(directory_ / "missing");
  EXPECT_EQ(error_of(options).path(), directory_ / "missing");
  options.inputs = {directory_.path()};
  EXPECT_EQ(error_of(options).sys_errno(), EISDIR);
  options.inputs = inputs_;
  options.scratch_dirs = {directory_ / "nowhere"};
  EXPECT_EQ(error_of(options).path(), directory_ / "nowhere");
}

TEST_F(ExternalSortTest, a_budget_that_is_too_small_is_told_before_anything_is_done) {
  add_input(Bytes(3 * kMiB));
  EXPECT_EQ(error_of(options(format_of("u64"), 10000)).code(), ErrorCode::no_space);
}

}  // namespace
}  // namespace xxl
