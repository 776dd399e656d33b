#include "job.h"

#include <algorithm>

namespace xxl::campaign {

std::string scratch_directory(unsigned index) {
  return "scratch" + std::to_string(index);
}

std::string output_path(const Job& job) {
  return job.target == Target::first_input ? job.inputs.front().path
                                           : std::string(kOutput) + job.output_suffix;
}

std::vector<std::string> values_of(const std::vector<std::string>& options, std::string_view name) {
  std::vector<std::string> values;
  const std::size_t start = name.size() + (name.starts_with("--") ? 1 : 0);
  for (const std::string& option : options) {
    if (!option.starts_with(name)) continue;
    if (option.size() == name.size()) values.emplace_back();
    // Long options have a '=' in front of the value, short ones have it attached.
    else if (option[name.size()] == '=' || start == name.size())
      values.push_back(option.substr(start));
  }
  return values;
}

bool has(const std::vector<std::string>& options, std::string_view name) {
  return !values_of(options, name).empty();
}

bool has_any(const std::vector<std::string>& options,
             std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return has(options, name); });
}

bool has_only(const std::vector<std::string>& options,
              std::initializer_list<std::string_view> names) {
  return std::ranges::all_of(options, [&](std::string_view option) {
    return std::ranges::find(names, option.substr(0, option.find('='))) != names.end();
  });
}

std::optional<std::string> value_of(const std::vector<std::string>& options,
                                    std::string_view name) {
  std::vector<std::string> values = values_of(options, name);
  if (values.empty()) return std::nullopt;
  return std::move(values.back());
}

std::string record_of(const Job& job, Side side) {
  const auto own = value_of(job.options, side == Side::r ? "--record1" : "--record2");
  return own ? *own : value_of(job.options, "--record").value_or("lines");
}

Kind kind_of(const Job& job) {
  const std::string record = record_of(job);
  if (record == "lines") return Kind::lines;
  if (record == "arrow" || record == "parquet") return Kind::columns;
  return record == "csv" || record == "tsv" ? Kind::rows : Kind::binary;
}

RecordFormat format_of(const Job& job, Side side) {
  std::vector<std::string> keys = values_of(job.options, "--key");
  for (std::string& key : values_of(job.options, side == Side::r ? "--left-on" : "--right-on"))
    keys.push_back(std::move(key));
  RecordFormat format =
      parse_record_format(record_of(job, side), keys, has(job.options, "--reverse"), "");
  // Without a key sets compare whole records: the key of the type is in front of the rest.
  if (job.command == "set" && keys.empty()) {
    const KeyField& key = format.key.front();
    format.key.push_back({.offset = key.length,
                          .length = format.record_bytes - key.length,
                          .descending = key.descending});
    if (format.key.back().length == 0) format.key.pop_back();
  }
  return format;
}

Side side_of(const Job& job, const Input& input) {
  const bool second = job.command == "join" && input.path == job.inputs.back().path;
  return second ? Side::s : Side::r;
}

char terminator_of(const Job& job) {
  return has(job.options, "--zero-terminated") ? '\0' : '\n';
}

std::vector<std::string> operands_of(const Job& job) {
  std::vector<std::string> operands;
  if (has(job.options, "--files0-from")) return operands;
  for (const Input& input : job.inputs) {
    operands.push_back(input.through == Through::file ? input.path : "-");
  }
  return operands;
}

std::string name_of_command(const Job& job) {
  return job.command == "set" ? job.operation : job.command;
}

std::vector<std::string> arguments_of(const Job& job) {
  std::vector<std::string> arguments{name_of_command(job)};
  arguments.insert(arguments.end(), job.options.begin(), job.options.end());
  if (kind_of(job) == Kind::rows && !has(job.options, "--header")) {
    arguments.emplace_back("--no-header");
  }
  arguments.insert(arguments.end(), job.resources.begin(), job.resources.end());
  for (unsigned i = 0; i < job.scratch_directories; ++i) {
    arguments.push_back("--temporary-directory=" + scratch_directory(i));
  }
  switch (job.target) {
    case Target::standard_output:
    case Target::pipe:
    case Target::none:
      break;
    default:
      arguments.push_back("--output=" + output_path(job));
  }
  for (std::string& operand : operands_of(job)) arguments.push_back(std::move(operand));
  return arguments;
}

}  // namespace xxl::campaign
