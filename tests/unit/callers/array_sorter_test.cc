// Arrays of programs, sorted on simulated GPUs and on processors.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "callers/array_test_support.h"
#include "xxl/array.h"

namespace xxl {
namespace {

using test::simulated_gpus;

struct Reading {
  std::uint32_t station = 0;
  float degrees = 0;
  char place[6] = {};
  std::uint16_t number = 0;  // where it was
  friend bool operator==(const Reading& a, const Reading& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
};

std::vector<Reading> make_readings(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<Reading> readings(count);
  for (std::size_t i = 0; i < count; ++i) {
    readings[i].station = static_cast<std::uint32_t>(random() % 100);
    readings[i].degrees = static_cast<float>(random() % 30) - 10;
    readings[i].place[5] = static_cast<char>(random() % 3);
    readings[i].number = static_cast<std::uint16_t>(i);
  }
  return readings;
}

order<Reading> station_then_hottest() {
  return by(&Reading::station).then(desc(&Reading::degrees)).then(&Reading::place);
}

std::vector<Reading> sorted_copy(std::vector<Reading> readings) {
  std::stable_sort(readings.begin(), readings.end(), [](const Reading& a, const Reading& b) {
    if (a.station != b.station) return a.station < b.station;
    if (a.degrees != b.degrees) return a.degrees > b.degrees;
    return std::memcmp(a.place, b.place, sizeof a.place) < 0;
  });
  return readings;
}

array_options on(Device device, std::shared_ptr<const detail::GpuFinder> gpus) {
  array_options options{.device = device, .threads = 2};
  options.finder = std::move(gpus);
  return options;
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::corrupt;
}

TEST(SortOfArrays, sorts_alike_on_any_number_of_gpus_and_on_processors) {
  for (const std::size_t count : {0, 1, 5, 3000, 60000}) {
    const std::vector<Reading> readings = make_readings(count);
    const std::vector<Reading> expected = sorted_copy(readings);
    for (const std::size_t gpus : {0, 1, 2, 5}) {
      std::vector<Reading> in_place = readings, apart(count);
      array_sorter<Reading> sorter(station_then_hottest(),
                                   on(gpus == 0 ? Device::cpu : Device::gpu, simulated_gpus(gpus)));
      const array_report report = sorter.sort(in_place);
      EXPECT_TRUE(in_place == expected) << count << " on " << gpus;
      sorter.sort(readings, apart);
      EXPECT_TRUE(apart == expected) << count << " on " << gpus;
      if (count > 0) {
        EXPECT_EQ(report.devices.size(), std::max<std::size_t>(gpus, 1));
        EXPECT_EQ(report.devices.front() == "cpu", gpus == 0);
      }
    }
  }
}

TEST(SortOfArrays, is_kept_for_arrays_of_any_size) {
  array_sorter<Reading> sorter(station_then_hottest(), on(Device::gpu, simulated_gpus(2)));
  for (const std::size_t count : {1000, 50, 30000, 0, 30000, 7}) {
    std::vector<Reading> readings = make_readings(count);
    const std::vector<Reading> expected = sorted_copy(readings);
    sorter.sort(readings);
    EXPECT_TRUE(readings == expected) << count;
  }
}

TEST(SortOfArrays, sorts_numbers_without_an_order) {
  std::vector<double> numbers = {3, -1, 2, -0.5};
  sort_array(numbers);
  EXPECT_EQ(numbers, (std::vector<double>{-1, -0.5, 2, 3}));
  std::uint16_t few[] = {1, 3, 2};
  const array_report report = sort_array(few, std::greater<>());
  EXPECT_EQ(few[0], 3);
  EXPECT_EQ(few[2], 1);
  EXPECT_EQ(report.devices, std::vector<std::string>{"cpu"});
  EXPECT_NE(report.no_gpu.find("too little"), std::string::npos);
}

TEST(SortOfArrays, uses_processors_where_there_is_no_gpu_unless_one_is_required) {
  std::vector<int> numbers = {2, 1};
  const array_report report = sort_array(numbers, {}, on(Device::automatic, simulated_gpus(0)));
  EXPECT_EQ(numbers.front(), 1);
  EXPECT_NE(report.no_gpu.find("none is simulated"), std::string::npos);
  EXPECT_EQ(code_of([&] { sort_array(numbers, {}, on(Device::gpu, simulated_gpus(0))); }),
            ErrorCode::device);
}

TEST(SortOfArrays, uses_processors_where_gpus_are_too_small_unless_they_are_required) {
  const std::vector<Reading> readings = make_readings(200000);  // 3 MB
  std::vector<Reading> sorted = readings;
  const auto small = simulated_gpus(1, {.memory_bytes = 64 * kKiB});
  const array_report report =
      sort_array(sorted, station_then_hottest(), on(Device::automatic, small));
  EXPECT_TRUE(sorted == sorted_copy(readings));
  EXPECT_EQ(report.devices, std::vector<std::string>{"cpu"});
  EXPECT_FALSE(report.no_gpu.empty());
  sorted = readings;
  EXPECT_EQ(code_of([&] { sort_array(sorted, station_then_hottest(), on(Device::gpu, small)); }),
            ErrorCode::no_space);
  EXPECT_TRUE(sorted == readings);
}

TEST(SortOfArrays, uses_gpus_and_processors_for_what_is_larger_than_gpus) {
  const std::vector<Reading> readings = make_readings(200000);  // 3 MB
  for (const bool peers : {true, false}) {
    std::vector<Reading> sorted = readings;
    const auto small = simulated_gpus(2, {.memory_bytes = kMiB + kMiB / 2, .peers = peers});
    array_sorter<Reading> sorter(station_then_hottest(), on(Device::automatic, small));
    for (int repeat = 0; repeat < 2; ++repeat) {
      const array_report report = sorter.sort(readings, sorted);
      EXPECT_TRUE(sorted == sorted_copy(readings));
      EXPECT_EQ(report.devices,
                (std::vector<std::string>{"GPU 0, simulated", "GPU 1, simulated", "cpu"}));
    }
  }
}

// Of two GPUs that are no peers one has no memory at all: the other one sorts, in parts.
TEST(SortOfArrays, leaves_out_gpus_without_memory) {
  detail::GpuFinder finder = *simulated_gpus(2);
  finder.find = [] {
    detail::GpuFinder::Found found;
    found.links = gpu::GpuLinks(2);
    for (const std::uint64_t memory : {std::uint64_t{64} << 10, 2 * kMiB}) {
      found.devices.push_back(std::make_unique<gpu::SimulatedDevice>(
          static_cast<int>(found.devices.size()),
          gpu::SimulatedOptions{.memory_bytes = memory, .peers = false}));
    }
    return found;
  };
  std::vector<Reading> readings = make_readings(200000);
  const std::vector<Reading> expected = sorted_copy(readings);
  const array_report report =
      sort_array(readings, station_then_hottest(),
                 on(Device::gpu, std::make_shared<const detail::GpuFinder>(std::move(finder))));
  EXPECT_TRUE(readings == expected);
  EXPECT_EQ(report.devices, (std::vector<std::string>{"GPU 1, simulated", "cpu"}));
}

// Of two peers one has no memory for half of the array, but a link.
TEST(SortOfArrays, uses_the_links_of_gpus_that_have_too_little_memory) {
  std::atomic<int> passed = 0;
  detail::GpuFinder finder = *simulated_gpus(2);
  finder.find = [&passed] {
    detail::GpuFinder::Found found;
    found.links = gpu::GpuLinks(2);
    found.links.link(0, 1) = found.links.link(1, 0) = {true, gpu::kAssumedNvlinkRate};
    gpu::SimulatedOptions options{.memory_bytes = 66 * kMiB};
    options.before = [&passed](const char* operation) {
      if (operation == std::string("copy")) ++passed;
    };
    found.devices.push_back(std::make_unique<gpu::SimulatedDevice>(0, options));
    found.devices.push_back(std::make_unique<gpu::SimulatedDevice>(
        1, gpu::SimulatedOptions{.memory_bytes = 200 * kMiB}));
    return found;
  };
  struct Page {
    std::uint64_t number;
    std::byte rest[120];
  };
  std::vector<Page> pages(900'000);  // 115 MB
  std::mt19937_64 random(1);
  for (Page& page : pages) page.number = random();
  const array_report report =
      sort_array(pages, by(&Page::number),
                 on(Device::gpu, std::make_shared<const detail::GpuFinder>(std::move(finder))));
  EXPECT_TRUE(std::is_sorted(pages.begin(), pages.end(),
                             [](const Page& a, const Page& b) { return a.number < b.number; }));
  EXPECT_EQ(report.devices, (std::vector<std::string>{"GPU 1, simulated", "GPU 0, simulated"}));
  EXPECT_GT(passed, 0);
}

TEST(SortOfArrays, takes_more_gpus_where_one_would_do_but_is_too_small) {
  std::vector<std::uint64_t> numbers(1000000);
  std::mt19937_64 random(1);
  for (auto& number : numbers) number = random();
  const gpu::SimulatedOptions each{.memory_bytes = 8 * kMiB};
  // Links that are no faster than those to the host: one sorts, if it can.
  const auto slow = simulated_gpus(4, each, false);
  array_options options = on(Device::gpu, slow);
  EXPECT_EQ(sort_array(std::span(numbers).first(50000), {}, options).devices.size(), 1);
  EXPECT_EQ(sort_array(numbers, {}, options).devices.size(), 4);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST(SortOfArrays, uses_the_gpus_that_are_named) {
  std::vector<int> numbers(1000, 1);
  array_options options = on(Device::automatic, simulated_gpus(4));
  options.gpus = {2, 1};
  const array_report report = sort_array(numbers, {}, options);
  ASSERT_EQ(report.devices.size(), 2);
  EXPECT_TRUE(report.devices[0].starts_with("GPU 2, "));
  options.gpus = {4};
  EXPECT_EQ(code_of([&] { sort_array(numbers, {}, options); }), ErrorCode::usage);
  options.gpus = {1, 1};
  EXPECT_EQ(code_of([&] { sort_array(numbers, {}, options); }), ErrorCode::usage);
}

TEST(SortOfArrays, sorts_on_one_gpu_where_they_are_no_peers) {
  std::vector<int> numbers = {3, 2, 1};
  const auto strangers = simulated_gpus(3, {.memory_bytes = 64 * kMiB, .peers = false});
  EXPECT_EQ(sort_array(numbers, {}, on(Device::gpu, strangers)).devices.size(), 1);
  EXPECT_EQ(numbers.front(), 1);
}

TEST(SortOfArrays, sorts_again_on_processors_if_a_gpu_fails_unless_records_are_lost) {
  gpu::SimulatedOptions failing{.memory_bytes = 64 * kMiB};
  failing.before = [](const char* operation) {
    if (operation == std::string("copy out")) throw Error(ErrorCode::device, "it fails");
  };
  const std::vector<Reading> readings = make_readings(5000);
  std::vector<Reading> sorted(readings.size());
  array_sorter<Reading> sorter(station_then_hottest(),
                               on(Device::automatic, simulated_gpus(2, failing)));
  const array_report report = sorter.sort(readings, sorted);
  EXPECT_TRUE(sorted == sorted_copy(readings));
  EXPECT_EQ(report.no_gpu, "it fails");
  EXPECT_EQ(code_of([&] { sorter.sort(sorted); }), ErrorCode::device);
  array_sorter<Reading> demanding(station_then_hottest(),
                                  on(Device::gpu, simulated_gpus(2, failing)));
  EXPECT_EQ(code_of([&] { demanding.sort(readings, sorted); }), ErrorCode::device);
}

TEST(SortOfArrays, refuses_arrays_that_overlap_or_differ_in_size) {
  std::vector<int> numbers(10);
  array_sorter<int> sorter;
  const std::span all(numbers);
  EXPECT_EQ(code_of([&] { sorter.sort(all.first(6), all.last(6)); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { sorter.sort(all.first(4), all.last(6)); }), ErrorCode::usage);
  sorter.sort(all.first(5), all.last(5));
  sorter.sort(all, all);
}

}  // namespace
}  // namespace xxl
