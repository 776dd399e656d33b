// xxl validate: what valsort of the sort benchmark prints, for every record format.
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/units.h"
#include "cli/command.h"
#include "job/files/text_kind.h"
#include "testdata/validate.h"

namespace xxl::cli {
namespace {

constexpr unsigned kMostThreads = 4096;

}  // namespace

int run_validate(const ParsedOptions& options) {
  if (options.operands().size() > 1) {
    throw_usage(options.command(), "extra operand '" + options.operands()[1] + "'");
  }
  const std::string input = options.operands().empty() ? "-" : options.operands().front();
  std::error_code error;
  const bool in_parts = input != "-" && std::filesystem::is_directory(input, error);
  if (error) throw_io_error(error.value(), Operation::open_input, input);
  if (in_parts) {
    const std::size_t parts = validate_parts(input);
    std::printf("Parts: %zu, as the manifest says\n", parts);
    if (!options.has("format")) return kExitSuccess;
  }
  if (!options.has("format")) {
    throw_usage(options.command(),
                "say with --record what the records are, for example "
                "--record=gensort");
  }
  if (text_kind(options.value("format", "")) != TextKind::none) {
    throw_usage(options.command(), "works on binary records: use xxl check for lines and rows");
  }
  const RecordFormat format = format_option(options, "", options.has("reverse"));
  const ValidateReport report = validate(format, input, parallel_option(options));

  const auto number = [](std::uint64_t value) { return static_cast<std::uintmax_t>(value); };
  std::printf("Records: %ju\n", number(report.records));
  std::printf("Checksum: %s\n", checksum_text(report.checksum).c_str());
  std::printf("Duplicate keys: %ju\n", number(report.duplicate_keys));
  if (report.unordered_records == 0) {
    std::printf("SUCCESS - all records are in order\n");
    return kExitSuccess;
  }
  std::printf("First unordered record is record %ju\n", number(report.first_unordered));
  std::printf("ERROR - there are %ju unordered records\n", number(report.unordered_records));
  return kExitDisorder;
}

// As valsort of gensort 1.5 prints it, and exits. Its -o, -s and -i are not supported.
int run_stand_in_valsort(std::span<const std::string> arguments) {
  bool quiet = false;
  unsigned parallel = 0;
  while (!arguments.empty() && arguments.front().starts_with('-')) {
    const std::string& option = arguments.front();
    if (option == "-q") {
      quiet = true;
    } else if (option.starts_with("-t")) {
      parallel = static_cast<unsigned>(parse_number(option.substr(2), "-t", 0, kMostThreads));
    } else {
      throw Error(ErrorCode::usage, "option " + option + " is not known: there are -q and -tN");
    }
    arguments = arguments.subspan(1);
  }
  if (arguments.size() != 1) {
    throw Error(ErrorCode::usage, "give one file: usage: valsort [-q] [-tN] FILE");
  }
  const ValidateReport report =
      validate(parse_record_format("gensort"), arguments.front(), parallel);
  if (report.records == 0) {
    std::fputs("there must be at least one record to be validated\n", stderr);
    return kExitValsortError;
  }
  const bool in_order = report.unordered_records == 0;
  if (!quiet) {
    const auto number = [](std::uint64_t value) { return static_cast<std::uintmax_t>(value); };
    if (!in_order) {
      std::fprintf(stderr, "First unordered record is record %ju\n",
                   number(report.first_unordered));
    }
    std::fprintf(stderr, "Records: %ju\nChecksum: %s\n", number(report.records),
                 checksum_text(report.checksum).c_str());
    if (in_order) {
      std::fprintf(stderr, "Duplicate keys: %ju\nSUCCESS - all records are in order\n",
                   number(report.duplicate_keys));
    } else {
      std::fprintf(stderr, "ERROR - there are %ju unordered records\n",
                   number(report.unordered_records));
    }
  }
  return in_order ? kExitSuccess : kExitDisorder;
}

}  // namespace xxl::cli
