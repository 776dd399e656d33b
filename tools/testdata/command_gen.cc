// xxl gen.
#include <charconv>
#include <cstdio>
#include <limits>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "job/job_defaults.h"
#include "testdata/generate.h"

namespace xxl::cli {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::uint64_t>::max();

// The number of the first record, of up to 128 bits.
RecordNumber start_option(const ParsedOptions& options) {
  const std::string text = options.value("start", "0");
  constexpr RecordNumber kMost = ~RecordNumber{0};
  RecordNumber value = 0;
  for (const char c : text) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (digit > 9 || value > (kMost - digit) / 10) value = kMost;
    if (value == kMost) break;
    value = value * 10 + digit;
  }
  if (value == kMost || text.empty()) {
    throw_usage(options.command(),
                "invalid --start argument '" + text + "': give a number up to 2^128 - 2");
  }
  return value;
}

// Options that would do nothing for these records are refused.
void refuse_foreign_options(const ParsedOptions& options, const RecordFormat& format) {
  const std::vector<const char*> foreign = format.name == "gensort"
                                               ? std::vector{"key", "distribution", "seed", "total"}
                                               : std::vector{"ascii", "skewed"};
  for (const char* key : foreign) {
    if (!options.has(key)) continue;
    throw_usage(options.command(), "--" + std::string(key) + " is not for --format=" + format.name);
  }
}

}  // namespace

int run_gen(const ParsedOptions& options) {
  GenerateOptions gen;
  gen.format = format_option(options, "gensort", false);
  refuse_foreign_options(options, gen.format);
  if (options.operands().size() != 1) {
    throw_usage(options.command(), options.operands().empty()
                                       ? "say how many records"
                                       : "extra operand '" + options.operands()[1] + "'");
  }
  gen.records = parse_count(options.operands().front(), "RECORDS");
  gen.first_record = start_option(options);
  if (options.has("total")) {
    gen.total_records = parse_count(options.value("total", ""), "--total");
  }
  gen.output = output_option(options);
  gen.scratch_dir = default_scratch_dir();
  gen.threads = parallel_option(options);
  gen.ascii = options.has("ascii");
  gen.skewed = options.has("skewed");
  gen.checksum = options.has("checksum");
  gen.seed = options.number("seed", gen.seed, 0, kMaxNumber);
  if (options.has("distribution")) parse_distribution(options.value("distribution", ""), gen);

  const GenerateReport report = generate(gen);
  if (gen.checksum) {
    std::fprintf(stderr, "%s\n", checksum_text(report.checksum).c_str());
  }
  return kExitSuccess;
}

}  // namespace xxl::cli
