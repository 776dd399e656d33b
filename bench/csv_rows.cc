// Speed of splitting and of keys of rows: bytes a second, and rows a second for keys.
#include "record/csv_rows.h"

#include <benchmark/benchmark.h>

#include "base/random.h"
#include "record/csv_keys.h"

namespace {

using xxl::Random;

// Rows of 7 columns, about 64 bytes; with `quoted` the names are in quotes.
std::string make_rows(bool quoted) {
  Random random(1);
  std::string text;
  while (text.size() < (std::size_t{1} << 22)) {
    const std::string quote(quoted ? 1 : 0, '"');
    text += std::to_string(random.below(10000000)) + ',';
    text += quote + "name " + std::to_string(random.below(100000)) + quote + ',';
    text +=
        std::to_string(random.below(100000)) + '.' + std::to_string(10 + random.below(90)) + ',';
    text += "2024-0" + std::to_string(1 + random.below(9)) + "-17T12:34:56Z,";
    text += "EUR,x," + std::to_string(random.below(1000)) + '\n';
  }
  return text;
}

const std::string& rows(bool quoted) {
  static const std::string texts[2] = {make_rows(false), make_rows(true)};
  return texts[quoted ? 1 : 0];
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::size_t> ends;
  xxl::append_row_ends(text, false, '\n', 0, ends);
  std::vector<std::string_view> result;
  std::size_t start = 0;
  for (const std::size_t end : ends) {
    result.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

void scan(benchmark::State& state) {
  const std::string& text = rows(state.range(0) != 0);
  for (auto _ : state) benchmark::DoNotOptimize(xxl::scan_quotes(text, '\n'));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(scan)->Arg(0)->Arg(1)->ArgName("quoted");

void row_ends(benchmark::State& state) {
  const std::string& text = rows(state.range(0) != 0);
  std::vector<std::size_t> ends;
  for (auto _ : state) {
    ends.clear();
    xxl::append_row_ends(text, false, '\n', 0, ends);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(row_ends)->Arg(0)->Arg(1)->ArgName("quoted");

void splitter(benchmark::State& state) {
  const std::string& text = rows(state.range(0) != 0);
  for (auto _ : state) {
    xxl::RowSplitter rows_of(',', '\n');
    std::string_view rest = text;
    while (!rest.empty()) rest.remove_prefix(rows_of.next(rest, true)->size + 1);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(splitter)->Arg(0)->Arg(1)->ArgName("quoted");

void fields(benchmark::State& state) {
  const auto all = split(rows(state.range(0) != 0));
  xxl::RowFields fields_of;
  for (auto _ : state) {
    for (const std::string_view row : all) fields_of.parse(row, ',');
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * all.size()));
}
BENCHMARK(fields)->Arg(0)->Arg(1)->ArgName("quoted");

void keys(benchmark::State& state, const char* spec, bool checked) {
  const auto all = split(rows(state.range(0) != 0));
  xxl::CsvOrder order;
  if (spec != nullptr) order.keys = {xxl::parse_csv_key(spec)};
  const xxl::CsvKeys keys_of(order);
  std::string key;
  for (auto _ : state) {
    for (const std::string_view row : all) {
      key.clear();
      if (checked) {
        keys_of.append_checked_key(row, xxl::KeyExtractor::kWholeKey, key);
      } else {
        keys_of.append_key(row, xxl::KeyExtractor::kWholeKey, key);
      }
    }
    benchmark::DoNotOptimize(key);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * all.size()));
}
BENCHMARK_CAPTURE(keys, integer_1, "1:integer", false)->Arg(0)->Arg(1)->ArgName("quoted");
BENCHMARK_CAPTURE(keys, text_2, "2", false)->Arg(0)->Arg(1)->ArgName("quoted");
BENCHMARK_CAPTURE(keys, number_3, "3:number", false)->Arg(0)->Arg(1)->ArgName("quoted");
BENCHMARK_CAPTURE(keys, number_3_checked, "3:number", true)->Arg(0)->Arg(1)->ArgName("quoted");
BENCHMARK_CAPTURE(keys, date_4, "4:date", false)->Arg(0)->Arg(1)->ArgName("quoted");
BENCHMARK_CAPTURE(keys, all, nullptr, false)->Arg(0)->Arg(1)->ArgName("quoted");

}  // namespace

BENCHMARK_MAIN();
