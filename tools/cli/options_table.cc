#include "cli/options_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "cli/options_shared.h"

namespace xxl::cli {
namespace {

constexpr std::array kGenOptions{
    option(kOptions, "--format=FORMAT", "what a record is (default: gensort)",
           {.words = kRecordWords}),
    option(kOptions, "--key=SPEC", "where the keys are: OFFSET:TYPE[:desc]; repeatable",
           {.details = "The distribution is that of the first key."}),
    option(kOptions, "-a, --ascii", "gensort records as text instead of binary"),
    option(kOptions, "-s, --skewed", "gensort records with skewed keys"),
    option(kOptions, "--start=N", "number of the first record (default: 0)",
           {.details = "A record depends on its number (and the seed) alone: a file may be made in "
                       "pieces, also on several machines."}),
    option(kOptions, "--total=N", "records of the whole file that these are a part of",
           {.details = "Without it, these records are the last ones of the file. Keys that are "
                       "zipf, sorted, reverse or nearly-sorted depend on it."}),
    option(kOptions, "--distribution=NAME", "keys of records other than gensort (default: uniform)",
           {.words = "uniform normal zipf: sorted reverse nearly-sorted few-distinct constant"}),
    option(kOptions, "--seed=N", "seed of records other than gensort (default: 1)"),
    option(kOptions, "--checksum", "print the sum of the CRC-32 of each record on standard error",
           {.details = "The sum that gensort -c and valsort print."}),
    kParallel,
    kOutput,
    kHelp,
};

constexpr std::array kValidateOptions{
    option(kOptions, "--format=FORMAT", "what a record is", {.words = kRecordWords}),
    kKey,
    kReverse,
    kParallel,
    kHelp,
};

constexpr std::array kProbeOptions{
    option(kOptions, "--gpu", "measure GPUs instead of disks",
           {.details =
                "All that CUDA_VISIBLE_DEVICES leaves visible. Takes some 256 MiB of host memory "
                "for each GPU, and as much of its own (1 GiB where there are 8 GPUs)."}),
    option(kOptions, "--size=SIZE", "size of each of the two test files (default: 1G)",
           {.details = "As for sort -S. They have no name and are gone afterwards."}),
    option(kOptions, "--seconds=N", "time to measure each directory (default: 5), or all GPUs (6)",
           {.details = "For GPUs at most: a measurement takes at most 0.2 seconds. Preparing "
                       "files or GPUs comes on top."}),
    option(kOptions, "--json", "print one JSON object instead of a table"),
    kHelp,
};

constexpr std::array kInfoOptions{kHelp};
constexpr std::array kHelpOptions{kHelp};

constexpr std::array kProbeSections{
    Section{"JSON",
            "--json prints one object:\n"
            "\n"
            "  directories    for each DIR: directory, backend, direct, choice (a row), rows\n"
            "  a row          block_bytes, depth, read_bytes_per_second,\n"
            "                 write_bytes_per_second, both_bytes_per_second\n"
            "\n"
            "With --gpu:\n"
            "\n"
            "  gpus           for each GPU: index, name, bus, numa_node, host_link,\n"
            "                 memory_bytes, free_bytes, compute_capability, pinned,\n"
            "                 pageable, registered (host memory: rates)\n"
            "  rates          to_bytes_per_second, from_..., both_...\n"
            "  sets           several GPUs at once: gpus, pinned (rates of all)\n"
            "  host_pairs     two GPUs at once: gpus, both_bytes_per_second, share_link\n"
            "  peers          from, to, peer, bytes_per_second,\n"
            "                 assumed_bytes_per_second\n"
            "  all_to_all_bytes_per_second\n"
            "  automatic_choices  for 1, 2, 4, ... GPUs: gpus, strategy\n"
            "  measured_choices   the same from what was measured\n",
            Scope::all, kOnlyInManual},
};

constexpr Section kDistributions{
    "DISTRIBUTIONS",
    "Of the keys of records other than gensort:\n"
    "\n"
    "  uniform        over all values; floating-point numbers from 0 to 1\n"
    "  normal         around the middle of the range; floating-point numbers around 0\n"
    "  zipf:THETA     the i-th most frequent key is as likely as 1 / i^THETA\n"
    "  sorted         ascending over the whole range\n"
    "  reverse        descending\n"
    "  nearly-sorted  sorted, but one record in a hundred has changed places\n"
    "  few-distinct   16 values\n"
    "  constant       one value\n"
    "\n"
    "The value of kv32 and kv64 is the number of the record; all other bytes are random. "
    "A key of bytes has the distribution in its first 8.\n"};

constexpr std::array kGenSections{
    kRecords,
    kKeys,
    kDistributions,
};

constexpr std::array kValidateSections{
    kRecords,
    kKeys,
    Section{"EXIT STATUS",
            "  0    all records are in order\n"
            "  1    some are not\n"
            "  2    an error\n"},
};

constexpr CommandSpec kOtherCommands[] = {
    CommandSpec{
        .name = "gen",
        .operands = "RECORDS",
        .summary = "make test data",
        .description =
            "Writes RECORDS records of test data; the number may have a suffix k, M, G or T "
            "for powers of 1000. gensort records are those of the sort benchmark's program "
            "gensort, byte for byte.\n",
        .examples = "  xxl gen 10M -o big.dat                 one gigabyte as gensort makes it\n"
                    "  xxl gen -a -s --checksum 1000 -o small.txt\n"
                    "  xxl gen --format=u64 --distribution=zipf:0.75 --seed=7 1G -o keys.bin\n",
        .records = Scope::binary,
        .options = kGenOptions,
        .sections = kGenSections},
    CommandSpec{
        .name = "validate",
        .operands = "[FILE]",
        .summary = "check that a file is sorted, and sum it up",
        .description =
            "Prints what valsort of the sort benchmark prints: the number of records, the sum of "
            "their CRC-32, how many records have the same key as the one before, and whether all "
            "are in order. Without FILE, or when FILE is -, standard input is read.\n"
            "\n"
            "Called through a link named valsort, the program is valsort of gensort 1.5: valsort "
            "[-q] [-tN] FILE. It reports on standard error, in the same lines, and its exit "
            "status is 1 when records are not in order, and on errors. Without -o, -s and -i.\n",
        .examples = "  xxl validate --format=gensort sorted.dat\n"
                    "  xxl validate --format=fixed:32 --key=8:i64:desc events.sorted\n"
                    "  xxl validate parts/\n",
        .records = Scope::binary,
        .options = kValidateOptions,
        .sections = kValidateSections},
    CommandSpec{
        .name = "probe",
        .operands = "[DIR]...",
        .operands_are_directories = true,
        .summary = "measure disks, or GPUs",
        .description =
            "Measures each DIR (default: the default scratch directory): reading, writing and "
            "both at once, over block sizes and numbers of transfers in flight. The choice is "
            "the smallest that comes close to the best rate of reading and writing at once.\n"
            "\n"
            "With --gpu, measures all GPUs instead: how fast they exchange data with the "
            "host, alone and together, and with each other. Then it names the GPUs that are "
            "best taken for 1, 2, 4, ... of them, and how they sort together.\n",
        .examples = "  xxl probe /disk1 /disk2\n"
                    "  xxl probe --gpu --json\n",
        .options = kProbeOptions,
        .sections = kProbeSections},
    CommandSpec{.name = "info",
                .operands = "",
                .summary = "print version, build features and hardware",
                .description =
                    "Prints the version, how the program was built, and what it found of the "
                    "machine: processors, memory, how it talks to the disks.\n",
                .options = kInfoOptions,
                .sections = {}},
    CommandSpec{.name = "help",
                .operands = "[COMMAND [TOPIC]]",
                .summary = "print help on a command",
                .description =
                    "Prints all options of a command. TOPIC says what it is about: csv, keys, "
                    "dirty, memory, and others that the help of the command lists, or an option. "
                    "For all of them it is 'all'.\n",
                .examples = "  xxl help sort\n"
                            "  xxl help sort csv\n"
                            "  xxl help join how\n",
                .options = kHelpOptions,
                .sections = {}},
};

constexpr OtherName kOtherNames[] = {
    {"csv", "format", "csv"},
    {"tsv", "format", "tsv"},
    {"jsonl", "format", "jsonl"},
    {"ndjson", "format", "jsonl"},
    {"parquet", "format", "parquet"},
    {"arrow", "format", "arrow"},
    {"record", "format"},
    {"memory", "buffer-size"},
    {"scratch", "temporary-directory"},
    {"tmp", "temporary-directory"},
    {"threads", "parallel"},
    {"by", "key"},
    {"key", "on"},
    {"desc", "reverse"},
    {"descending", "reverse"},
    {"sep", "field-separator"},
    {"sep", "-t"},
    {"separator", "field-separator"},
    {"separator", "-t"},
    {"delimiter", "field-separator"},
    {"delimiter", "-t"},
    {"avg", "mean"},
    {"average", "mean"},
    {"distinct", "unique"},
    {"unique", "once"},
    {"dupes", "repeated"},
    {"offset", "skip"},
    {"dry-run", "explain"},
    {"quiet", "progress", "never"},
};

// Made when first asked for: sort's part lies in another file.
const auto& all_commands() {
  static const std::vector<CommandSpec> all = [] {
    std::vector<CommandSpec> made = {sort_command(), join_command(), group_command()};
    for (const CommandSpec& command : sort_like_commands()) made.push_back(command);
    made.push_back(shuf_command());
    made.insert(made.end(), std::begin(kOtherCommands), std::end(kOtherCommands));
    return made;
  }();
  return all;
}

}  // namespace

std::string OptionSpec::key() const {
  return long_name.empty() ? std::string("-") + short_name : std::string(long_name);
}

OptionSpec option_of(const CommandSpec& command, std::string_view key) {
  const auto found = std::ranges::find(command.options, key, &OptionSpec::key);
  XXL_CHECK(found != command.options.end());
  OptionSpec option = *found;
  option.standard = false;
  return option;
}

OptionSpec as_sort(std::string_view key, Scope scope) {
  OptionSpec option = option_of(sort_command(), key);
  option.scope = scope;
  return option;
}

OptionSpec for_records(OptionSpec option, Scope records) {
  if (option.long_name != "format") return option;
  // Texts of options last as long as the program.
  static std::map<Scope, std::pair<std::string, std::string>> made;
  auto& [words, help] = made[records];
  if (words.empty()) {
    std::string names, switches;
    std::istringstream all{std::string(option.words)};
    for (std::string word; all >> word;) {
      const Scope scope = records_of_format(word);
      if (!overlap(scope, records)) continue;
      words.append(words.empty() ? "" : " ").append(word);
      if (scope == Scope::binary) continue;
      names.append(names.empty() ? "" : ", ").append(word);
      if (scope != Scope::lines) switches.append(", --").append(word);
    }
    if (overlap(records, Scope::binary)) names.append(", fixed:N, u64, ...");
    help = "what the files hold: " + names + " (for short " + switches.substr(2) + ")";
  }
  option.words = words;
  option.help = help;
  return option;
}

OptionSpec with_details(OptionSpec option, std::string_view details) {
  option.details = details;
  return option;
}

std::span<const OtherName> other_names() {
  return kOtherNames;
}

bool has_word(std::string_view words, std::string_view word) {
  if (word.find(' ') != word.npos) return false;
  return (" " + std::string(words) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

const OptionSpec* option_of(const CommandSpec& command, const OtherName& other) {
  const OptionSpec* found = nullptr;
  for (const OptionSpec& option : command.options) {
    if (option.help.empty()) continue;
    if (option.long_name == other.name) return nullptr;
    if (option.key() == other.key) found = &option;
  }
  return found;
}

bool accepts(const OptionSpec& option, const OtherName& other) {
  return other.value.empty() || has_word(option.words, other.value);
}

std::span<const CommandSpec> commands() {
  return all_commands();
}

const CommandSpec* find_command(std::string_view name) {
  for (const CommandSpec& command : all_commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace xxl::cli
