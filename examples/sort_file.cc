// Sorts a file as `xxl sort` does: lines by their second field, as numbers.
#include <xxl/sort.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

int main() {
  const std::string directory = std::filesystem::temp_directory_path().string();
  const std::string input = directory + "/xxl-example-lines", output = input + ".sorted";
  std::ofstream lines(input);
  for (int i = 0; i < 100'000; ++i) lines << "line " << i * 7919 % 100'000 << "\n";
  lines.close();

  xxl::SortJob job;
  job.inputs = {input};
  job.output = output;
  job.keys = {"2n"};
  job.memory_bytes = 16 << 20;
  const xxl::SortReport report = xxl::sort_files(job);

  std::string first;
  std::getline(std::ifstream(output), first);
  std::printf("%llu lines, the first: %s\n", static_cast<unsigned long long>(report.records_out),
              first.c_str());
  std::filesystem::remove(input);
  std::filesystem::remove(output);
  return first == "line 0" ? 0 : 1;
}
