#include "cli/help_topics.h"

#include <algorithm>

#include "cli/options_shared.h"

namespace xxl::cli {
namespace {

constexpr HelpTopic kTopics[] = {
    {"lines text", "Lines of text",
     "A line ends with a newline. Lines are compared as sort(1) does, in the order of the locale. "
     "LC_ALL=C compares bytes, and is faster.\n",
     Scope::lines},
    {"csv tsv rows", "CSV and TSV files",
     "Commas separate the fields of CSV files, tabs those of TSV files. A field in double quotes "
     "may hold separators, quotes and line breaks. The first row is a header, unless --no-header "
     "is given: it stays in front, and names the columns.\n",
     Scope::rows},
    {"jsonl ndjson json", "JSON lines",
     "Each line is a JSON object. Keys are its members: city, user.id for one in the object user, "
     "'\"a.b\"' for a name with a dot, or a JSON pointer (/user/id). Lines are written as they "
     "were.\n",
     Scope::rows},
    {"parquet arrow columns", "Parquet and Arrow files",
     "They are known by their names and first bytes. They need an optional module; xxl info says "
     "whether it was found.\n",
     Scope::columns},
    {"records binary fixed", "Binary records",
     "All records of a file have the same size, and nothing lies between them. --format says what "
     "they are: fixed:N has N bytes, u64 is a number of 8 bytes.\n",
     Scope::binary},
    {"input files header", kInputTitle,
     "Without FILE, or when FILE is -, standard input is read. Files that end in .gz, .bgz, .zst, "
     ".lz4, .bz2 or .xz are decompressed while they are read.\n"},
    {"keys key order", kOrdering, "The first key is the most significant.\n"},
    {"output", kOutputTitle,
     "An output file appears complete or not at all. It is compressed if its name ends in .gz, "
     ".zst or .lz4.\n"},
    {"aggregates folds sums", kFolding,
     "The result has one record for each key. Sums are exact, to the last digit.\n"},
    {"dirty malformed rejects nulls", kDirty,
     "A malformed row is an error, which names the file and the line, unless --malformed says "
     "otherwise. Rows that are skipped or kept are counted, and a warning tells how many.\n"},
    {"parts", kInParts,
     "The output is a directory with several files, and a _manifest.json that lists them.\n"},
    {"memory threads scratch disks", kResources,
     "-S bounds the memory of the whole process, plus 48 MiB for the program itself. Data that "
     "does not fit goes to scratch files. They have no name, so that nothing is left behind.\n"},
    {"gpu gpus", kGpus,
     "Without --device, GPUs are used for inputs that do not fit in memory and have at least "
     "1 GiB. xxl info lists them.\n"},
    {"reports progress", kAsking, "Reports go to standard error.\n"},
    {"experts", kExperts, "The defaults are chosen for the machine and the input.\n"},
};

// Whether something that is for these records tells them from others.
bool is_particular(Scope scope) {
  return scope != Scope::all && scope != Scope::records;
}

}  // namespace

std::span<const HelpTopic> help_topics() {
  return kTopics;
}

bool is_in(const HelpTopic& topic, const OptionSpec& option) {
  if (topic.records == Scope::all) return option.group == topic.title;
  return is_particular(option.scope) && overlap(option.scope, topic.records);
}

bool is_in(const HelpTopic& topic, const Section& section) {
  if (section.group == kOnlyInManual) return false;
  if (topic.records == Scope::all) return section.group == topic.title;
  return is_particular(section.scope) && overlap(section.scope, topic.records);
}

std::size_t rank_of_group(std::string_view title) {
  const auto found = std::ranges::find(kTopics, title, &HelpTopic::title);
  return found == std::end(kTopics) ? 0 : static_cast<std::size_t>(found - kTopics) + 1;
}

}  // namespace xxl::cli
