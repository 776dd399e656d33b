// Test data: gensort's records, and keys of well-known distributions for the other formats.
#pragma once

#include <cstdint>
#include <string>

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
  std::uint64_t first_record = 0;  // number of the first record written
  std::string output = "-";        // "-" is standard output; a file appears atomically
  unsigned parallel = 0;           // threads; 0: as many as processors
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
  // Sum of zlib's crc32 over each record, as gensort -c prints it (128 bits: high, low).
  std::uint64_t checksum_high = 0;
  std::uint64_t checksum_low = 0;
};

// The distributions are defined by record number and seed alone, so that any part of a file can be
// made by itself and in parallel. Throws Error.
GenerateReport generate(const GenerateOptions& options);

// "uniform", "zipf:0.75", ... into `options`. Throws Error{usage}.
void parse_distribution(std::string_view text, GenerateOptions& options);

}  // namespace xxl
