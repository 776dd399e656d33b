#include "report/summary.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/quote.h"
#include "base/units.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

bool goes_to_file(const std::string& output) {
  struct stat status;
  return output != "-" || (fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode));
}

}  // namespace

std::string thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string counts_text(std::uint64_t in, std::uint64_t out, const std::string& noun) {
  const std::string read = thousands(in) + " " + noun + (in == 1 ? "" : "s");
  return in == out ? read : read + " read, " + thousands(out) + " written";
}

void print_summary(const ParsedOptions& options, bool show_progress, const Summary& summary,
                   const Measurements& measured) {
  if (!show_progress || options.has("stats") || isatty(STDERR_FILENO) != 1) return;
  if (!goes_to_file(summary.output)) return;
  std::string text = "xxl: " + summary.counts;
  if (summary.bytes != 0) text += ", " + format_bytes(summary.bytes);
  text += " in " + decimal_text(measured.seconds, 1) + " s";
  if (summary.bytes != 0 && measured.seconds > 0) {
    const double rate = static_cast<double>(summary.bytes) / measured.seconds;
    text += " (" + format_bytes(static_cast<std::uint64_t>(rate)) + "/s)";
  }
  text += ", scratch " + format_bytes(measured.scratch_bytes);
  if (summary.output != "-") text += " -> " + quote_controls(summary.output);
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace xxl::cli
