#include "join/join_shared.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "job/files/text_kind.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

std::array<bool, kJoinSides> presorted_option(const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  std::array<bool, kJoinSides> presorted{};
  if (arguments.watch == OrderWatch::always) presorted = {true, true};
  if (!options.has("presorted")) return presorted;
  if (arguments.watch == OrderWatch::never) {
    throw_usage(options.command(), "--presorted excludes --nocheck-order");
  }
  options.word("presorted", "both");  // throws if the last one is no word
  for (const std::string& side : options.values("presorted")) {
    presorted[0] |= side != "2";
    presorted[1] |= side != "1";
  }
  return presorted;
}

// True if the two names stand for one pipe or terminal. (/dev/null may be read twice.)
bool are_one_pipe(const std::string& r, const std::string& s) {
  const auto find = [](const std::string& name, struct stat& status) {
    const int failed = name == "-" ? fstat(STDIN_FILENO, &status) : stat(name.c_str(), &status);
    const bool is_null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
    return failed == 0 && !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode) &&
           !S_ISDIR(status.st_mode) && !is_null;
  };
  struct stat first {
  }, second{};
  return find(r, first) && find(s, second) && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

bool swaps_sides(const ParsedOptions& options) {
  return options.value("how", "").starts_with("right-");
}

JoinKind how_option(const ParsedOptions& options) {
  const std::string word = options.word("how", "inner");
  if (word == "cross") {
    if (text_kind(options.value("format", "lines")) == TextKind::rows) return JoinKind::inner;
    throw_usage(options.command(),
                "--how=cross pairs rows of CSV and TSV: lines without tabs are rows with --tsv "
                "--no-header --quote=none");
  }
  return parse_join_kind(swaps_sides(options) ? word.substr(word.find('-') + 1) : word);
}

JoinMethod method_option(const ParsedOptions& options) {
  const std::string word = options.word("method", "auto");
  if (word == "sort-merge") return JoinMethod::sort_merge;
  return word == "hash" ? JoinMethod::hash : JoinMethod::automatic;
}

void check_inputs(const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  const std::string& r = arguments.files[0];
  const std::string& s = arguments.files[1];
  if (r == "-" && s == "-") {
    throw_usage(options.command(), "both inputs are standard input, which can be read only once");
  }
  if (are_one_pipe(r, s)) {
    throw_usage(options.command(), "both inputs are the same pipe, which can be read only once");
  }
  if (options.has("count") && options.has("output")) {
    throw_usage(options.command(), "--count writes no rows: it excludes --output");
  }
}

void set_join_options(const JoinArguments& arguments, JoinSpec& join) {
  check_inputs(arguments);
  const ParsedOptions& options = arguments.options;
  join.how = how_option(options);
  join.method = method_option(options);
  join.inputs = {arguments.files[0], arguments.files[1]};
  join.presorted = presorted_option(arguments);
  join.count_only = options.has("count");
  set_job_options(options, join);
}

std::vector<std::string> key_specs(const JoinArguments& arguments, std::size_t side) {
  const ParsedOptions& options = arguments.options;
  const bool own = options.has("left-on") || options.has("right-on");
  const bool letters = arguments.fields[0] || arguments.fields[1];
  if (options.has("on") + own + letters > 1) {
    throw_usage(options.command(),
                "give the keys in one way: --on, or --left-on and --right-on, or -1, -2 and -j");
  }
  if (own && !(options.has("left-on") && options.has("right-on"))) {
    throw_usage(options.command(),
                "--left-on and --right-on go together: give the key of both sides");
  }
  std::vector<std::string> specs;
  if (letters) specs.push_back(arguments.fields[side].value_or("1"));
  const std::string own_name = side == 0 ? "left-on" : "right-on";
  for (const std::string& list : options.values(own ? own_name : "on")) specs.push_back(list);
  return specs;
}

}  // namespace xxl::cli
