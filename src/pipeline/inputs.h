// The input files of a sort, opened and measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"

namespace xxl {

struct Inputs {
  std::vector<io::File> files;
  std::uint64_t bytes = 0;  // of the files whose size is known
  bool size_known = true;   // false if one is a pipe
};

// Opens `paths` ("-": standard input; none: likewise). Throws Error when one cannot be opened or is
// not a whole number of records of `record_bytes`.
Inputs open_inputs(std::vector<std::string> paths, std::size_t record_bytes);

// Reads `stream` to its end into an unnamed file in `directory`, by way of `buffer` (aligned to and
// a multiple of kSectorBytes): a pipe cannot be read at the places where a merge needs it. `bytes`
// becomes its size. Throws Error as open_inputs.
io::File spool(const io::File& stream, const std::string& directory, std::size_t record_bytes,
               std::span<std::byte> buffer, std::uint64_t& bytes);

}  // namespace xxl
