#include "reference.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "cli/options_table.h"
#include "contents.h"
#include "line_reference.h"
#include "process.h"
#include "record_reference.h"
#include "row_reference.h"
#include "table_reference.h"
#include "tables.h"
#include "tree.h"

namespace xxl::campaign {
namespace {

constexpr std::string_view kSort = "/usr/bin/sort";
constexpr std::string_view kJoin = "/usr/bin/join";
constexpr std::string_view kAmple = "--buffer-size=512M";

std::string_view name_of(std::string_view option) {
  return option.starts_with("--") ? option.substr(0, option.find('=')) : option.substr(0, 2);
}

const cli::OptionSpec* find_option(const cli::CommandSpec& command, std::string_view option) {
  for (const cli::OptionSpec& spec : command.options) {
    const std::string_view name = name_of(option);
    if (name.starts_with("--") ? name.substr(2) == spec.long_name
                               : spec.long_name.empty() && name[1] == spec.short_name) {
      return &spec;
    }
  }
  return nullptr;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

Invocation invocation(std::string_view program, const Tools& tools) {
  Invocation call;
  call.program = program;
  call.environment = plain_environment();
  call.directory = tools.directory;
  call.limit = std::chrono::seconds(60);
  return call;
}

// The command line of a job whose inputs are all files.
std::vector<std::string> plain_arguments(const Job& job) {
  Job plain = job;
  plain.resources = {"--parallel=1", std::string(kAmple), "--io=threads"};
  if (job.command == "join" && (kind_of(job) == Kind::binary || kind_of(job) == Kind::columns)) {
    plain.resources.emplace_back("--method=sort-merge");
  }
  plain.scratch_directories = 1;
  for (Input& input : plain.inputs) input.through = Through::file;
  const bool parts = job.target == Target::parts || job.target == Target::replaced_parts;
  plain.target = parts ? Target::parts : Target::standard_output;
  return arguments_of(plain);
}

// Rows have a header unless the command line says otherwise.
void add_no_header(const Job& job, std::vector<std::string>& options) {
  const bool has_header = kind_of(job) != Kind::rows || has(options, "--header");
  if (!has_header) options.emplace_back("--no-header");
}

// Options that say how the text of side `side` (from 1; 0: of any) is ordered, as those of sort.
std::vector<std::string> ordering_options(const Job& job, unsigned side) {
  std::vector<std::string> ordering;
  if (job.command != "join") {
    const cli::CommandSpec& sort = *cli::find_command("sort");
    const std::string_view group = cli::option_of(cli::sort_command(), "key").group;
    for (const std::string& option : job.options) {
      const cli::OptionSpec* const spec = find_option(sort, option);
      const bool orders = spec != nullptr && spec->group == group;
      if (orders || is_one_of(name_of(option),
                              {"--record", "--header", "--zero-terminated", "--malformed"})) {
        ordering.push_back(option);
      }
    }
    add_no_header(job, ordering);
    return ordering;
  }
  const bool lines = kind_of(job) == Kind::lines;
  const std::string own = side == 1 ? "--left-on" : "--right-on";
  const std::string digit{'-', static_cast<char>('0' + side)};
  bool keyed = false;
  const auto add_key = [&](const std::string& key) {
    ordering.push_back("--key=" + (lines ? key + "," + key : key));
    keyed = true;
  };
  for (const std::string& option : job.options) {
    const std::string_view name = name_of(option);
    if (name == "-t") ordering.push_back("--field-separator=" + option.substr(2));
    if (name == "-j" || name == digit) add_key(option.substr(2));
    if (name == "--key" || name == own) add_key(option.substr(name.size() + 1));
    if (name == "--ignore-case") ordering.push_back("--ignore-case");
    if (is_one_of(name, {"--record", "--header", "--zero-terminated", "--malformed"})) {
      ordering.push_back(option);
    }
  }
  if (!keyed) add_key("1");
  if (lines) ordering.emplace_back("--stable");
  if (lines && !has(job.options, "-t")) ordering.emplace_back("--ignore-leading-blanks");
  add_no_header(job, ordering);
  return ordering;
}

std::string sorted_text(const Job& job, unsigned side, const std::string& bytes,
                        const Tools& tools) {
  write_file(tools.directory + "/in/unsorted", bytes);
  Invocation call = invocation(tools.xxl, tools);
  call.arguments = {"sort", "--parallel=1", std::string(kAmple), "in/unsorted"};
  for (std::string& option : ordering_options(job, side)) {
    call.arguments.push_back(std::move(option));
  }
  const Ended ended = run(call);
  return ended.status == 0 ? ended.output : bytes;
}

bool has_only_standard_options(const Job& job) {
  const cli::CommandSpec& command = *cli::find_command(name_of_command(job));
  return std::ranges::all_of(job.options, [&](const std::string& option) {
    if (job.command == "sort" && is_one_of(name_of(option), {"-c", "-C"})) return true;
    if (is_one_of(name_of(option), {"--record"})) return true;
    const cli::OptionSpec* const spec = find_option(command, option);
    return spec != nullptr && spec->standard;
  });
}

std::vector<std::string> without(const std::vector<std::string>& options,
                                 std::initializer_list<std::string_view> names) {
  std::vector<std::string> rest;
  for (const std::string& option : options) {
    if (!is_one_of(name_of(option), names)) rest.push_back(option);
  }
  return rest;
}

Expected expect_of_sort(const Job& job, const Tools& tools) {
  Invocation call = invocation(kSort, tools);
  call.arguments = without(job.options, {"--skip", "--limit", "--record"});
  if (!has(job.options, "--files0-from")) {
    for (const Input& input : job.inputs) call.arguments.push_back(input.path);
  }
  const Ended ended = run(call);
  return {.status = ended.status,
          .output = cut_records(job, split_records(job, ended.output)),
          .by = "sort(1)"};
}

// sort(1) in front of join(1).
Expected expect_of_join(const Job& job, const Tools& tools) {
  Invocation call = invocation(kJoin, tools);
  call.arguments = without(job.options, {"--record"});
  for (unsigned side = 0; side < 2; ++side) {
    const std::string sorted = "in/sorted" + std::to_string(side);
    // A header stays in front, which sort(1) does not know.
    const bool header = has(job.options, "--header");
    Invocation sort = invocation(header ? std::string_view(tools.xxl) : kSort, tools);
    sort.arguments = without(ordering_options(job, side + 1), {"--record"});
    if (header) sort.arguments.insert(sort.arguments.begin(), "sort");
    sort.arguments.push_back(job.inputs[side].path);
    sort.arguments.push_back("--output=" + sorted);
    run(sort);
    call.arguments.push_back(sorted);
  }
  Ended ended = run(call);
  return {.status = ended.status == 0 ? 0 : 2, .output = std::move(ended.output), .by = "join(1)"};
}

Expected expect_of_xxl(const Job& job, const Tools& tools) {
  Invocation call = invocation(tools.xxl, tools);
  call.arguments = plain_arguments(job);
  Ended ended = run(call);
  Expected expected{.status = ended.signal != 0 ? 128 + ended.signal : ended.status,
                    .output = std::move(ended.output),
                    .error = std::move(ended.error),
                    .by = "xxl"};
  if (expected.error.find("out of memory") != std::string::npos) {
    throw std::runtime_error("the reference: " + expected.error);
  }
  const bool columns = kind_of(job) == Kind::columns;
  const auto content_of = [&](std::string& bytes) {
    if (columns) bytes = table_text(job, bytes, tools).value();
  };
  if (job.target != Target::parts && job.target != Target::replaced_parts) {
    if (expected.status == 0 && !prints_count(job)) content_of(expected.output);
    return expected;
  }
  const std::string out = tools.directory + "/out";
  Tree made = read_tree(out);
  write_tree(out, {});
  for (auto& [path, bytes] : made) {
    if (is_part(path)) content_of(bytes);
  }
  expected.output = bytes_of_parts(job, made);
  return expected;
}

// Lines sorted by sort(1), with --stable or --unique.
GroupedLines grouped_by_sort(const Job& job, const std::string& lines, const Tools& tools) {
  write_file(tools.directory + "/in/unsorted", lines);
  const auto sorted = [&](std::string_view how) {
    Invocation call = invocation(kSort, tools);
    call.arguments = without(ordering_options(job, 0), {"--header"});
    call.arguments.emplace_back(how);
    call.arguments.emplace_back("in/unsorted");
    return run(call);
  };
  Ended stable = sorted("--stable"), unique = sorted("--unique");
  return {.ok = stable.status == 0 && unique.status == 0,
          .sorted = std::move(stable.output),
          .firsts = std::move(unique.output)};
}

// Nothing if the job has options that are not known here.
std::optional<RankedInputs> rank_inputs(const Job& job,
                                        const std::vector<std::string_view>& contents,
                                        const Tools& tools) {
  if (kind_of(job) == Kind::binary) return rank_records(job, contents);
  if (kind_of(job) == Kind::rows) return rank_rows(job, contents);
  const std::vector<std::string> ordering = ordering_options(job, 0);
  const bool known = std::ranges::all_of(job.options, [&](const std::string& option) {
    return std::ranges::find(ordering, option) != ordering.end() ||
           is_one_of(name_of(option), {"--unique", "--keep-order", "--all", "--merge", "--skip",
                                       "--limit", "--files0-from"});
  });
  if (!known) return std::nullopt;
  return rank_lines(job, contents,
                    [&](const std::string& lines) { return grouped_by_sort(job, lines, tools); });
}

std::vector<std::string_view> contents_in_order(const Job& job,
                                                const std::map<std::string, std::string>& inputs) {
  std::vector<std::string_view> contents;
  for (const Input& input : job.inputs) contents.push_back(inputs.at(input.path));
  return contents;
}

// A permutation of the input, cut: that of the program itself on one thread in memory.
Expected expect_of_shuffle(const Job& job, const std::vector<std::string_view>& contents,
                           const Tools& tools) {
  Job whole = job;
  whole.options = without(job.options, {"--skip", "--limit", "--head-count"});
  Expected expected = expect_of_xxl(whole, tools);
  const bool reads_otherwise = has(job.options, "--quote") || has(job.options, "--malformed");
  if (expected.status != 0 || reads_otherwise) return expect_of_xxl(job, tools);
  expected.by = "shuffles";
  if (!is_permutation(job, contents, expected.output)) {
    expected.by = "a shuffle, which has to be a permutation of the input, but";
    expected.output += "is none";
    return expected;
  }
  std::vector<std::string> records = split_records(job, expected.output);
  const std::string header = take_header(job, records);
  expected.output = header + cut_records(job, records);
  return expected;
}

Expected expect_in_order(const Job& job, const std::map<std::string, std::string>& inputs,
                         const Tools& tools) {
  const bool checks = job.target == Target::none;
  const bool cuts = has(job.options, "--skip") || has(job.options, "--limit");
  const std::vector<std::string_view> contents = contents_in_order(job, inputs);
  if (job.command == "shuf") return expect_of_shuffle(job, contents, tools);
  const bool keeps_order = has(job.options, "--keep-order");
  if (job.command == "set" || (keeps_order && has(job.options, "--unique") && !checks)) {
    const auto ranked = rank_inputs(job, contents, tools);
    if (ranked && keeps_order && !has(job.options, "--merge"))
      return {.output = first_of_each_key(job, *ranked), .by = "first of each key"};
    if (ranked && !keeps_order) return {.output = set_reference(job, *ranked), .by = "sets"};
    return expect_of_xxl(job, tools);
  }
  if (keeps_order) return expect_of_xxl(job, tools);
  if (kind_of(job) == Kind::binary && !checks) {
    std::optional<std::string> output;
    if (job.command == "sort") {
      std::string bytes;
      for (const Input& input : job.inputs) bytes += inputs.at(input.path);
      output = sort_reference(job, bytes);
    } else if (job.command == "join") {
      output = join_reference(job, inputs.at(job.inputs[0].path), inputs.at(job.inputs[1].path));
    }
    if (output) return {.output = std::move(*output), .by = "records"};
  }
  if (kind_of(job) == Kind::columns && job.command == "sort") {
    if (auto output = table_sort_reference(job, contents)) {
      return {.output = std::move(*output), .by = "tables"};
    }
  }
  if (kind_of(job) == Kind::rows && job.command == "sort" && !checks) {
    if (auto output = row_sort_reference(job, contents)) {
      return {.output = std::move(*output), .by = "rows"};
    }
  }
  Job whole = job;
  if (!checks && kind_of(job) == Kind::lines)
    whole.options = without(job.options, {"--skip", "--limit"});
  if (kind_of(job) == Kind::lines && has_only_standard_options(whole) && !(cuts && checks)) {
    if (job.command == "sort") return expect_of_sort(job, tools);
    // --layout=auto goes by the first lines, which are others once the inputs are sorted.
    const bool by_first_lines = value_of(job.options, "--layout") == "auto";
    if (job.command == "join" && !cuts && !by_first_lines) return expect_of_join(job, tools);
  }
  return expect_of_xxl(job, tools);
}

// The key of a type, as an option says it.
std::string own_key(const std::string& record) {
  if (record.starts_with("fixed:")) return "0:bytes" + record.substr(record.find(':') + 1);
  if (record == "gensort") return "0:bytes10";
  return "0:" + (record.starts_with("kv") ? "u" + record.substr(2) : record);
}

// The job that writes the same into one file.
Job in_one_file(const Job& job) {
  Job one = job;
  one.target = Target::standard_output;
  one.options = without(job.options, {"--parts", "--part-bytes", "--part-by"});
  const auto by = value_of(job.options, "--part-by");
  if (!by || job.command != "sort") return one;
  // Parts are by the first key.
  const std::string key = kind_of(job) == Kind::lines ? *by + "," + *by : *by;
  one.options.insert(one.options.begin(), "--key=" + key);
  if (kind_of(job) == Kind::binary && !has(job.options, "--key"))
    one.options.push_back("--key=" + own_key(record_of(job)));
  return one;
}

// The program itself says whether it accepts the job.
Expected expect_of_parts(const Job& job, const std::map<std::string, std::string>& inputs,
                         const Tools& tools) {
  Expected in_parts = expect_of_xxl(job, tools);
  if (in_parts.status != 0 || kind_of(job) == Kind::columns) return in_parts;
  return expect_in_order(in_one_file(job), inputs, tools);
}

}  // namespace

std::vector<std::string> plain_environment() {
  // Apache Arrow takes a gigabyte at once from its own pool.
  return {"LC_ALL=C", "PATH=/usr/bin:/bin", "TZ=UTC", "ARROW_DEFAULT_MEMORY_POOL=system"};
}

std::map<std::string, std::string> make_inputs(const Job& job, const Tools& tools) {
  std::map<std::string, std::string> made;
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    const Input& input = job.inputs[i];
    std::string bytes = contents_of(job, input);
    if (input.presorted && kind_of(job) == Kind::binary)
      bytes = sort_records(format_of(job, side_of(job, input)), bytes);
    else if (input.presorted)
      bytes = sorted_text(job, static_cast<unsigned>(i + 1), bytes, tools);
    made[input.path] = std::move(bytes);
  }
  return made;
}

Expected expect(const Job& job, const std::map<std::string, std::string>& inputs,
                const Tools& tools) {
  const bool parts = job.target == Target::parts || job.target == Target::replaced_parts;
  Expected expected =
      parts ? expect_of_parts(job, inputs, tools) : expect_in_order(job, inputs, tools);
  // Joined by hashing, rows come in any order, and which method it is the program decides. Parts
  // are joined by sorting.
  if (job.command == "join" && kind_of(job) == Kind::binary && !parts &&
      value_of(job.resources, "--method") != "sort-merge") {
    expected.any_order = true;
    expected.row_bytes = joined_bytes(job);
  }
  if (job.command == "join" && kind_of(job) == Kind::columns &&
      value_of(job.resources, "--method") != "sort-merge") {
    expected.any_order = true;  // lines
  }
  return expected;
}

bool is_part(std::string_view path) {
  if (!path.starts_with("result/")) return false;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("part-");
}

bool prints_count(const Job& job) {
  return job.command == "join" && has(job.options, "--count");
}

// Their paths in the order of the manifest, whose text has their names as they are.
static std::vector<std::string> parts_in_order(const std::map<std::string, std::string>& files) {
  const auto manifest = files.find("result/_manifest.json");
  std::map<std::size_t, std::string> places;
  for (const auto& [path, bytes] : files) {
    if (manifest == files.end() || !is_part(path)) continue;
    const std::string name = path.substr(path.find('/') + 1);
    places[manifest->second.find("\"file\": \"" + name + '"')] = path;
  }
  std::vector<std::string> paths;
  for (const auto& [place, path] : places) paths.push_back(path);
  return paths;
}

std::string bytes_of_parts(const Job& job, const std::map<std::string, std::string>& files) {
  std::string all;
  bool first = true;
  for (const std::string& path : parts_in_order(files)) {
    const std::string& bytes = files.at(path);
    const bool header = has(job.options, "--header") || kind_of(job) == Kind::columns;
    const bool repeated = header && !std::exchange(first, false);
    all +=
        repeated ? bytes.substr(std::min(bytes.size(), bytes.find(terminator_of(job)) + 1)) : bytes;
  }
  return all;
}

}  // namespace xxl::campaign
