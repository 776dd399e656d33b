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
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/block_mover.h"
#include "io/output_file.h"

namespace {

using xxl::io::File;

// Copies files, with buffers that it keeps.
class Copier {
 public:
  Copier(std::size_t block_bytes, unsigned depth)
      : block_bytes_(block_bytes),
        memory_(block_bytes * 2 * depth),  // work for the disks of both files
        service_(xxl::Backend::automatic, {}, depth) {
    // No page is touched for the first time when copying.
    std::memset(memory_.data(), 'x', memory_.size());
  }
  void copy(const File& source, File& target, std::uint64_t bytes) {
    target.reserve(0, xxl::round_up(bytes, std::uint64_t{xxl::kSectorBytes}));
    xxl::io::BlockMover mover(service_, memory_.span(), block_bytes_);
    mover.move({.source = &source,
                .target = &target,
                .bytes = bytes,
                .source_bytes = xxl::round_up(bytes, std::uint64_t{block_bytes_})});
  }

 private:
  std::size_t block_bytes_;
  xxl::MemoryRegion memory_;
  xxl::io::IoService service_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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
  Copier copier(block_bytes, depth);
  double form_seconds = 0;
  File scratch;
  auto start = std::chrono::steady_clock::now();
  if (files.size() == 3) {
    scratch = File::create_unnamed(scratch_directory);
    copier.copy(input, scratch, input.size());
    form_seconds = seconds_since(start);
    start = std::chrono::steady_clock::now();
  }
  xxl::io::OutputFile output(files[1], true, {scratch_directory});
  copier.copy(files.size() == 3 ? scratch : input, output.file(), input.size());
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
