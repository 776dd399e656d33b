#include "join/join_shared.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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
    throw_usage(options.command(), "R and S cannot both be standard input");
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
  if (options.has("how")) join.kind = parse_join_kind(options.word("how", "inner"));
  join.method = method_option(options);
  join.inputs = {arguments.files[0], arguments.files[1]};
  join.presorted = presorted_option(arguments);
  join.count_only = options.has("count");
  set_job_options(options, join);
}

std::vector<std::string> key_specs(const ParsedOptions& options, std::size_t side) {
  std::vector<std::string> specs = options.values("key");
  const std::vector<std::string> own = options.values(side == 0 ? "key1" : "key2");
  if (!specs.empty() && !own.empty()) {
    throw_usage(options.command(), "--key is for both sides: it excludes --key1 and --key2");
  }
  if (options.has("key1") != options.has("key2")) {
    throw_usage(options.command(), "--key1 and --key2 go together: give the key of both sides");
  }
  specs.insert(specs.end(), own.begin(), own.end());
  return specs;
}

}  // namespace xxl::cli
