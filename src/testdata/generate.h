// Test data: gensort's records, and keys of well-known distributions for the other formats.
#pragma once

#include <cstdint>
#include <string_view>

#include "testdata/generate_options.h"
#include "testdata/record_checksum.h"

namespace xxl {

struct GenerateReport {
  std::uint64_t records = 0;
  Sum128 checksum = 0;  // 0 unless it was asked for
};

// A record depends on its number, the seed and total_records alone, so that any part of a data set
// can be made separately and in parallel; distributions.h says what each distribution is. A file
// appears when it is complete; standard output, and an `output` that cannot be replaced (a pipe, a
// device), is written in order. Needs at most 256 MiB, unless single records are very large. Throws
// Error.
GenerateReport generate(const GenerateOptions& options);

// "uniform", "zipf:0.75", ... into `options`. Throws Error{usage}.
void parse_distribution(std::string_view text, GenerateOptions& options);

}  // namespace xxl
