// The bound of a join: the seconds it takes to move its volume through io/ and nothing else. Prints
// one line of JSON.
//
//   join_bound [--block=BYTES] [--depth=N] [--scratch=DIR] OUTPUT_BYTES OUTPUT INPUT...
//
// With --scratch the volume of a join of unsorted inputs by sorting: the inputs are copied to
// scratch; without it that of a join by hash, or of inputs that are sorted. Then what was copied
// (the inputs) is read, and OUTPUT_BYTES are written at the same time, and synced.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "bench/mover.h"
#include "io/output_file.h"

namespace {

using xxl::Error;
using xxl::ErrorCode;
using xxl::bench::Mover;
using xxl::bench::seconds_since;
using xxl::io::File;
using Clock = std::chrono::steady_clock;

int run(const std::vector<std::string>& words) {
  std::size_t block_bytes = xxl::kMiB;
  unsigned depth = 16;
  std::string scratch;
  std::vector<std::string> rest;
  for (const std::string& word : words) {
    if (word.starts_with("--block=")) {
      block_bytes = xxl::parse_number(word.substr(8), "--block", xxl::kSectorBytes, xxl::kGiB);
    } else if (word.starts_with("--depth=")) {
      depth = static_cast<unsigned>(xxl::parse_number(word.substr(8), "--depth", 1, 1024));
    } else if (word.starts_with("--scratch=")) {
      scratch = word.substr(10);
    } else {
      rest.push_back(word);
    }
  }
  if (rest.size() < 3) {
    throw Error(ErrorCode::usage,
                "usage: join_bound [--block=BYTES] [--depth=N] [--scratch=DIR] OUTPUT_BYTES "
                "OUTPUT INPUT...");
  }
  const std::uint64_t output_bytes =
      xxl::parse_number(rest[0], "OUTPUT_BYTES", 0, xxl::kGiB * xxl::kKiB);
  Mover reading(block_bytes, depth), writing(block_bytes, depth);
  std::vector<File> inputs;
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 2; i < rest.size(); ++i) {
    inputs.push_back(File::open_input(rest[i]));
    sizes.push_back(inputs.back().size());
  }

  auto start = Clock::now();
  for (std::size_t i = 0; !scratch.empty() && i < inputs.size(); ++i) {
    File copy = File::create_unnamed(scratch);
    reading.move(&inputs[i], &copy, sizes[i]);
    inputs[i] = std::move(copy);
  }
  const double sort_seconds = seconds_since(start);

  start = Clock::now();
  xxl::io::OutputFile target(
      rest[1], true, {scratch.empty() ? std::filesystem::temp_directory_path().string() : scratch});
  std::exception_ptr failure;
  std::thread writer([&] {
    try {
      writing.move(nullptr, &target.file(), output_bytes);
    } catch (const Error&) {
      failure = std::current_exception();
    }
  });
  try {
    for (std::size_t i = 0; i < inputs.size(); ++i) reading.move(&inputs[i], nullptr, sizes[i]);
  } catch (...) {
    writer.join();
    throw;
  }
  writer.join();
  if (failure) std::rethrow_exception(failure);
  target.publish(output_bytes);
  const double join_seconds = seconds_since(start);
  std::printf("{\"seconds\": %.3f, \"sort_seconds\": %.3f, \"join_seconds\": %.3f}\n",
              sort_seconds + join_seconds, sort_seconds, join_seconds);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "join_bound: %s\n", error.what());
    return 2;
  }
}
