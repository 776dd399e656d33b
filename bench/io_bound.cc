// The bound of an external sort: the seconds it takes to move its volume through io/ and nothing
// else. Prints one line of JSON.
//
//   io_bound [--block=BYTES] [--depth=N] INPUT OUTPUT [SCRATCH_DIR]
//
// With SCRATCH_DIR the volume of a sort with one merge pass (INPUT is read, scratch written and
// read, OUTPUT written and synced: 4N bytes for an input of N), without it that of a sort in memory
// (2N).
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "io/disk_probe.h"

namespace {

int run(const std::vector<std::string>& words) {
  xxl::io::MoveOptions options;
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (word.starts_with("--block=")) {
      options.block_bytes =
          xxl::parse_number(word.substr(8), "--block", xxl::kSectorBytes, xxl::kGiB);
    } else if (word.starts_with("--depth=")) {
      options.depth = static_cast<unsigned>(xxl::parse_number(word.substr(8), "--depth", 1, 1024));
    } else {
      files.push_back(word);
    }
  }
  if (files.size() < 2 || files.size() > 3) {
    throw xxl::Error(xxl::ErrorCode::usage,
                     "usage: io_bound [--block=BYTES] [--depth=N] INPUT OUTPUT [SCRATCH_DIR]");
  }
  xxl::io::SortBound bound;
  if (files.size() == 3) {
    bound = xxl::io::measure_sort_bound(files[0], files[2], files[1], options);
  } else {
    bound.merge_seconds = xxl::io::measure_copy(files[0], files[1], options);
  }
  std::printf("{\"seconds\": %.3f, \"form_seconds\": %.3f, \"merge_seconds\": %.3f}\n",
              bound.form_seconds + bound.merge_seconds, bound.form_seconds, bound.merge_seconds);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const xxl::Error& error) {
    std::fprintf(stderr, "io_bound: %s\n", error.what());
    return 2;
  }
}
