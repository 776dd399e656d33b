// Whole sorts of binary records on simulated devices, over real files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/simulated/simulated_device.h"
#include "gpu/sort/gpu_accelerator.h"
#include "io_test_support.h"
#include "job/fixed_sort/fixed_sort.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using gpu::GpuAccelerator;
using gpu::GpuOptions;
using gpu::MultiGpu;
using gpu::SimulatedDevice;
using gpu::SimulatedOptions;
using io::test::file_text;
using io::test::write_file;
using test::Bytes;
using test::format_of;
using test::text_of;

class GpuSortTest : public test::WholeSortTest {
 protected:
  // `devices` of `memory` bytes each.
  std::unique_ptr<GpuAccelerator> accelerator(std::size_t devices, SimulatedOptions simulated,
                                              MultiGpu strategy = MultiGpu::automatic,
                                              std::uint64_t limit = 0,
                                              std::uint64_t driver_bytes = 0) {
    GpuOptions options;
    options.driver_bytes = driver_bytes;
    options.strategy = strategy;
    options.memory_bytes = limit;
    options.find = [this, devices, simulated](std::uint64_t) {
      ++searches_;
      GpuOptions::Found found;
      for (std::size_t i = 0; i < devices; ++i) {
        found.devices.push_back(std::make_unique<SimulatedDevice>(static_cast<int>(i), simulated));
      }
      return found;
    };
    return std::make_unique<GpuAccelerator>(std::move(options));
  }

  FixedSortOptions options(const RecordFormat& format, const Bytes& records,
                           Accelerator& accelerator) {
    const std::string path = directory_ / "in";
    write_file(path, text_of(records));
    records_ = records;
    FixedSortOptions options;
    options.format = format;
    options.inputs = {path};
    options.output = output_;
    options.memory_bytes = 16 * kMiB;
    options.scratch_dirs = {scratch_};
    options.threads = 2;
    options.accelerator = &accelerator;
    options.acceleration = Acceleration::always;
    return options;
  }

  SortReport expect_sorted(const FixedSortOptions& options) {
    const SortReport report = fixed_sort(options);
    Bytes sorted = test::sorted_records(options.format, records_, options.unique);
    if (options.fold.folds()) sorted = test::folded_records(options.format, options.fold, sorted);
    const std::string expected = text_of(sorted);
    EXPECT_TRUE(file_text(options.output) == expected) << "the output is wrong";
    EXPECT_EQ(report.records_in, records_.size() / options.format.record_bytes);
    expect_nothing_left();
    return report;
  }

  Bytes records_;
  unsigned searches_ = 0;  // for devices, which starts their driver
  Random random_{1};
};

TEST_F(GpuSortTest, what_fits_is_sorted_in_one_pass) {
  for (const char* record : {"u32", "f64", "kv64", "gensort", "fixed:13"}) {
    const RecordFormat format = format_of(record);
    for (const std::size_t devices : {1, 3}) {
      auto gpus = accelerator(devices, {.memory_bytes = 64 * kMiB});
      const Bytes records = test::random_records(format, 4 * kMiB / format.record_bytes, random_);
      const SortReport report = expect_sorted(options(format, records, *gpus));
      EXPECT_EQ(report.runs, 1u) << record;
      EXPECT_EQ(report.passes, 0u);
      EXPECT_EQ(report.scratch_bytes, 0u);
      EXPECT_EQ(report.accelerator.devices.size(), devices);
    }
  }
}

TEST_F(GpuSortTest, what_does_not_fit_becomes_runs_that_are_merged) {
  for (const char* record : {"u64", "gensort"}) {
    const RecordFormat format = format_of(record);
    const Bytes records = test::random_records(format, 6 * kMiB / format.record_bytes, random_);
    for (const MultiGpu strategy :
         {MultiGpu::partition, MultiGpu::independent, MultiGpu::p2p_merge}) {
      for (const bool unique : {false, true}) {
        auto gpus = accelerator(2, {.memory_bytes = 64 * kMiB}, strategy, 4 * kMiB);
        FixedSortOptions sort = options(format, records, *gpus);
        sort.unique = unique;
        const SortReport report = expect_sorted(sort);
        EXPECT_GT(report.runs, 1u);
        EXPECT_EQ(report.passes, 1u);
      }
    }
  }
}

TEST_F(GpuSortTest, devices_merge_too) {
  for (const char* record : {"u32", "i64", "f32", "f64", "kv32", "kv64", "gensort", "fixed:13"}) {
    const RecordFormat format = format_of(record);
    for (const bool unique : {false, true}) {
      SCOPED_TRACE(std::string(record) + (unique ? " unique" : ""));
      const std::size_t count = 4 * kMiB / format.record_bytes;
      const Bytes records = unique ? test::few_distinct_records(format, count, count / 3, random_)
                                   : test::random_records(format, count, random_);
      auto gpus =
          accelerator(unique ? 1 : 3, {.memory_bytes = 64 * kMiB}, MultiGpu::independent, 5 * kMiB);
      FixedSortOptions sort = options(format, records, *gpus);
      sort.unique = unique;
      sort.merge_on_accelerator = AcceleratedMerge::always;
      const SortReport report = expect_sorted(sort);
      EXPECT_GT(report.runs, 1u);
      if (!unique) {
        EXPECT_EQ(report.merged_bytes, records.size());
      }
      EXPECT_GT(report.merged_on_accelerator_bytes, 0u);
      EXPECT_EQ(report.merged_on_accelerator_bytes, report.merged_bytes);
      EXPECT_EQ(report.merged_on_cpu_because, "");
    }
  }
}

TEST_F(GpuSortTest, devices_merge_in_several_passes) {
  for (const char* record : {"u64", "gensort"}) {
    const RecordFormat format = format_of(record);
    const Bytes records =
        test::few_distinct_records(format, 6 * kMiB / format.record_bytes, 20000, random_);
    for (const bool unique : {false, true}) {
      auto gpus = accelerator(2, {.memory_bytes = 64 * kMiB}, MultiGpu::independent, 4 * kMiB);
      FixedSortOptions sort = options(format, records, *gpus);
      sort.unique = unique;
      sort.batch_size = 2;
      sort.merge_on_accelerator = AcceleratedMerge::always;
      const SortReport report = expect_sorted(sort);
      EXPECT_GE(report.runs, 5u);
      EXPECT_GE(report.passes, 3u);
      EXPECT_GT(report.merged_bytes, 0u);
      EXPECT_EQ(report.merged_on_accelerator_bytes, report.merged_bytes);
    }
  }
}

TEST_F(GpuSortTest, devices_merge_only_what_they_are_allowed_to) {
  const RecordFormat format = format_of("u64");
  const Bytes records = test::random_records(format, kMiB, random_);
  auto gpus = accelerator(1, {.memory_bytes = 64 * kMiB}, MultiGpu::automatic, 8 * kMiB);
  FixedSortOptions sort = options(format, records, *gpus);
  sort.merge_on_accelerator = AcceleratedMerge::never;
  const SortReport report = expect_sorted(sort);
  EXPECT_EQ(report.merged_bytes, records.size());
  EXPECT_EQ(report.merged_on_accelerator_bytes, 0u);
}

TEST_F(GpuSortTest, devices_merge_sorted_files) {
  const RecordFormat format = format_of("gensort");
  for (const bool unique : {false, true}) {
    auto gpus = accelerator(1, {.memory_bytes = 64 * kMiB});
    Bytes all;
    FixedSortOptions sort = options(format, {}, *gpus);
    sort.inputs.clear();
    for (int file = 0; file < 5; ++file) {
      const Bytes records =
          test::sorted_records(format, test::few_distinct_records(format, 20000, 9000, random_));
      all.insert(all.end(), records.begin(), records.end());
      sort.inputs.push_back(directory_ / "in" + std::to_string(file));
      write_file(sort.inputs.back(), text_of(records));
    }
    records_ = all;
    sort.merge_only = true;
    sort.unique = unique;
    sort.merge_on_accelerator = AcceleratedMerge::always;
    const SortReport report = expect_sorted(sort);
    EXPECT_EQ(report.merged_on_accelerator_bytes, all.size());
    sort.merge_on_accelerator = AcceleratedMerge::never;
    EXPECT_THROW(fixed_sort(sort), Error);
  }
}

TEST_F(GpuSortTest, without_memory_of_devices_the_cpu_merges) {
  const RecordFormat format = format_of("u64");
  const Bytes records = test::random_records(format, kMiB, random_);
  auto calls = std::make_shared<std::atomic<int>>(0);
  SimulatedOptions simulated{.memory_bytes = 64 * kMiB};
  simulated.before = [calls](const char* operation) {
    if (std::string(operation) == "allocate" && ++*calls > 1) {
      throw Error(ErrorCode::no_space, "others have it");
    }
  };
  auto gpus = accelerator(1, simulated, MultiGpu::automatic, 8 * kMiB);
  FixedSortOptions sort = options(format, records, *gpus);
  sort.merge_on_accelerator = AcceleratedMerge::always;
  const SortReport report = expect_sorted(sort);
  EXPECT_EQ(report.merged_on_accelerator_bytes, 0u);
  EXPECT_EQ(report.merged_on_cpu_because, "others have it");
}

TEST_F(GpuSortTest, a_device_that_fails_in_the_merge_leaves_nothing_behind) {
  const RecordFormat format = format_of("gensort");
  const Bytes records = test::random_records(format, 100000, random_);
  for (const std::string failing :
       {"allocate", "copy in", "load", "sort", "refine", "store", "copy out"}) {
    SimulatedOptions simulated{.memory_bytes = 64 * kMiB};
    // The second device memory that is asked for is that of the first merge sorter.
    auto allocated = std::make_shared<std::atomic<int>>(0);
    auto calls = std::make_shared<std::atomic<int>>(0);
    simulated.before = [=](const char* operation) {
      if (std::string(operation) == "allocate") ++*allocated;
      const int nth = failing == "allocate" ? 1 : 5;
      if (*allocated >= 2 && operation == failing && ++*calls == nth) {
        throw Error(ErrorCode::device, "it broke");
      }
    };
    auto gpus = accelerator(1, simulated, MultiGpu::automatic, 8 * kMiB);
    FixedSortOptions sort = options(format, records, *gpus);
    sort.merge_on_accelerator = AcceleratedMerge::always;
    const Error error = error_of_sort(output_, [&] { fixed_sort(sort); });
    EXPECT_EQ(error.code(), ErrorCode::device);
    EXPECT_NE(std::string(error.what()).find("it broke"), std::string::npos) << failing;
  }
}

TEST_F(GpuSortTest, equal_keys_are_kept_in_order_or_left_out) {
  const RecordFormat format = format_of("fixed:16", {"0:u8"});
  const Bytes records = test::few_distinct_records(format, 200000, 5, random_);
  for (const bool unique : {false, true}) {
    auto gpus = accelerator(2, {.memory_bytes = 64 * kMiB});
    FixedSortOptions sort = options(format, records, *gpus);
    sort.unique = unique;
    expect_sorted(sort);
  }
}

TEST_F(GpuSortTest, groups_are_folded) {
  for (const char* record : {"u32", "kv64", "gensort"}) {
    for (const std::size_t few : {5, 40000}) {
      const RecordFormat format = format_of(record);
      const std::size_t count = 3 * kMiB / format.record_bytes;
      const Bytes records = test::few_distinct_records(format, count, few, random_);
      for (const std::uint64_t limit : {std::uint64_t{0}, 4 * kMiB}) {
        SCOPED_TRACE(std::string(record) + " " + std::to_string(few) + (limit ? " in runs" : ""));
        auto gpus = accelerator(2, {.memory_bytes = 64 * kMiB}, MultiGpu::independent, limit);
        FixedSortOptions sort = options(format, records, *gpus);
        sort.fold.count = true;
        if (limit != 0) sort.merge_on_accelerator = AcceleratedMerge::always;
        expect_sorted(sort);
      }
    }
  }
}

TEST_F(GpuSortTest, nothing_is_sorted_too) {
  auto gpus = accelerator(1, {.memory_bytes = 64 * kMiB});
  expect_sorted(options(format_of("u64"), {}, *gpus));
}

TEST_F(GpuSortTest, a_driver_that_takes_most_of_the_memory_is_not_started_by_itself) {
  const RecordFormat format = format_of("u64");
  for (const std::size_t memory : {100 * kMiB, 400 * kMiB, 1000 * kMiB}) {
    const auto new_gpus = [&] {
      return accelerator(2, {.memory_bytes = 64 * kMiB}, MultiGpu::automatic, 0, 128 * kMiB);
    };
    auto gpus = new_gpus();
    FixedSortOptions sort = options(format, {}, *gpus);
    sort.memory_bytes = memory;
    EXPECT_EQ(truncate(sort.inputs.front().c_str(), 4000 * kMiB), 0);
    EXPECT_EQ(plan_sort(sort).device, "2 x simulated, partition");  // as it was told to
    gpus = new_gpus();
    sort.accelerator = gpus.get();
    sort.acceleration = Acceleration::if_it_pays;
    searches_ = 0;
    EXPECT_EQ(plan_sort(sort).device, memory < 512 * kMiB ? "cpu" : "2 x simulated, partition");
    EXPECT_EQ(plan_sort(sort).no_accelerator.empty(), memory >= 512 * kMiB);
    EXPECT_EQ(searches_ == 0, memory < 256 * kMiB);
  }
}

TEST_F(GpuSortTest, memory_that_is_gone_is_done_without) {
  // What was free when the sort was planned is not when it is asked for, twice.
  const RecordFormat format = format_of("u64");
  const Bytes records = test::random_records(format, kMiB, random_);
  for (const int refused : {2, 100}) {
    auto left = std::make_shared<std::atomic<int>>(refused);
    SimulatedOptions simulated{.memory_bytes = 64 * kMiB};
    simulated.before = [left](const char* operation) {
      if (std::string(operation) == "allocate" && (*left)-- > 0) {
        throw Error(ErrorCode::no_space, "others have it");
      }
    };
    auto gpus = accelerator(1, simulated);
    const SortReport report = expect_sorted(options(format, records, *gpus));
    EXPECT_EQ(report.plan.device, refused == 2 ? "1 x simulated" : "cpu");
    EXPECT_EQ(report.plan.no_accelerator.empty(), refused == 2);
  }
}

TEST_F(GpuSortTest, a_device_that_fails_leaves_nothing_behind) {
  const RecordFormat format = format_of("gensort");
  const Bytes records = test::random_records(format, 100000, random_);
  for (const std::string failing : {"copy in", "sort", "refine", "cut", "store", "copy out"}) {
    auto calls = std::make_shared<std::atomic<int>>(0);
    SimulatedOptions simulated{.memory_bytes = 64 * kMiB};
    simulated.before = [calls, failing](const char* operation) {
      const int nth = failing == "cut" ? 1 : 3;
      if (operation == failing && ++*calls == nth) throw Error(ErrorCode::device, "it broke");
    };
    auto gpus = accelerator(2, simulated, MultiGpu::partition, 8 * kMiB);
    const FixedSortOptions sort = options(format, records, *gpus);
    const Error error = error_of_sort(output_, [&] { fixed_sort(sort); });
    EXPECT_EQ(error.code(), ErrorCode::device);
    EXPECT_NE(std::string(error.what()).find("it broke"), std::string::npos) << failing;
  }
}

TEST_F(GpuSortTest, large_records_make_large_slices) {
  auto gpus = accelerator(1, {.memory_bytes = 256 * kMiB});
  const RecordFormat format = format_of("fixed:1000000");
  const Bytes records = test::random_records(format, 3, random_);
  FixedSortOptions sort = options(format, records, *gpus);
  sort.memory_bytes = 128 * kMiB;
  expect_sorted(sort);
}

TEST_F(GpuSortTest, says_why_there_is_no_gpu) {
  GpuOptions none;
  none.find = [](std::uint64_t) -> GpuOptions::Found {
    throw Error(ErrorCode::device, "no GPU: it is elsewhere");
  };
  GpuAccelerator gpus(std::move(none));
  const RecordFormat format = format_of("u64");
  const FixedSortOptions sort = options(format, test::random_records(format, 1000, random_), gpus);
  const Error error = error_of_sort(output_, [&] { fixed_sort(sort); });
  EXPECT_NE(std::string(error.what()).find("it is elsewhere"), std::string::npos);
}

}  // namespace
}  // namespace xxl
