// Sorters and jobs of files on GPUs, which are simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "callers/array_test_support.h"
#include "io_test_support.h"
#include "watchdog.h"
#include "xxl/join.h"
#include "xxl/resources.h"
#include "xxl/sort.h"
#include "xxl/sorter.h"

// Members of a job that are not named keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace xxl {
namespace {

using test::simulated_gpus;
using Finder = std::shared_ptr<const detail::GpuFinder>;

constexpr std::uint64_t kMemory = 24 << 20;

struct Measurement {
  std::uint32_t station;
  float degrees;
  std::uint64_t number;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

resources with(Device device, Finder gpus, unsigned users = 1) {
  return resources({.memory_bytes = users * kMemory,
                    .users = users,
                    .scratch_dirs = {testing::TempDir()},
                    .threads = 2,
                    .device = device,
                    .finder = std::move(gpus)});
}

// As many GPUs as wanted, which fail at the operation `failing`.
Finder failing_gpus(const char* failing) {
  gpu::SimulatedOptions options;
  options.before = [failing](const char* operation) {
    if (std::string(operation) == failing) throw Error(ErrorCode::device, "fell off the bus");
  };
  return simulated_gpus(1, options);
}

ErrorCode code_thrown_by(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::usage;
}

std::vector<Measurement> readings(std::size_t count) {
  Random random(count);
  std::vector<Measurement> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = {static_cast<std::uint32_t>(random.below(5000)),
              static_cast<float>(random.below(100)) - 50, i};
  }
  return all;
}

template <class Sorter>
auto sort_all(Sorter& sorter, std::span<const typename Sorter::value_type> records) {
  sorter.push(records);
  std::vector<typename Sorter::value_type> all;
  for (auto span = sorter.pull(); !span.empty(); span = sorter.pull()) {
    all.insert(all.end(), span.begin(), span.end());
  }
  return all;
}

// Of memory for all records, and for a small part; with and without knowing how many come.
TEST(SorterOnGpus, gives_what_processors_give) {
  const test::Watchdog watchdog;
  const auto records = readings(300'000);
  const auto by = xxl::by(&Measurement::station).then(xxl::desc(&Measurement::degrees));
  for (const sorter_options& wanted :
       {sorter_options{}, sorter_options{.unique = true}, sorter_options{.limit = 12'345}}) {
    sorter<Measurement> on_cpu(by, with(Device::cpu, nullptr), wanted);
    const auto expected = sort_all(on_cpu, records);
    EXPECT_EQ(on_cpu.report().plan.device, "cpu");
    for (const std::uint64_t memory : {8, 64}) {
      for (const std::size_t gpus : {1, 3}) {
        for (const std::uint64_t count : {std::size_t{0}, records.size() / 3, records.size()}) {
          sorter_options options = wanted;
          options.expected_records = count;
          sorter<Measurement> sorter(
              by, with(Device::gpu, simulated_gpus(gpus, {.memory_bytes = memory << 20})), options);
          EXPECT_TRUE(sort_all(sorter, records) == expected) << memory << " " << gpus;
          EXPECT_NE(sorter.report().plan.device.find("simulated"), std::string::npos);
          EXPECT_EQ(sorter.report().accelerator.devices.size(), gpus);
          if (memory == 8 && gpus == 1) {
            EXPECT_GT(sorter.report().runs, 1U);
          }
        }
      }
    }
  }
}

TEST(SorterOnGpus, is_pulled_again) {
  const test::Watchdog watchdog;
  const auto records = readings(300'000);
  for (const std::uint64_t memory : {8, 64}) {
    sorter<Measurement> sorter(xxl::by(&Measurement::station),
                               with(Device::gpu, simulated_gpus(2, {.memory_bytes = memory << 20})),
                               {.repeatable = true});
    const auto first = sort_all(sorter, records);
    ASSERT_EQ(first.size(), records.size());
    sorter.rewind();
    EXPECT_TRUE(sort_all(sorter, {}) == first);
  }
}

// Each has its part of a GPU's memory, so that none finds it taken by another.
TEST(SorterOnGpus, shares_their_memory_with_others) {
  const test::Watchdog watchdog;
  const auto numbers = readings(300'000);
  const auto on = [](unsigned users) {
    return with(Device::gpu, simulated_gpus(1, {.memory_bytes = 64 << 20}), users);
  };
  const resources shared = on(3);
  std::vector<sorter<Measurement>> sorters;
  for (int i = 0; i < 3; ++i) sorters.emplace_back(xxl::by(&Measurement::station), shared);
  for (auto& sorter : sorters) sorter.push(numbers);
  sorter<Measurement> alone(xxl::by(&Measurement::station), on(1));
  const auto expected = sort_all(alone, numbers);
  for (auto& sorter : sorters) {
    EXPECT_TRUE(sort_all(sorter, {}) == expected);
    EXPECT_LE(3 * sorter.report().plan.sort_memory_bytes, 64U << 20);
    EXPECT_LT(2 * sorter.report().plan.sort_memory_bytes, alone.report().plan.sort_memory_bytes);
  }
}

TEST(SorterOnGpus, takes_the_processors_where_gpus_are_not_there_or_do_not_pay) {
  const test::Watchdog watchdog;
  const auto records = readings(2'000'000);  // more than the memory
  const auto plan_of = [&](const Finder& gpus, std::uint64_t expected) {
    sorter<Measurement> sorter(xxl::by(&Measurement::number), with(Device::automatic, gpus),
                               {.expected_records = expected});
    EXPECT_EQ(sort_all(sorter, records).size(), records.size());
    return sorter.report().plan;
  };
  EXPECT_EQ(plan_of(simulated_gpus(1), 0).device, "cpu");     // not known to pay
  EXPECT_EQ(plan_of(simulated_gpus(1), 1000).device, "cpu");  // fits in memory
  EXPECT_NE(plan_of(simulated_gpus(1), records.size()).device, "cpu");
  const SortPlan none = plan_of(simulated_gpus(0), records.size());
  EXPECT_EQ(none.device, "cpu");
  EXPECT_NE(none.no_accelerator.find("none is simulated"), std::string::npos);
  detail::GpuFinder costly = *simulated_gpus(1);
  costly.driver_bytes = kMemory;
  const SortPlan refused =
      plan_of(std::make_shared<const detail::GpuFinder>(costly), records.size());
  EXPECT_NE(refused.no_accelerator.find("the driver would take"), std::string::npos);
}

TEST(SorterOnGpus, fails_where_gpus_are_asked_for_and_cannot_do_it) {
  const auto push = [](auto&& sorter, auto record) {
    for (int i = 0; i < 1000; ++i) sorter.push(record);
    sorter.sort();
    for (; !sorter.empty(); ++sorter) {
    }
  };
  const auto none = with(Device::gpu, simulated_gpus(0));
  const auto one = with(Device::gpu, simulated_gpus(1));
  EXPECT_EQ(code_thrown_by([&] { push(sorter<int>({}, none), 1); }), ErrorCode::device);
  const auto by_comparing = [](int a, int b) { return a < b; };
  EXPECT_EQ(
      code_thrown_by([&] { push(sorter<int, decltype(by_comparing)>(by_comparing, one), 1); }),
      ErrorCode::device);
  EXPECT_EQ(code_thrown_by([&] { push(sorter<std::string>({}, one), "a"); }), ErrorCode::device);
  const auto failing = with(Device::gpu, failing_gpus("sort"));
  EXPECT_EQ(code_thrown_by([&] { push(sorter<int>({}, failing), 1); }), ErrorCode::device);
  EXPECT_EQ(failing.free_memory_bytes(), kMemory);
  EXPECT_EQ(code_thrown_by([] { resources({.gpus = {0, 1, 0}}); }), ErrorCode::usage);
  const resources missing(
      {.memory_bytes = kMemory, .device = Device::gpu, .gpus = {7}, .finder = simulated_gpus(2)});
  EXPECT_EQ(code_thrown_by([&] { push(sorter<int>({}, missing), 1); }), ErrorCode::device);
}

class JobsOnGpus : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_ / name; }
  std::string write(const std::string& name, std::uint64_t seed,
                    const std::function<std::string(std::uint64_t)>& line) {
    Random random(seed);
    std::string content;
    for (int i = 0; i < 300'000; ++i) content += line(random.below(1'000'000));
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string write_numbers(const std::string& name, std::uint64_t seed) {
    return write(name, seed, [](std::uint64_t number) {
      return std::string(reinterpret_cast<const char*>(&number), sizeof number);
    });
  }
  std::string write_lines(const std::string& name, std::uint64_t seed) {
    return write(name, seed,
                 [](std::uint64_t number) { return std::to_string(number) + ",abcdefgh\n"; });
  }
  template <class Report>
  std::string output_of(const std::function<Report(const resources&)>& run, const resources& shared,
                        Report* report = nullptr) {
    const Report done = run(shared);
    if (report != nullptr) *report = done;
    std::ifstream stream(path("output"), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  io::test::TempDirectory directory_;
};

TEST_F(JobsOnGpus, give_what_processors_give) {
  const test::Watchdog watchdog;
  std::vector<SortJob> jobs{{.inputs = {write_numbers("numbers", 1)}, .format = "u64"},
                            {.inputs = {write_lines("lines", 2)}},
                            {.inputs = {path("lines")}, .format = "csv", .keys = {"1:integer"}}};
  for (SortJob& job : jobs) {
    job.output = path("output");
    const auto run = [&](const resources& shared) { return sort_files(job, shared); };
    const std::string expected = output_of<SortReport>(run, with(Device::cpu, nullptr));
    for (const std::uint64_t memory : {8, 64}) {
      SortReport report;
      EXPECT_TRUE(output_of<SortReport>(
                      run, with(Device::gpu, simulated_gpus(2, {.memory_bytes = memory << 20})),
                      &report) == expected)
          << job.format;
      EXPECT_EQ(report.accelerator.devices.size(), 2U) << job.format;
    }
  }
  JoinJob join{.inputs = {write_numbers("r", 3), path("numbers")}, .formats = {"u64", "u64"}};
  join.method = JoinMethod::sort_merge;
  join.output = path("output");
  const auto run = [&](const resources& shared) { return join_files(join, shared); };
  const std::string expected = output_of<JoinReport>(run, with(Device::cpu, nullptr));
  JoinReport report;
  EXPECT_TRUE(output_of<JoinReport>(run, with(Device::gpu, simulated_gpus(2)), &report) ==
              expected);
  EXPECT_EQ(report.accelerator.devices.size(), 2U);
}

TEST_F(JobsOnGpus, fall_back_to_processors_unless_gpus_were_asked_for) {
  const test::Watchdog watchdog;
  SortJob sort{.inputs = {write("numbers", 1,
                                [](std::uint64_t number) {
                                  return std::string(128, static_cast<char>(number));
                                })},
               .format = "fixed:128"};
  sort.output = path("output");
  const auto run = [&](const resources& shared) { return sort_files(sort, shared); };
  const std::string expected = output_of<SortReport>(run, with(Device::cpu, nullptr));
  SortReport report;
  EXPECT_TRUE(output_of<SortReport>(run, with(Device::automatic, failing_gpus("sort")), &report) ==
              expected);
  EXPECT_EQ(report.plan.device, "cpu");
  EXPECT_NE(report.plan.no_accelerator.find("fell off the bus"), std::string::npos);
  std::ofstream(path("output"), std::ios::trunc) << "old";
  EXPECT_EQ(code_thrown_by([&] { run(with(Device::gpu, failing_gpus("sort"))); }),
            ErrorCode::device);
  EXPECT_EQ(code_thrown_by([&] { run(with(Device::gpu, simulated_gpus(0))); }), ErrorCode::device);
  std::string old;
  std::ifstream(path("output")) >> old;
  EXPECT_EQ(old, "old");
}

TEST_F(JobsOnGpus, joins_of_text_are_for_processors) {
  JoinJob join{.inputs = {write_lines("r", 3), write_lines("s", 4)}};
  join.output = path("output");
  EXPECT_EQ(code_thrown_by([&] { join_files(join, with(Device::gpu, simulated_gpus(1))); }),
            ErrorCode::device);
  EXPECT_GT(join_files(join, with(Device::automatic, simulated_gpus(1))).rows, 0U);
}

}  // namespace
}  // namespace xxl
