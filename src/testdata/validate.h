// Is a file sorted, and what is in it: as valsort reports it, for every record format.
#pragma once

#include <cstdint>
#include <string>

#include "record/record_format.h"
#include "testdata/record_checksum.h"

namespace xxl {

struct ValidateReport {
  std::uint64_t records = 0;
  Sum128 checksum = 0;
  std::uint64_t duplicate_keys = 0;                   // neighbours with equal keys
  std::uint64_t unordered_records = 0;                // neighbours out of order
  std::uint64_t first_unordered = ~std::uint64_t{0};  // number of the first of them, from 0
};

// Reads `input` ("-" is standard input; .gz, .zst, .lz4 are decompressed) on `parallel` threads (0:
// as many as processors), in at most 64 MiB unless single records are very large. Throws Error,
// also when the file is not a whole number of records.
// A directory of parts is taken for its files, one after the other.
ValidateReport validate(const RecordFormat& format, const std::string& input,
                        unsigned parallel = 0);

// Compares the files of a directory of parts with its manifest. Throws Error{corrupt} where they
// differ, Error{bad_input} if it has none. Returns the number of files.
std::size_t validate_parts(const std::string& directory);

}  // namespace xxl
