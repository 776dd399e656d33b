#include "tables.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "process.h"
#include "tree.h"

namespace xxl::campaign {
namespace {

constexpr std::string_view kBetween = "in/table";  // below the directory of references

Invocation invocation(const Tools& tools, std::vector<std::string> arguments) {
  Invocation call;
  call.program = tools.tables;
  call.arguments = std::move(arguments);
  call.environment = plain_environment();
  call.directory = tools.directory;
  return call;
}

}  // namespace

std::uint64_t rows_of_group(const Input& input) {
  constexpr std::uint64_t kMostGroups = 500;
  return std::max(1 + input.seed % 7 * 1000, input.records / kMostGroups);
}

std::string table_file(const Job& job, const Input& input, const std::string& rows,
                       const Tools& tools) {
  write_file(tools.directory + '/' + std::string(kBetween), rows);
  // A file of Arrow has its table of contents at the end, where a pipe cannot be read first.
  const bool stream = input.through != Through::file || input.seed % 2 == 0;
  const std::string format = record_of(job) == "parquet" ? "parquet" : stream ? "stream" : "file";
  Invocation call = invocation(tools, {"write", format, std::to_string(rows_of_group(input))});
  call.input_file = kBetween;
  Ended ended = run(call);
  if (ended.status != 0) throw std::runtime_error(ended.error);
  return std::move(ended.output);
}

std::optional<std::string> table_text(const Job& job, const std::string& file, const Tools& tools) {
  const std::string path(kBetween);
  write_file(tools.directory + '/' + path, file);
  Ended ended = run(invocation(tools, {"read", record_of(job), path}));
  if (ended.status != 0) return std::nullopt;
  return std::move(ended.output);
}

}  // namespace xxl::campaign
