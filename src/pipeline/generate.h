// Test data: gensort's records, and keys of well-known distributions for the other formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pipeline/gensort.h"
#include "record/record_format.h"

namespace xxl {

enum class Distribution {
  uniform,
  normal,
  zipf,
  sorted,
  reverse,
  nearly_sorted,
  few_distinct,
  constant,
};

struct GenerateOptions {
  RecordFormat format;
  std::uint64_t records = 0;
  RecordNumber first_record = 0;  // number of the first record written; gensort: of 128 bits
  // Records of the whole data set that these are a part of; 0: first_record + records. The keys of
  // zipf, sorted, reverse and nearly-sorted depend on it.
  std::uint64_t total_records = 0;
  std::string output = "-";  // "-" is standard output; a file appears atomically
  std::string scratch_dir;   // is used if the file is written in place
  unsigned parallel = 0;     // threads; 0: as many as processors
  bool checksum = false;     // compute the report's checksum
  // gensort only:
  bool ascii = false;
  bool skewed = false;
  // other formats only:
  Distribution distribution = Distribution::uniform;
  double zipf_theta = 1.0;
  std::uint64_t seed = 1;
};

struct GenerateReport {
  std::uint64_t records = 0;
  // Sum of zlib's crc32 over each record, as gensort -c prints it (128 bits: high, low); 0 unless
  // it was asked for.
  std::uint64_t checksum_high = 0;
  std::uint64_t checksum_low = 0;
};

// A record depends on its number, the seed and total_records alone, so that any part of a data set
// can be made by itself and in parallel; distributions.h says what each distribution is. A file
// appears when it is complete; standard output, and an `output` that cannot be replaced (a pipe, a
// device), is written in order. Needs at most 256 MiB, unless single records are very large. Throws
// Error.
GenerateReport generate(const GenerateOptions& options);

// "uniform", "zipf:0.75", ... into `options`. Throws Error{usage}.
void parse_distribution(std::string_view text, GenerateOptions& options);

}  // namespace xxl
