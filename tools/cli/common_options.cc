// Options that several commands have.
#include "base/error.h"
#include "cli/command.h"
#include "job/files/text_kind.h"

namespace xxl::cli {
namespace {

constexpr unsigned kMaxThreads = 4096;

}  // namespace

RecordFormat format_option(const ParsedOptions& options, std::string_view fallback, bool reverse) {
  const std::string_view command = options.command().name;
  return parse_record_format(options.value("format", fallback), options.values("key"), reverse,
                             command == "gen" || command == "validate" ? "" : kOtherRecords);
}

unsigned parallel_option(const ParsedOptions& options) {
  return static_cast<unsigned>(options.number("parallel", 0, 1, kMaxThreads));
}

std::string output_option(const ParsedOptions& options) {
  const std::string output = options.value("output", "-");
  for (const std::string& other : options.values("output")) {
    if (other != output) throw_usage(options.command(), "several output files given");
  }
  if (output.empty()) refuse_empty_output(options);
  return output;
}

void refuse_empty_output(const ParsedOptions& options) {
  throw_usage(options.command(), "the name of the output file is empty");
}

}  // namespace xxl::cli
