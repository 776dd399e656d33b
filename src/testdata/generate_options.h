// Options of test data.
#pragma once

#include <cstdint>
#include <string>

#include "record/record_format.h"
#include "testdata/gensort.h"

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
  unsigned threads = 0;      // threads; 0: as many as processors
  bool checksum = false;     // compute the report's checksum
  // gensort only:
  bool ascii = false;
  bool skewed = false;
  // other formats only:
  Distribution distribution = Distribution::uniform;
  double zipf_theta = 1.0;
  std::uint64_t seed = 1;
};

}  // namespace xxl
