#include "options.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "contents.h"

namespace xxl::campaign {
namespace {

using cli::OptionSpec;
using cli::Scope;
using cli::ValueKind;

constexpr auto kWithJob = std::to_array<std::string_view>(
    {"format", "no-header", "on", "record1", "record2", "key", "left-on", "right-on", "seed",
     "random-source", "output", "parts", "part-bytes", "part-by", "buffer-size",
     "temporary-directory",
     // GPUs are simulated.
     "device", "gpu-memory", "multi-gpu", "gpu-merge"});

constexpr auto kNever = std::to_array<std::string_view>(
    {// They say something and do nothing.
     "help", "version", "explain", "debug", "progress", "stats",
     // What they write depends on the time.
     "time-line", "report",
     // A program of the user's, which runs outside of the machine.
     "compress-program",
     // Inputs have neither comments nor escapes.
     "comment", "escape",
     // They need --malformed=skip, and a file of their own.
     "rejects", "max-rejects",
     // Ignored.
     "-y",
     // A plain table of orders, which each of its values has as an option.
     "sort"});

// The output does not depend on them.
constexpr auto kOfResources = std::to_array<std::string_view>(
    {"io", "compression", "verify", "method", "compress-program", "buffer-size",
     "temporary-directory", "parallel", "batch-size", "device", "gpu-memory", "multi-gpu",
     "gpu-merge", "temp-compress"});

std::string draw_number_type(Random& random) {
  std::string type =
      random.pick({"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"});
  if (!type.ends_with('8') && random.one_in(4)) type += "be";
  return type;
}

// OFFSET:TYPE within a record.
std::string draw_field(const Job& job, Random& random) {
  const std::size_t bytes = parse_record_format(record_of(job)).record_bytes;
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::string type = draw_number_type(random);
    const std::size_t length = std::stoul(type.substr(1)) / 8;
    if (length <= bytes) return std::to_string(random.below(bytes - length + 1)) + ":" + type;
  }
  return "0:bytes1";
}

std::string draw_line_key(Random& random) {
  std::string key = std::to_string(random.between(1, 4));
  if (random.one_in(4)) key.append(".").append(std::to_string(random.between(1, 3)));
  const auto order = [&] {
    return random.one_in(2) ? std::string(random.pick(
                                  {"n", "g", "b", "d", "f", "r", "nr", "V", "h", "M", "i", "bf"}))
                            : "";
  };
  key += order();
  if (!random.one_in(3)) key.append(",").append(std::to_string(random.between(1, 4)));
  return key;
}

std::string draw_column(const Job& job, std::size_t column) {
  return has(job.options, "--header") ? std::string(kColumns[column]) : std::to_string(column + 1);
}

std::string draw_row_key(const Job& job, Random& random) {
  static constexpr std::array<std::string_view, 4> kTypes{":integer", "", ":number", ":date"};
  const std::size_t column = random.below(kTypes.size());
  // Names are no numbers, and without a header the first row need not be one.
  return draw_column(job, column) + std::string(random.one_in(3) ? "" : kTypes[column]) +
         std::string(random.pick({"", "", ":desc", ":asc"}));
}

// Lists have no order.
std::string draw_table_key(const Job& job, Random& random) {
  const std::size_t column = random.one_in(3) ? 0 : random.below(std::size(kTableColumns) - 1);
  if (job.command == "join") return std::string(kTableColumns[column]);
  return (random.one_in(3) ? std::to_string(column + 1) : std::string(kTableColumns[column])) +
         random.pick({"", "", ":desc"}) + random.pick({"", "", ":nulls-first"});
}

// For rows, one of these columns; with its type if values are compared.
std::string draw_fold(const Job& job, Random& random, const std::vector<std::size_t>& columns,
                      bool compares) {
  static constexpr std::array<std::string_view, 5> kTypes{"", ":text", "", ":date", ":text"};
  if (kind_of(job) == Kind::binary) return draw_field(job, random);
  const std::size_t column = random.pick(columns);
  return draw_column(job, column) + std::string(compares ? kTypes[column] : "") +
         random.pick({"", "", ":folded", ":f;1", ":f2"});
}

std::string draw_record_number(const Job& job, Random& random) {
  std::uint64_t records = 0;
  for (const Input& input : job.inputs) records += input.records;
  return std::to_string(random.below(random.one_in(2) ? 5 : records + 2));
}

using Maker = std::function<std::string(const Job&, Random&)>;

const std::map<std::string_view, Maker>& makers() {
  static const auto between = [](std::uint64_t least, std::uint64_t most) {
    return [=](const Job&, Random& random) { return std::to_string(random.between(least, most)); };
  };
  static const auto fold = [](std::initializer_list<std::size_t> columns, bool compares = false) {
    return [columns = std::vector(columns), compares](const Job& job, Random& random) {
      return draw_fold(job, random, columns, compares);
    };
  };
  static const auto one_of = [](std::vector<std::string> values) {
    return [values = std::move(values)](const Job&, Random& random) { return random.pick(values); };
  };
  static const std::map<std::string_view, Maker> made{
      {"skip", draw_record_number},
      {"limit", draw_record_number},
      {"head-count", draw_record_number},
      {"batch-size", between(2, 6)},
      {"parallel", between(1, 8)},
      {"temp-compress", one_of({"lz4", "zstd", "zstd:1", "none"})},
      {"sum", fold({0, 2})},
      {"min", fold({0, 1, 2, 3, 4}, true)},
      {"max", fold({0, 1, 2, 3, 4}, true)},
      {"mean", fold({0, 2})},
      {"first", fold({0, 1, 2, 3, 4})},
      {"last", fold({0, 1, 2, 3, 4})},
      {"collect", fold({0, 1, 2, 3, 4})},
      {"null", one_of({"NA", "0", "1"})},
      {"field-separator", one_of({",", ":", "|", "\t", "a"})},
      {"-t", one_of({",", ":", "|", "\t", "a"})},
      {"files0-from", one_of({"in/names"})},
      {"-1", between(1, 3)},
      {"-2", between(1, 3)},
      {"-j", between(1, 3)},
      {"-a", between(1, 2)},
      {"-v", between(1, 2)},
      {"-e", one_of({"NONE", "-"})},
      {"method",
       [](const Job& job, Random& random) {
         const std::uint64_t methods = kind_of(job) == Kind::binary ? 3 : 2;
         return std::array{"auto", "sort-merge", "hash"}[random.below(methods)];
       }},
      {"compression",
       [](const Job& job, Random& random) {
         return record_of(job) == "parquet"
                    ? random.pick({"none", "zstd", "snappy", "lz4", "gzip:9"})
                    : random.pick({"none", "zstd", "lz4"});
       }},
      {"layout",
       [](const Job& job, Random& random) {
         return kind_of(job) == Kind::binary
                    ? random.pick({"0", "0,m", "m,2.0:1,1.0:1", "1.0:4,2.0:4"})
                    : random.pick({"auto", "0", "0,1.1,2.2", "1.2 2.1", "2.9,0"});
       }},
      {"suffixes",
       [](const Job& job, Random& random) {
         // Of columns, those of the left table keep their names.
         return kind_of(job) == Kind::columns ? random.pick({",_right", ",_s"})
                                              : random.pick({"_r,_s", ",_right"});
       }},
  };
  return made;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

Drawn how_drawn(const OptionSpec& option) {
  const std::string key = option.key();
  if (option.set_by_command) return Drawn::never;
  if (std::ranges::find(kNever, key) != kNever.end()) return Drawn::never;
  if (std::ranges::find(kWithJob, key) != kWithJob.end()) return Drawn::with_job;
  return Drawn::from_table;
}

bool is_of_resources(const OptionSpec& option) {
  return std::ranges::find(kOfResources, option.key()) != kOfResources.end();
}

std::string name_of(const OptionSpec& option) {
  return option.long_name.empty() ? option.key() : "--" + option.key();
}

std::string argument(const OptionSpec& option, std::string_view value) {
  return name_of(option) + (option.long_name.empty() ? "" : "=") + std::string(value);
}

std::optional<std::string> draw_argument(const OptionSpec& option, const Job& job, Random& random) {
  if (option.value == ValueKind::none) return name_of(option);
  if (option.value == ValueKind::optional && random.one_in(3)) return name_of(option);
  if (const auto maker = makers().find(option.key()); maker != makers().end()) {
    return argument(option, maker->second(job, random));
  }
  const std::vector<std::string> words = split_words(option.words);
  if (words.empty()) return std::nullopt;
  return argument(option, random.pick(words));
}

bool is_for(const OptionSpec& option, Kind kind) {
  switch (option.scope) {
    case Scope::all:
      return true;
    case Scope::records:
      return kind != Kind::columns;
    case Scope::text:
      return kind == Kind::lines || kind == Kind::rows;
    case Scope::lines:
      return kind == Kind::lines;
    case Scope::rows:
      return kind == Kind::rows;
    case Scope::tables:
      return kind == Kind::rows || kind == Kind::columns;
    case Scope::binary:
      return kind == Kind::binary;
    case Scope::fields:
      return kind == Kind::rows || kind == Kind::binary;
    case Scope::columns:
      return kind == Kind::columns;
  }
  return false;
}

std::string draw_key(const Job& job, Random& random) {
  switch (kind_of(job)) {
    case Kind::lines:
      return job.command == "join" ? std::to_string(random.between(1, 3)) : draw_line_key(random);
    case Kind::rows:
      return draw_row_key(job, random);
    case Kind::binary:
      return draw_field(job, random) + std::string(random.pick({"", "", ":desc", ":asc"}));
    case Kind::columns:
      return draw_table_key(job, random);
  }
  return {};
}

}  // namespace xxl::campaign
