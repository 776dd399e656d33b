// Time of making the keys of sort(1), a line of about 100 bytes, by kind; with and without a limit
// of 16 bytes. Argument: a locale.
//
//   line_keys_bench [LOCALE] [--benchmark_filter=...]
#include <benchmark/benchmark.h>

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "record/line_keys.h"

namespace {

using xxl::KeyExtractor;

// "<number> <word> <month> <size> <name>-<version>.tar.gz <words...>"
std::vector<std::string> make_lines() {
  std::mt19937_64 random(1);
  const auto word = [&] {
    std::string text;
    for (std::size_t n = 3 + random() % 8; n != 0; --n)
      text += static_cast<char>('a' + random() % 26);
    if (random() % 4 == 0) text[0] = static_cast<char>(text[0] - 32);
    return text;
  };
  std::vector<std::string> lines;
  for (int i = 0; i < 4096; ++i) {
    std::string line = std::to_string(random() % 100000000) + "." + std::to_string(random() % 100);
    line += " " + word() + " Mar " + std::to_string(random() % 1000) + "K ";
    line += word() + "-1." + std::to_string(random() % 40) + ".tar.gz";
    while (line.size() < 95) line += " " + word();
    lines.push_back(line);
  }
  return lines;
}

void make_keys(benchmark::State& state, const std::vector<std::string>& options,
               std::size_t limit) {
  static const std::vector<std::string> lines = make_lines();
  xxl::LineOrder order;
  order.stable = true;
  for (const std::string& option : options) {
    if (option.starts_with("-k")) {
      order.fields.push_back(xxl::parse_line_key(option.substr(2)));
    } else if (option.starts_with("-t")) {
      order.separator = option[2];
    } else {
      for (const char c : option) xxl::set_line_key_flag(c, xxl::BlankSide::both, order.flags);
    }
  }
  const auto keys = xxl::make_line_keys(order);
  std::string key;
  std::size_t key_bytes = 0;
  for (auto _ : state) {
    for (const std::string& line : lines) {
      key.clear();
      keys->append_key(line, limit, key);
      benchmark::DoNotOptimize(key.data());
      key_bytes += key.size();
    }
  }
  const auto count = static_cast<double>(state.iterations()) * static_cast<double>(lines.size());
  state.counters["s/line"] =
      benchmark::Counter(count, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["key_bytes"] = static_cast<double>(key_bytes) / count;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (!std::setlocale(LC_ALL, argc > 1 ? argv[1] : "C")) {
    std::fprintf(stderr, "no such locale\n");
    return 2;
  }
  const std::vector<std::vector<std::string>> sets = {
      {"-k1"},    {"-k2,2"}, {"-t ", "-k2,2"},    {"-k6"}, {"-f"},
      {"-d"},     {"-n"},    {"-k4,4h"},          {"-g"},  {"-k3,3M"},
      {"-k5,5V"}, {"-R"},    {"-k2,2r", "-k1,1n"}};
  for (const auto& options : sets) {
    std::string name;
    for (const auto& option : options) name += (name.empty() ? "" : " ") + option;
    benchmark::RegisterBenchmark((name + " whole").c_str(), make_keys, options,
                                 KeyExtractor::kWholeKey);
    benchmark::RegisterBenchmark((name + " 16 bytes").c_str(), make_keys, options, std::size_t{16});
  }
  benchmark::RunSpecifiedBenchmarks();
}
