// Whole sorts of text on simulated GPUs, compared with those on the CPU.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "gpu/simulated/simulated_device.h"
#include "gpu/sort/gpu_accelerator.h"
#include "io_test_support.h"
#include "job/files/row_sort.h"
#include "job/general_sort/general_sort.h"
#include "late_fault.h"
#include "line_order_test_support.h"
#include "record/csv_keys.h"
#include "record/csv_spec.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using Records = std::vector<std::string>;
using test::Counter;

struct Gpus {
  std::size_t count = 1;
  std::uint64_t memory_bytes = 4 * kMiB;  // of each
  std::uint64_t driver_bytes = 0;         // GpuOptions::driver_bytes
  gpu::MultiGpu strategy = gpu::MultiGpu::automatic;
  std::function<void(const char*)> before = nullptr;  // SimulatedOptions::before
};

std::unique_ptr<Accelerator> make_accelerator(const Gpus& gpus) {
  gpu::GpuOptions options;
  options.strategy = gpus.strategy;
  options.driver_bytes = gpus.driver_bytes;
  options.find = [gpus](std::uint64_t) {
    gpu::GpuOptions::Found found;
    for (std::size_t i = 0; i < gpus.count; ++i) {
      gpu::SimulatedOptions simulated;
      simulated.memory_bytes = gpus.memory_bytes;
      simulated.before = gpus.before;
      found.devices.push_back(
          std::make_unique<gpu::SimulatedDevice>(static_cast<int>(i), simulated));
    }
    return found;
  };
  return std::make_unique<gpu::GpuAccelerator>(std::move(options));
}

enum class Lines {
  mixed,
  short_ones,
  equal,
  long_prefixes,
  numbers,
  frequent,
  any_bytes,
  long_ones
};
constexpr Lines kAllLines[] = {Lines::mixed,         Lines::short_ones, Lines::equal,
                               Lines::long_prefixes, Lines::numbers,    Lines::frequent,
                               Lines::any_bytes,     Lines::long_ones};

std::string make_lines(Lines kind, std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::string text;
  const auto letters = [&](std::size_t most, unsigned of) {
    std::string word(random.below(most + 1), ' ');
    for (char& c : word) c = static_cast<char>('a' + random.below(of));
    return word;
  };
  for (std::uint64_t i = 0; text.size() < bytes; ++i) {
    switch (kind) {
      case Lines::mixed:
        text += letters(12, 5) + ' ' + letters(30, 26) + ' ' + std::to_string(random.below(1000));
        break;
      case Lines::short_ones:
        text += letters(2, 2);
        break;
      case Lines::equal:
        text += "equal";
        break;
      case Lines::long_prefixes:
        text += std::string(random.below(3) * 700, 'p') + letters(4, 3);
        break;
      case Lines::numbers:
        text += std::to_string(static_cast<std::int64_t>(random.below(2000)) - 1000) + ' ' +
                std::to_string(i);
        break;
      case Lines::frequent:
        text += random.below(4) != 0 ? "frequent " + std::to_string(i) : letters(8, 26);
        break;
      case Lines::any_bytes:
        for (std::size_t n = random.below(40); n > 0; --n) {
          const char c = static_cast<char>(random.below(256));
          text += c == '\n' ? '\0' : c;
        }
        break;
      case Lines::long_ones:
        text += random.below(300) == 0 ? std::string(random.below(150000), 'l') + letters(3, 26)
                                       : letters(30, 26);
        break;
    }
    text += '\n';
  }
  return text;
}

class GpuTextSort : public test::WholeSortTest {
 protected:
  GpuTextSort() {
    options_.keys = make_line_keys(test::line_order_of({}));
    options_.output = output_;
    options_.memory_bytes = 2 * kMiB;
    options_.scratch_dirs = {scratch_};
    options_.threads = 2;
  }

  void set_input(const std::string& text) { set_inputs({text}); }
  void set_inputs(const std::vector<std::string>& texts) {
    options_.inputs.clear();
    for (const std::string& text : texts) {
      options_.inputs.push_back(directory_ / ("in" + std::to_string(options_.inputs.size())));
      write_file(options_.inputs.back(), text);
    }
  }
  void sort_by(std::vector<std::string> options) {
    options_.keys = make_line_keys(test::line_order_of(options));
  }

  SortReport sort_on(const Gpus& gpus) {
    const auto accelerator = make_accelerator(gpus);
    GeneralSortOptions options = options_;
    options.accelerator = accelerator.get();
    options.acceleration = Acceleration::always;
    return general_sort(options);
  }

  // As many bytes as the input has are one chunk, or several.
  void expect_as_on_cpu(const Gpus& gpus) {
    GeneralSortOptions on_cpu = options_;
    on_cpu.output = directory_ / "expected";
    const SortReport expected = general_sort(on_cpu);
    const SortReport report = sort_on(gpus);
    EXPECT_TRUE(file_text(output_) == file_text(on_cpu.output)) << "the output is wrong";
    EXPECT_EQ(report.records_in, expected.records_in);
    EXPECT_EQ(report.records_out, expected.records_out);
    EXPECT_EQ(report.skipped, expected.skipped);
    EXPECT_EQ(report.checksum, expected.checksum);
    expect_nothing_left();
    last_ = report;
  }

  // On one and several devices, as one chunk and as many.
  void expect_as_on_cpu() {
    for (const std::size_t count : {1, 2, 3}) {
      for (const std::uint64_t memory : {4 * kMiB, 64 * kMiB}) {
        for (const gpu::MultiGpu strategy :
             {gpu::MultiGpu::partition, gpu::MultiGpu::p2p_merge, gpu::MultiGpu::independent}) {
          if (count == 1 && strategy != gpu::MultiGpu::partition) continue;
          SCOPED_TRACE(std::to_string(count) + " devices of " + format_bytes(memory) +
                       ", strategy " + std::to_string(static_cast<int>(strategy)));
          expect_as_on_cpu({.count = count, .memory_bytes = memory, .strategy = strategy});
          if (HasFailure()) return;
        }
      }
    }
  }

  GeneralSortOptions options_;
  SortReport last_;
};

TEST_F(GpuTextSort, any_lines_in_any_order) {
  for (const Lines kind : kAllLines) {
    if (kind == Lines::long_ones) options_.memory_bytes = 4 * kMiB;
    for (const std::vector<std::string>& order : std::vector<std::vector<std::string>>{
             {}, {"-r"}, {"-n"}, {"-k2,2", "-k1,1r"}, {"-s", "-k1,1"}, {"-V"}}) {
      SCOPED_TRACE("lines " + std::to_string(static_cast<int>(kind)) + " by " +
                   (order.empty() ? "" : order.front()));
      sort_by(order);
      set_input(make_lines(kind, kMiB, static_cast<std::uint64_t>(kind)));
      expect_as_on_cpu({1 + static_cast<std::size_t>(kind) % 3, 4 * kMiB});
      if (HasFailure()) return;
    }
  }
}

TEST_F(GpuTextSort, a_driver_that_takes_most_of_the_memory_is_not_started_by_itself) {
  set_input("a\n");
  EXPECT_EQ(truncate(options_.inputs.front().c_str(), 4000 * kMiB), 0);
  const auto accelerator =
      make_accelerator({.count = 2, .memory_bytes = 640 * kMiB, .driver_bytes = 128 * kMiB});
  options_.accelerator = accelerator.get();
  for (const std::size_t memory : {100 * kMiB, 400 * kMiB, 1000 * kMiB}) {
    options_.memory_bytes = memory;
    options_.acceleration = Acceleration::always;
    EXPECT_EQ(plan_general_sort(options_).device, "2 x simulated, partition");
    options_.acceleration = Acceleration::if_it_pays;
    EXPECT_EQ(plan_general_sort(options_).device,
              memory < 512 * kMiB ? "cpu" : "2 x simulated, partition");
  }
}

TEST_F(GpuTextSort, on_any_number_of_devices_as_one_chunk_or_as_several) {
  set_input(make_lines(Lines::mixed, 3 * kMiB, 1));
  expect_as_on_cpu({1, 64 * kMiB});
  EXPECT_EQ(last_.runs, 1u);
  EXPECT_EQ(last_.passes, 0u);
  expect_as_on_cpu({1, 4 * kMiB});
  EXPECT_GT(last_.runs, 2u);
  EXPECT_EQ(last_.passes, 1u);
  expect_as_on_cpu();
}

TEST_F(GpuTextSort, with_every_rule_of_what_is_written) {
  for (const Lines kind : {Lines::frequent, Lines::short_ones}) {
    set_input(make_lines(kind, 200 * kKiB, 2));
    sort_by({"-k1,1"});
    options_.unique = false;
    options_.limit = 1000;
    expect_as_on_cpu();
    options_.limit = 0;
    expect_as_on_cpu({1, 64 * kMiB});
    options_.unique = true;
    options_.limit.reset();
    expect_as_on_cpu();
    options_.limit = 7;
    expect_as_on_cpu();
    options_.limit.reset();
    options_.fold = std::make_unique<Counter>;
    expect_as_on_cpu();
    options_.fold = nullptr;
    if (HasFailure()) return;
  }
}

TEST_F(GpuTextSort, of_several_files_without_line_ends_or_without_anything) {
  set_inputs({"b\na", "", "\n\nc", std::string("x\0y\nx", 5), "b"});
  expect_as_on_cpu();
  set_inputs({""});
  expect_as_on_cpu();
  EXPECT_EQ(last_.records_in, 0u);
  set_inputs({"\n"});
  expect_as_on_cpu();
  set_inputs({"only"});
  expect_as_on_cpu();
}

TEST_F(GpuTextSort, ended_by_zero_bytes) {
  std::string text = make_lines(Lines::mixed, kMiB, 3);
  std::replace(text.begin(), text.end(), '\n', '\0');
  std::replace(text.begin(), text.end(), ' ', '\n');
  options_.syntax.terminator = '\0';
  set_input(text);
  expect_as_on_cpu();
}

// A line longer than a slice, and even than a region, is sorted by the CPU, in its place.
TEST_F(GpuTextSort, with_lines_that_are_too_long_for_a_device) {
  options_.memory_bytes = 4 * kMiB;
  sort_by({"-s", "-k1,1"});
  const std::string lines = make_lines(Lines::frequent, kMiB / 4, 4);
  set_input(lines + "frequent " + std::string(300000, 'x') + '\n' + lines);
  expect_as_on_cpu();
  set_input(lines + "frequent " + std::string(200000, 'x') + '\n' + lines + "a " +
            std::string(200000, 'y') + "\nfrequent " + std::string(400000, 'x'));
  expect_as_on_cpu();
  set_input(std::string(200000, 'y'));
  expect_as_on_cpu();
}

TEST_F(GpuTextSort, of_rows_with_their_headers) {
  Random random(5);
  std::string text = "number,name\n";
  while (text.size() < kMiB / 2) {
    text += std::to_string(random.below(5000)) + ",\"a, \"\"quoted\"\"\nname " +
            std::to_string(random.below(100)) + "\"\r\n";
    if (random.below(1000) == 0) text += "no number,malformed\n";
  }
  CsvOrder order;
  order.keys = {parse_csv_key("1:number:desc"), parse_csv_key("2")};
  const auto keys = make_csv_keys(order);
  options_.syntax.rows = true;
  options_.syntax.header = true;
  options_.syntax.tolerant = true;
  options_.keys_of_header = [keys](std::string_view) { return keys; };
  options_.keys = nullptr;
  auto malformed = MalformedRows::skip;
  options_.malformed = [keys, &malformed](std::string_view row) {
    return fault_of(keys->check(row), malformed, RowUse::moved);
  };
  set_inputs({text, text});
  expect_as_on_cpu();
  EXPECT_GT(last_.skipped, 0u);

  malformed = MalformedRows::error;
  options_.syntax.tolerant = false;
  const Error error = error_of_sort(output_, [&] { sort_on({}); });
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
}

TEST_F(GpuTextSort, of_malformed_rows_the_first_of_the_input_is_told) {
  test::LateFault fault;
  set_input(test::LateFault::text(2 * kMiB, 200 * kKiB));
  options_.syntax.rows = true;
  options_.malformed = [&](std::string_view row) { return fault.check(row); };
  const Error error = error_of_sort(output_, [&] { sort_on({}); });
  const std::string line = "line " + std::to_string(test::LateFault::kFirstLine) + ":";
  EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
}

TEST_F(GpuTextSort, of_what_comes_out_of_a_pipe) {
  options_.memory_bytes = 4 * kMiB;
  const std::string text = make_lines(Lines::mixed, 3 * kMiB, 6) + std::string(300000, 'x') + '\n' +
                           make_lines(Lines::mixed, kMiB, 7);
  set_input(text);
  GeneralSortOptions on_cpu = options_;
  on_cpu.output = directory_ / "expected";
  general_sort(on_cpu);
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  options_.inputs = {pipe};
  for (const std::uint64_t memory : {4 * kMiB, 64 * kMiB}) {
    std::thread writer([&] { std::ofstream(pipe) << text; });
    sort_on({2, memory});
    writer.join();
    EXPECT_TRUE(file_text(output_) == file_text(on_cpu.output));
    expect_nothing_left();
  }
}

TEST_F(GpuTextSort, says_why_it_cannot) {
  set_input("b\na\n");
  EXPECT_EQ(error_of_sort(output_, [&] { sort_on({1, 64 * kKiB}); }).code(), ErrorCode::device);
  options_.merge_only = true;
  EXPECT_EQ(error_of_sort(output_, [&] { sort_on({}); }).code(), ErrorCode::usage);
}

TEST_F(GpuTextSort, tells_of_any_operation_that_fails_and_leaves_nothing) {
  set_input(make_lines(Lines::mixed, 2 * kMiB, 8));
  for (const char* const failing : {"copy in", "sort", "refine", "cut", "concatenate", "slice text",
                                    "gather text", "copy out"}) {
    for (const int nth : {1, 7}) {
      SCOPED_TRACE(failing);
      std::atomic<int> calls = 0;
      const auto before = [&](const char* operation) {
        if (operation == std::string(failing) && ++calls == nth) {
          throw Error(ErrorCode::device, std::string("it fails: ") + failing);
        }
      };
      for (const std::uint64_t memory : {4 * kMiB, 64 * kMiB}) {
        calls = 0;
        write_file(output_, "what was here before");
        bool failed = false;
        try {
          sort_on({.count = 2,
                   .memory_bytes = memory,
                   .strategy = gpu::MultiGpu::partition,
                   .before = before});
        } catch (const Error& error) {
          failed = true;
          EXPECT_EQ(error.code(), ErrorCode::device);
          EXPECT_EQ(file_text(output_), "what was here before");
        }
        EXPECT_EQ(failed, calls >= nth);
        expect_nothing_left();
      }
    }
  }
}

}  // namespace
}  // namespace xxl
