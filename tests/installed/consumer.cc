// Sorts a file through the installed library: consumer DIRECTORY.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "engine/record_sort/external_sort.h"

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : ".";
  const std::string path = directory + "/numbers";
  {
    std::ofstream file(path, std::ios::binary);
    for (const std::uint64_t number : {3u, 1u, 2u}) {
      file.write(reinterpret_cast<const char*>(&number), sizeof number);
    }
  }

  xxl::SortOptions options;
  options.format = xxl::parse_record_format("u64");
  options.inputs = {path};
  options.output = path;
  options.memory_bytes = std::uint64_t{64} << 20;
  options.scratch_dirs = {directory};
  try {
    const xxl::SortReport report = xxl::external_sort(options);
    const bool sorted = xxl::check_order(options).ordered;
    std::printf("%ju records, %s\n", static_cast<std::uintmax_t>(report.records_out),
                sorted ? "sorted" : "not sorted");
    return report.records_out == 3 && sorted ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 2;
  }
}
