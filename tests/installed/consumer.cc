// Sorts and joins files through the installed library: consumer DIRECTORY.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <xxl/array.h>
#include <xxl/join.h>
#include <xxl/sort.h>
#include <xxl/sorter.h>

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

bool expect(const char* what, bool holds) {
  std::printf("%s: %s\n", what, holds ? "as expected" : "WRONG");
  return holds;
}

bool sorts_numbers(const std::string& directory) {
  const std::string path = directory + "/numbers";
  const std::vector<std::uint64_t> numbers = {3, 1, 2};
  write_file(path, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * 8});
  xxl::SortJob job;
  job.inputs = {path};
  job.output = path;
  job.format = "u64";
  job.memory_bytes = std::uint64_t{64} << 20;
  job.scratch_dirs = {directory};
  const xxl::SortReport report = xxl::sort_files(job);
  return expect("u64", report.records_out == 3 && xxl::check_order(job).ordered);
}

bool sorts_pushed_numbers() {
  xxl::sorter<int> sorter({}, xxl::resources({.memory_bytes = 8 << 20}));
  for (const int number : {3, 1, 2}) sorter.push(number);
  int expected = 1;
  bool ordered = true;
  for (const int number : sorter) ordered = ordered && number == expected++;
  return expect("sorter", ordered && expected == 4);
}

bool sorts_an_array() {
  std::vector<int> numbers = {3, 1, 2};
  xxl::sort_array(numbers);
  return expect("array", numbers == std::vector<int>{1, 2, 3});
}

bool sorts_text(const std::string& directory) {
  xxl::SortJob lines;
  lines.inputs = {directory + "/lines"};
  lines.output = directory + "/sorted";
  lines.keys = {"2,2nr"};
  write_file(lines.inputs[0], "a 9\nb 10\nc 9\n");
  xxl::sort_files(lines);
  const bool lines_sorted = read_file(lines.output) == "b 10\na 9\nc 9\n";

  xxl::SortJob rows;
  rows.inputs = {directory + "/rows.csv"};
  rows.output = directory + "/folded.csv";
  rows.format = "csv";
  rows.keys = {"name"};
  rows.header = true;
  rows.aggregates = {"sum=n"};
  write_file(rows.inputs[0], "name,n\ny,1\nx,2\ny,3\n");
  xxl::sort_files(rows);
  return expect("lines", lines_sorted) &
         expect("rows", read_file(rows.output) == "name,n\nx,2\ny,4\n");
}

bool joins_rows(const std::string& directory) {
  xxl::JoinJob job;
  job.inputs = {directory + "/r.csv", directory + "/s.csv"};
  job.formats = {"csv", "csv"};
  job.left_on = {"id:integer"};
  job.right_on = {"user:integer"};
  job.header = true;
  job.how = xxl::JoinKind::left;
  job.output = directory + "/joined.csv";
  write_file(job.inputs[0], "id,name\n2,b\n1,a\n");
  write_file(job.inputs[1], "user,what\n2,x\n");
  xxl::join_files(job);
  return expect("join", read_file(job.output) == "id,name,what\n1,a,\n2,b,x\n");
}

bool refuses_members_of_others(const std::string& directory) {
  xxl::SortJob job;
  job.inputs = {directory + "/numbers"};
  job.format = "u64";
  job.header = true;
  try {
    xxl::sort_files(job);
  } catch (const xxl::Error& error) {
    return expect("error", error.code() == xxl::ErrorCode::usage);
  }
  return expect("error", false);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : ".";
  try {
    const bool all = sorts_numbers(directory) & sorts_pushed_numbers() & sorts_an_array() &
                     sorts_text(directory) & joins_rows(directory) &
                     refuses_members_of_others(directory);
    return all ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 2;
  }
}
