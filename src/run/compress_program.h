// Filters bytes through a program, as sort(1) does with --compress-program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace xxl {

// The program cannot be run at all: it does not exist, or is none.
class NoSuchProgram : public Error {
 public:
  using Error::Error;
};

// Runs `program`, with the argument -d if `decompress`, found as a shell would find it; gives it
// `in` as standard input and returns its standard output. It may read and write in any order:
// neither side blocks on a full pipe. Throws NoSuchProgram, or Error if it does not take all, ends
// with another status than 0, or puts out more than `most_bytes`. The process must not ignore
// SIGCHLD: the status would be lost.
std::vector<std::byte> run_compress_program(const std::string& program, bool decompress,
                                            std::span<const std::byte> in, std::size_t most_bytes);

}  // namespace xxl
