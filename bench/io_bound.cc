// The bound of an external sort: the seconds it takes to move its volume through io/ and nothing
// else. Prints one line of JSON.
//
//   io_bound [--block=BYTES] [--depth=N] INPUT OUTPUT [SCRATCH_DIR]
//
// With SCRATCH_DIR the volume of a sort with one merge pass (INPUT is read, scratch written and
// read, OUTPUT written and synced: 4N bytes for an input of N), without it that of a sort in memory
// (2N).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "bench/mover.h"
#include "io/output_file.h"

namespace {

using xxl::bench::seconds_since;
using xxl::io::File;

int run(const std::vector<std::string>& words) {
  std::size_t block_bytes = xxl::kMiB;
  unsigned depth = 32;  // transfers in flight for each disk
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (word.starts_with("--block=")) {
      block_bytes = xxl::parse_number(word.substr(8), "--block", xxl::kSectorBytes, xxl::kGiB);
    } else if (word.starts_with("--depth=")) {
      depth = static_cast<unsigned>(xxl::parse_number(word.substr(8), "--depth", 1, 1024));
    } else {
      files.push_back(word);
    }
  }
  if (files.size() < 2 || files.size() > 3) {
    throw xxl::Error(xxl::ErrorCode::usage,
                     "usage: io_bound [--block=BYTES] [--depth=N] INPUT OUTPUT [SCRATCH_DIR]");
  }
  const File input = File::open_input(files[0]);
  if (!input.seekable()) {
    throw xxl::Error(xxl::ErrorCode::usage, "is not a file to be copied", files[0]);
  }
  const std::string scratch_directory =
      files.size() == 3 ? files[2] : std::filesystem::temp_directory_path().string();
  xxl::bench::Mover mover(block_bytes, depth);
  double form_seconds = 0;
  File scratch;
  auto start = std::chrono::steady_clock::now();
  if (files.size() == 3) {
    scratch = File::create_unnamed(scratch_directory);
    mover.move(&input, &scratch, input.size());
    form_seconds = seconds_since(start);
    start = std::chrono::steady_clock::now();
  }
  xxl::io::OutputFile output(files[1], true, {scratch_directory});
  mover.move(files.size() == 3 ? &scratch : &input, &output.file(), input.size());
  output.publish(input.size());
  const double merge_seconds = seconds_since(start);
  std::printf("{\"seconds\": %.3f, \"form_seconds\": %.3f, \"merge_seconds\": %.3f}\n",
              form_seconds + merge_seconds, form_seconds, merge_seconds);
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
