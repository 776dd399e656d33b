// One line on what was done, for people at a terminal.
#pragma once

#include <cstdint>
#include <string>

#include "cli/parse_options.h"
#include "xxl/job.h"

namespace xxl::cli {

struct Summary {
  std::string counts;       // counts_text()
  std::uint64_t bytes = 0;  // of the input; 0: unknown
  std::string output;       // "-": standard output
};

// "12,000 rows", or "12,000 rows read, 7 written"; `noun` in the singular.
std::string counts_text(std::uint64_t in, std::uint64_t out, const std::string& noun);
// "12,000".
std::string thousands(std::uint64_t number);

// "xxl: 12,000 rows, 1.5 MiB in 0.2 s (7.5 MiB/s), scratch 0 B -> out.csv". On a terminal only, if
// progress is shown there, without --stats, and unless the output goes to the terminal or a pipe.
void print_summary(const ParsedOptions& options, bool show_progress, const Summary& summary,
                   const Measurements& measured);

}  // namespace xxl::cli
