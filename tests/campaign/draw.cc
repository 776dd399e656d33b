#include "draw.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/options_table.h"
#include "compressed.h"
#include "contents.h"
#include "options.h"

namespace xxl::campaign {
namespace {

void draw_record(Job& job, Random& random) {
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      break;  // lines
    case 3:
      job.options.emplace_back("--record=csv");
      break;
    case 4:
      job.options.emplace_back(random.pick({"--record=csv", "--record=tsv"}));
      break;
    default:
      job.options.push_back(
          "--record=" + std::string(random.pick({"u32", "u64", "i64", "f64", "kv64", "kv32", "f32",
                                                 "gensort", "gensort", "fixed:1", "fixed:12",
                                                 "fixed:16", "fixed:33", "fixed:1000"})));
  }
}

// The same fields as keys, in other places of both records.
void draw_two_formats(Job& job, Random& random) {
  std::vector<std::string> types, orders;
  for (std::uint64_t i = random.pick({1, 1, 2, 3}); i > 0; --i) {
    types.emplace_back(random.pick({"u8", "u16", "u32", "u64", "i16", "i32", "i64", "f32", "f64",
                                    "bytes1", "bytes3", "bytes12"}));
    orders.emplace_back(random.pick({"", "", ":desc"}));
  }
  for (const std::string side : {"1", "2"}) {
    std::vector<std::size_t> offsets(types.size());
    std::size_t end = 0;
    const bool backwards = random.one_in(2);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::size_t at = backwards ? types.size() - 1 - i : i;
      const bool bytes = types[at].starts_with("bytes");
      offsets[at] = end + random.pick({0, 0, 1, 3, 10});
      end = offsets[at] +
            (bytes ? std::stoul(types[at].substr(5)) : std::stoul(types[at].substr(1)) / 8);
    }
    job.options.push_back("--record" + side + "=fixed:" +
                          std::to_string(end + random.pick({0UL, 1UL, 4UL, 8UL, 40UL, 200UL})));
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool may_turn = !types[i].starts_with("bytes") && types[i] != "u8";
      job.options.push_back((side == "1" ? "--left-on=" : "--right-on=") +
                            std::to_string(offsets[i]) + ":" + types[i] +
                            (may_turn && random.one_in(3) ? "be" : "") + orders[i]);
    }
  }
}

std::uint64_t typical_bytes(const Job& job) {
  if (kind_of(job) == Kind::columns) return 80;
  return kind_of(job) == Kind::binary ? std::max<std::uint64_t>(format_of(job).record_bytes, 4)
                                      : 30;
}

// Of each input of a join whose keys may all be equal.
std::uint64_t most_joined_records(const Job& job) {
  constexpr double kOutputBytes = 16 << 20;
  return static_cast<std::uint64_t>(
      std::sqrt(kOutputBytes / static_cast<double>(2 * typical_bytes(job))));
}

bool is_keyed(const Job& job) {
  return has(job.options, "--key") || has(job.options, "--left-on");
}

// Whether each of many records of a join has few partners. (Of records of a byte each it has
// thousands, and the result more than a billion.)
bool may_be_joined_at_large(const Job& job) {
  if (kind_of(job) == Kind::columns) return value_of(job.options, "--key") == "id";
  return !is_keyed(job) && (kind_of(job) != Kind::binary || format_of(job).record_bytes >= 4);
}

// How many records, so that a join of them does not become too large.
std::uint64_t draw_records(const Job& job, const Input& input, Random& random) {
  const std::uint64_t records = random.pick({0, 1, 2, 3, 10, 50, 300, 300, 2000, 2000});
  const bool joins = job.command == "join";
  if (input.shape == "long") return std::min<std::uint64_t>(records, joins ? 4 : 20);
  if (!joins) return records;
  if (input.shape == "equal") return std::min<std::uint64_t>(records, 50);
  const bool narrow = input.shape == "words" || input.shape == "few" || input.shape == "bytes";
  return narrow || is_keyed(job) ? std::min(records, most_joined_records(job)) : records;
}

// Some MiB: more than the memory that is drawn.
std::uint64_t draw_many_records(const Job& job, Random& random) {
  return (random.between(1, 8) << 20) / typical_bytes(job);
}

void draw_inputs(Job& job, Random& random) {
  std::uint64_t count = random.pick({1, 1, 1, 2, 3, 5});
  if (job.command == "join") count = 2;
  if (job.command == "set") count = random.between(2, 4);
  const bool large = random.one_in(6) && (job.command != "join" || may_be_joined_at_large(job));
  for (std::uint64_t i = 0; i < count; ++i) {
    Input input{.path = "in/" + std::string(1, char('a' + i)),
                .shape = std::string(random.pick(kShapes)),
                .seed = random.below(1'000'000)};
    if (large && (i == 0 || random.one_in(2))) {
      input.shape = random.pick({"wide", "wide", "wide", "ascending", "descending"});
      // A key of more records than memory holds.
      if (job.command != "join" && random.one_in(8)) input.shape = "equal";
      input.records = draw_many_records(job, random);
    } else {
      input.records = draw_records(job, input, random);
    }
    if (kind_of(job) == Kind::lines || kind_of(job) == Kind::rows) {
      input.unended = random.one_in(4);
      input.carriage = random.one_in(6);
    }
    job.inputs.push_back(std::move(input));
  }
}

void draw_keys(Job& job, Random& random) {
  // Columns have no key of their own.
  if (job.command == "shuf" || (random.one_in(3) && kind_of(job) != Kind::columns)) return;
  const std::uint64_t keys = random.pick({1, 1, 2, 3});
  for (std::uint64_t i = 0; i < keys; ++i) job.options.push_back("--key=" + draw_key(job, random));
}

// Options of the table that change the result.
void draw_options(const cli::CommandSpec& command, Job& job, Random& random) {
  std::vector<const cli::OptionSpec*> possible;
  for (const cli::OptionSpec& option : command.options) {
    if (how_drawn(option) == Drawn::from_table && !is_of_resources(option) &&
        is_for(option, kind_of(job))) {
      possible.push_back(&option);
    }
  }
  // Other names of the keys of a join.
  const bool may_have_fields =
      !is_keyed(job) && std::ranges::all_of(job.inputs, [&](const Input& input) {
        return input.records <= most_joined_records(job);
      });
  const auto add = [&](const cli::OptionSpec& option) {
    if (has(job.options, name_of(option))) return;
    if (!may_have_fields && option.long_name.empty() && option.value_name == "FIELD") return;
    if (auto drawn = draw_argument(option, job, random)) job.options.push_back(std::move(*drawn));
  };
  // Options for equal records come more often than others.
  if (random.one_in(!job.operation.empty() ? 2 : 4)) {
    const std::string_view name = random.pick(
        {"keep-order", "count", "sum", "mean", "min", "max", "first", "last", "collect"});
    const auto found = std::ranges::find_if(possible, [&](const cli::OptionSpec* option) {
      return option->long_name == (!job.operation.empty() ? "all" : name);
    });
    if (found != possible.end()) add(**found);
  }
  const std::uint64_t count = random.pick({0, 1, 1, 2, 2, 3});
  for (std::uint64_t i = 0; i < count; ++i) add(*random.pick(possible));
}

void draw_resources(const cli::CommandSpec& command, Job& job, Random& random) {
  // Text takes 4 MiB at least; records, and shuffles, less.
  const bool text = kind_of(job) != Kind::binary && job.command != "shuf";
  const bool columns = kind_of(job) == Kind::columns;
  const bool joins = job.command == "join";
  const std::uint64_t least = columns ? (joins ? 60 : 36) : text ? 4 : joins ? 2 : 1;
  job.resources.push_back(
      "--buffer-size=" +
      std::to_string(random.pick({least, least, least + 1, 2 * least, std::max(least, 16UL)})) +
      "M");
  for (const cli::OptionSpec& option : command.options) {
    if (how_drawn(option) != Drawn::from_table || !is_of_resources(option) ||
        !is_for(option, kind_of(job)) || !random.one_in(3)) {
      continue;
    }
    if (auto drawn = draw_argument(option, job, random)) job.resources.push_back(std::move(*drawn));
  }
  job.scratch_directories = static_cast<unsigned>(random.pick({1, 1, 1, 2, 3}));
}

// Simulated GPUs, which are slow: for little input.
void draw_gpus(const cli::CommandSpec& command, Job& job, Random& random) {
  const bool has_option = std::ranges::find(command.options, "device",
                                            &cli::OptionSpec::long_name) != command.options.end();
  std::uint64_t records = 0;
  for (const Input& input : job.inputs) records += input.records;
  if (!has_option || kind_of(job) != Kind::binary || records > 5000 || !random.one_in(6)) return;
  const auto add = [&](std::string_view name, std::initializer_list<const char*> values) {
    if (random.one_in(2))
      job.resources.push_back("--" + std::string(name) + "=" + random.pick(values));
  };
  job.resources.push_back("--device=simulated:" + std::to_string(random.between(1, 4)));
  add("gpu-memory", {"4M", "8M", "64M"});
  add("multi-gpu", {"auto", "independent", "p2p-merge", "partition"});
  if (job.command == "sort") add("gpu-merge", {"auto", "always", "never"});
}

void draw_target(const cli::CommandSpec& command, Job& job, Random& random) {
  job.target = random.pick({Target::fresh, Target::fresh, Target::replaced, Target::replaced,
                            Target::first_input, Target::standard_output, Target::pipe});
  if (!random.one_in(8)) return;
  // Not thousands of files.
  const bool large =
      std::ranges::any_of(job.inputs, [](const Input& input) { return input.records > 3000; });
  const std::string_view name = random.pick({"parts", "part-bytes", large ? "parts" : "part-by"});
  if (std::ranges::find(command.options, name, &cli::OptionSpec::long_name) ==
      command.options.end()) {
    return;
  }
  job.target = random.pick({Target::parts, Target::replaced_parts});
  std::string value = std::to_string(random.between(1, 6));
  if (name == "part-bytes") {
    value =
        std::to_string(random.between(large ? 200'000 : 2000, large ? 2'000'000 : 300'000)) + "b";
  }
  if (name == "part-by" && kind_of(job) == Kind::lines)
    value = std::to_string(random.between(1, 3));
  else if (name == "part-by")
    value = job.command == "join" && has(job.options, "--key")
                ? values_of(job.options, "--key").front()
                : draw_key(job, random);
  job.options.push_back("--" + std::string(name) + "=" + value);
}

// Whether an option has a meaning for --check.
bool says_order(std::string_view option) {
  static constexpr std::array<std::string_view, 7> kSays{
      "--check", "-c", "-C", "--unique", "--header", "--zero-terminated", "--malformed"};
  for (const std::string_view name : kSays) {
    if (option.starts_with(name)) return true;
  }
  const std::string_view group = cli::option_of(cli::sort_command(), "key").group;
  return std::ranges::any_of(cli::find_command("sort")->options, [&](const cli::OptionSpec& spec) {
    return spec.group == group && option.substr(0, option.find('=')) == name_of(spec);
  });
}

bool is_of_gpu(std::string_view option) {
  return option.starts_with("--device") || option.find("gpu") != std::string_view::npos;
}

// What options ask of the rest of the job.
void fit(Job& job, Random& random) {
  const auto ask = [&](std::string option) {
    if (!has(job.options, option.substr(0, option.find('='))))
      job.options.push_back(std::move(option));
  };
  const auto presort = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < std::min(last, job.inputs.size()); ++i)
      job.inputs[i].presorted = true;
  };
  if (has(job.options, "--keep-order")) {
    ask("--unique");
    std::erase_if(job.resources, is_of_gpu);
  }
  if (job.command == "shuf") ask("--seed=" + std::to_string(random.below(100)));
  if (has(job.options, "--random-sort")) ask("--random-source=in/random");
  if (has(job.options, "--merge")) {
    presort(0, job.inputs.size());
    std::erase(job.resources, "--gpu-merge=never");  // nothing else would be left to GPUs
  }
  if (has(job.options, "--nocheck-order")) {
    std::erase_if(job.options, [](const std::string& o) { return o.starts_with("--presorted"); });
  }
  if (has(job.options, "--check-order")) presort(0, 2);
  if (const auto side = value_of(job.options, "--presorted")) {
    presort(*side == "2" ? 1 : 0, *side == "1" ? 1 : 2);
  }
  if (job.command == "sort" &&
      (has(job.options, "--check") || has(job.options, "-c") || has(job.options, "-C"))) {
    job.target = Target::none;
    std::erase_if(job.resources, is_of_gpu);
    if (!random.one_in(10)) job.inputs.resize(1);
    if (random.one_in(2)) presort(0, 1);
    // Nothing is written: most of what says how is refused.
    if (!random.one_in(10)) {
      std::erase_if(job.options, [](const std::string& option) { return !says_order(option); });
    }
  }
  if (job.command == "join" && has(job.options, "--count")) job.target = Target::standard_output;
  if (job.command == "set" && has(job.options, "--header")) {
    for (Input& input : job.inputs) input.carriage = false;  // headers must be the same
  }
  // Only files are read back.
  if (job.target == Target::standard_output || job.target == Target::pipe ||
      job.target == Target::none) {
    std::erase(job.resources, "--verify");
  }
  // Parts are ranges of keys.
  if (job.target == Target::parts || job.target == Target::replaced_parts) {
    std::erase(job.resources, "--method=hash");
  }
  // Names are given in a file; how large the output will be must be known for a number of parts.
  if (has(job.options, "--files0-from") || has(job.options, "--parts")) return;
  // One input may come through standard input.
  Input& input = random.pick(job.inputs);
  if (random.one_in(5) && job.target != Target::first_input) {
    input.through = random.pick({Through::standard_input, Through::pipe});
  }
}

void fit_columns(Job& job) {
  for (Input& input : job.inputs) {
    input.presorted = false;
    if (record_of(job) == "parquet") input.through = Through::file;  // it is read from its end
  }
  // Which rows are left depends on their order, and that on the method.
  if (has(job.options, "--skip") || has(job.options, "--limit")) {
    std::erase_if(job.resources, [](const std::string& o) { return o.starts_with("--method"); });
    if (job.command == "join") job.resources.emplace_back("--method=sort-merge");
  }
}

// Files, by their names.
void draw_compression(Job& job, Random& random) {
  const auto draw = [&](std::string& name) {
    if (!random.one_in(4)) name += random.pick(kSuffixes);
  };
  // How large the output will be must be known for a number of parts.
  if (random.one_in(8) && !has(job.options, "--parts")) {
    for (Input& input : job.inputs) {
      if (input.through == Through::file) draw(input.path);
    }
  }
  if ((job.target == Target::fresh || job.target == Target::replaced) && random.one_in(8)) {
    draw(job.output_suffix);
  }
}

}  // namespace

Job draw_job(Random& random, bool tables) {
  Job job;
  job.command =
      random.pick({"sort", "sort", "sort", "sort", "sort", "join", "join", "shuf", "set", "set"});
  if (job.command == "set") job.operation = random.pick({"union", "intersect", "except"});
  const cli::CommandSpec& command = *cli::find_command(name_of_command(job));
  const bool columns =
      random.one_in(10) && tables && (job.command == "sort" || job.command == "join");
  if (columns)
    job.options.push_back("--record=" + std::string(random.pick({"arrow", "parquet"})));
  else if (job.command == "join" && random.one_in(6))
    draw_two_formats(job, random);
  else
    draw_record(job, random);
  const bool text = kind_of(job) == Kind::lines || kind_of(job) == Kind::rows;
  if (text && random.one_in(4)) job.options.emplace_back("--header");
  if (!is_keyed(job)) draw_keys(job, random);
  draw_inputs(job, random);
  draw_options(command, job, random);
  draw_target(command, job, random);
  draw_resources(command, job, random);
  draw_gpus(command, job, random);
  fit(job, random);
  if (kind_of(job) == Kind::columns)
    fit_columns(job);
  else
    draw_compression(job, random);
  return job;
}

}  // namespace xxl::campaign
