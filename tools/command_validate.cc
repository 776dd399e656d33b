// xxl validate: what valsort of the sort benchmark prints, for every record format.
#include <cstdio>

#include "command.h"
#include "pipeline/validate.h"

namespace xxl::cli {

int run_validate(const ParsedOptions& options) {
  if (!options.has("record")) {
    throw_usage(options.command(),
                "say with --record what the records are, for example "
                "--record=gensort");
  }
  if (options.operands().size() > 1) {
    throw_usage(options.command(), "extra operand '" + options.operands()[1] + "'");
  }
  const RecordFormat format = format_option(options, "", options.has("reverse"));
  const std::string input = options.operands().empty() ? "-" : options.operands().front();
  const ValidateReport report = validate(format, input, parallel_option(options));

  const auto number = [](std::uint64_t value) { return static_cast<std::uintmax_t>(value); };
  std::printf("Records: %ju\n", number(report.records));
  std::printf("Checksum: %s\n", checksum_text(report.checksum_high, report.checksum_low).c_str());
  std::printf("Duplicate keys: %ju\n", number(report.duplicate_keys));
  if (!report.first_unordered.has_value()) {
    std::printf("SUCCESS - all records are in order\n");
    return kExitSuccess;
  }
  std::printf("First unordered record is record %ju\n", number(*report.first_unordered));
  std::printf("ERROR - there are %ju unordered records\n", number(report.unordered_records));
  return kExitDisorder;
}

}  // namespace xxl::cli
