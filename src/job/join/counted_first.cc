#include "job/join/counted_first.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace xxl {

void check_can_be_read_again(std::span<const std::string> inputs) {
  for (const std::string& path : inputs) {
    struct stat status {};
    const int failed = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
    if (failed != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ||
        S_ISBLK(status.st_mode)) {
      continue;  // what cannot be read at all is told when it is opened
    }
    throw Error(
        ErrorCode::usage,
        "is a pipe, and a join with --parts reads its inputs twice, first to know how large the "
        "output will be: use --part-bytes",
        path == "-" ? "standard input" : path);
  }
}

}  // namespace xxl
