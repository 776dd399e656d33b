#include "promises.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstring>

#include "compressed.h"
#include "division.h"
#include "tables.h"

namespace xxl::campaign {
namespace {

// What a fault may lead to, from the least to the most.
enum class May {
  change_nothing,
  end_with_error,  // or change nothing: the right output is right, however it came about
  only_end_with_error,
};

// What finds a fault, which is drawn only with that. (Apache Arrow's allocators and static objects
// do not stand a lack of memory or of threads.)
enum class Found { always, by_verify, by_codec, without_arrow };

struct Rule {
  std::string_view role;  // "": any
  std::string_view operation;
  std::string_view effect;
  May may;
  Found found = Found::always;
};

// The first that fits counts.
constexpr Rule kRules[] = {
    // Harmless is what a system may do at any time.
    {"", "read", "short", May::change_nothing},
    {"", "write", "short", May::change_nothing},
    {"", "read", "stall", May::change_nothing},
    {"", "write", "stall", May::change_nothing},
    {"", "sync", "stall", May::change_nothing},
    {"", "read", "eintr", May::change_nothing},
    {"", "write", "eintr", May::change_nothing},
    {"any", "wait", "spurious", May::change_nothing},
    // What is said to have been written, cut and synced has been.
    {"output", "write", "eio", May::only_end_with_error},
    {"output", "write", "enospc", May::only_end_with_error},
    {"output", "write", "edquot", May::only_end_with_error},
    {"output", "sync", "eio", May::only_end_with_error},
    {"output", "sync", "enospc", May::only_end_with_error},
    {"output", "truncate", "eio", May::only_end_with_error},
    // There are other ways to open, to reserve and to name, or an error says that there are none.
    {"output", "open", "eio", May::end_with_error},
    {"output", "open", "eacces", May::end_with_error},
    {"output", "open", "emfile", May::end_with_error},
    {"output", "open", "eopnotsupp", May::end_with_error},
    {"output", "allocate", "enospc", May::end_with_error},
    {"output", "allocate", "eopnotsupp", May::end_with_error},
    {"output", "allocate", "eio", May::end_with_error},
    {"output", "name", "eio", May::end_with_error},
    {"output", "name", "eexist", May::end_with_error},
    {"output", "name", "enospc", May::end_with_error},
    // Inputs and scratch may be read ahead of what is needed; all else is an error.
    {"input", "open", "eio", May::end_with_error},
    {"input", "open", "eacces", May::end_with_error},
    {"input", "open", "emfile", May::end_with_error},
    {"input", "read", "eio", May::end_with_error},
    // Frames have checksums.
    {"input", "read", "flip", May::end_with_error, Found::by_codec},
    {"scratch", "open", "eio", May::end_with_error},
    {"scratch", "open", "eacces", May::end_with_error},
    {"scratch", "open", "emfile", May::end_with_error},
    {"scratch", "open", "eopnotsupp", May::end_with_error},
    {"scratch", "allocate", "enospc", May::end_with_error},
    {"scratch", "allocate", "eopnotsupp", May::end_with_error},
    {"scratch", "read", "eio", May::end_with_error},
    {"scratch", "write", "eio", May::end_with_error},
    {"scratch", "write", "enospc", May::end_with_error},
    {"scratch", "truncate", "eio", May::end_with_error},
    // Scratch is read back, and every block has a checksum.
    {"scratch", "read", "flip", May::end_with_error},
    {"scratch", "write", "flip", May::end_with_error},
    {"scratch", "write", "lost", May::end_with_error},
    {"scratch", "write", "torn", May::end_with_error},
    {"scratch", "write", "elsewhere", May::end_with_error},
    // The output is read back if that is asked for.
    {"output", "read", "flip", May::end_with_error, Found::by_verify},
    {"output", "read", "eio", May::end_with_error, Found::by_verify},
    {"output", "write", "flip", May::end_with_error, Found::by_verify},
    {"output", "write", "lost", May::end_with_error, Found::by_verify},
    {"output", "write", "torn", May::end_with_error, Found::by_verify},
    {"output", "write", "elsewhere", May::end_with_error, Found::by_verify},
    // What cannot be had is an error, or done without.
    {"any", "map", "enomem", May::end_with_error, Found::without_arrow},
    {"any", "heap", "enomem", May::end_with_error, Found::without_arrow},
    {"any", "thread", "eagain", May::end_with_error, Found::without_arrow},
    // GPUs that fail, or have less memory than they said.
    {"any", "device", "stall", May::change_nothing},
    {"any", "device", "eio", May::end_with_error},
    {"any", "device", "enomem", May::end_with_error},
};

const Rule* find_rule(std::string_view role, std::string_view operation, std::string_view effect) {
  const auto found = std::ranges::find_if(kRules, [&](const Rule& rule) {
    return (rule.role.empty() || rule.role == role) && rule.operation == operation &&
           rule.effect == effect;
  });
  return found == std::end(kRules) ? nullptr : found;
}

bool is_found(const Rule& rule, const Job& job) {
  // An output that is an input as well is read as that, too.
  const bool apart = job.target != Target::first_input;
  switch (rule.found) {
    case Found::always:
      return true;
    case Found::by_verify:
      return apart && has(job.resources, "--verify");
    case Found::by_codec:
      return apart && !has(job.options, "--files0-from") && !has(job.options, "--random-source") &&
             std::ranges::all_of(job.inputs, is_compressed, &Input::path);
    case Found::without_arrow:
      return kind_of(job) != Kind::columns;
  }
  return false;
}

// What all that struck may lead to.
May allowed(const Run& run) {
  May most = May::change_nothing;
  for (const Struck& struck : run.report.struck) {
    const Rule* const rule = find_rule(struck.role, struck.operation, struck.effect);
    most = std::max(most, rule == nullptr ? May::end_with_error : rule->may);
  }
  if (run.plan.memory != 0 && most == May::change_nothing) most = May::end_with_error;
  return most;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What the system says of an error, such as "eio"; empty if `effect` is another effect.
std::string_view words_of_error(std::string_view effect) {
  constexpr int kMostErrors = 4096;
  for (int number = 1; number < kMostErrors; ++number) {
    const char* const name = strerrorname_np(number);
    const bool same =
        name != nullptr && std::ranges::equal(effect, std::string_view(name), {}, {}, [](char c) {
          return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        });
    if (same) return strerrordesc_np(number);
  }
  return {};
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 300;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

// How the run ended. Without a machine only the process itself says so.
bool was_cut(const Run& run) {
  return run.report.ended == "kill" || run.report.ended == "power" ||
         (run.plan.end && (run.ended.signal == SIGKILL || run.ended.signal == SIGTERM ||
                           run.ended.signal == SIGHUP || run.ended.signal == SIGINT));
}

bool is_parts(const Job& job) {
  return job.target == Target::parts || job.target == Target::replaced_parts;
}

// Rows in an order of their own, to compare outputs that have none.
std::vector<std::string> sorted_rows(const Expected& expected, const std::string& bytes) {
  std::vector<std::string> rows;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = expected.row_bytes != 0
                                ? at + expected.row_bytes
                                : std::min(bytes.find('\n', at), bytes.size() - 1) + 1;
    rows.push_back(bytes.substr(at, end - at));
    at = end;
  }
  std::ranges::sort(rows);
  return rows;
}

std::string difference(const std::string& expected, const std::string& found) {
  const auto first = std::ranges::mismatch(expected, found).in1 - expected.begin();
  return std::to_string(found.size()) + " bytes instead of " + std::to_string(expected.size()) +
         ", other ones from byte " + std::to_string(first) + ": '" +
         shortened(std::string_view(found).substr(std::size_t(first), 40)) + "' instead of '" +
         shortened(std::string_view(expected).substr(std::size_t(first), 40)) + "'";
}

// Checks of one run; each member is a promise.
class Checks {
 public:
  explicit Checks(const Run& run) : run_(run), job_(run.job), output_(output_path(run.job)) {}

  std::vector<Broken> all() && {
    check_that_it_ends();
    if (!broken_.empty()) return std::move(broken_);
    check_status();
    check_output();
    check_message();
    check_inputs();
    check_leftovers();
    check_closed();
    check_memory();
    return std::move(broken_);
  }

 private:
  void broke(Promise promise, std::string how) { broken_.push_back({promise, std::move(how)}); }

  bool succeeded() const {
    return !was_cut(run_) && run_.ended.signal == 0 && run_.ended.status == run_.expected.status;
  }

  // A budget that is too small for the job is an error, whatever a machine does; that there is no
  // memory beside it is one only where some was refused.
  bool is_refused() const {
    const std::string& error = run_.ended.error;
    if (contains(error, "out of memory") && !lacks_memory()) return false;
    const bool names_budget = contains(error, "-S") || contains(error, "--gpu-memory");
    if (kind_of(job_) == Kind::columns && !has_much_metadata()) return false;
    return run_.ended.status == 2 && names_budget &&
           (contains(error, "too small") || contains(error, "too little") ||
            contains(error, "give"));
  }

  // Of columns, other jobs are drawn with a budget that is enough.
  bool has_much_metadata() const {
    return std::ranges::any_of(
        job_.inputs, [](const Input& input) { return input.records / rows_of_group(input) > 200; });
  }

  bool lacks_memory() const {
    return run_.plan.memory != 0 ||
           std::ranges::any_of(run_.report.struck, [](const Struck& struck) {
             return struck.operation == "heap" || struck.operation == "map" ||
                    struck.operation == "thread" || struck.operation == "device";
           });
  }

  void check_that_it_ends() {
    const Report& report = run_.report;
    if (run_.ended.timed_out) return broke(Promise::ends, "it took too long");
    if (report.ended == "hang" || report.ended == "steps") {
      std::string stacks;
      for (const std::string& stack : report.stacks) stacks += "\n  " + stack;
      return broke(Promise::ends, report.ended + stacks);
    }
    // The C library itself gives up where it has no memory for the destructors of a thread.
    const bool by_library = contains(run_.ended.error, "Fatal glibc error: failed to register TLS");
    if (run_.ended.signal != 0 && !was_cut(run_) && !by_library) {
      broke(Promise::ends,
            "signal " + std::to_string(run_.ended.signal) + ": " + shortened(run_.ended.error));
    }
  }

  void check_status() {
    if (was_cut(run_) || run_.ended.signal != 0) return;
    const int status = run_.ended.status;
    const May may = allowed(run_);
    if (status == run_.expected.status) {
      if (may == May::only_end_with_error && status == 0 && !is_refused()) {
        broke(Promise::status, "exit 0 after a fault that loses output");
      }
      return;
    }
    const bool by_signal = run_.plan.end && (status == 128 + SIGTERM || status == 128 + SIGINT ||
                                             status == 128 + SIGHUP);
    if (by_signal || is_refused() || (status == 2 && may != May::change_nothing)) return;
    broke(Promise::status, "exit " + std::to_string(status) + " instead of " +
                               std::to_string(run_.expected.status) + ": " +
                               shortened(run_.ended.error));
  }

  bool is_of_output(const std::string& path) const {
    return path == output_ || (is_parts(job_) && path.starts_with(output_ + '/'));
  }

  // Everything of the output, as files.
  Tree output_tree(const Tree& tree) const {
    Tree output;
    for (const auto& [path, bytes] : tree) {
      if (is_of_output(path)) output[path] = bytes;
    }
    return output;
  }

  bool has_new_output() const {
    if (is_parts(job_) && !run_.after.contains(output_ + "/_manifest.json")) return false;
    if (!is_parts(job_) && writes_file() && !run_.after.contains(output_)) return false;
    if (run_.found == run_.expected.output) return true;
    return run_.expected.any_order && sorted_rows(run_.expected, run_.found) ==
                                          sorted_rows(run_.expected, run_.expected.output);
  }

  bool writes_file() const {
    return job_.target != Target::standard_output && job_.target != Target::pipe &&
           job_.target != Target::none;
  }

  void check_output() {
    if (succeeded() && run_.expected.status == 0) {
      if (!has_new_output()) {
        broke(Promise::output, difference(run_.expected.output, run_.found) + ", as " +
                                   std::string(run_.expected.by) + " says");
      }
      if (!run_.manifest_error.empty()) broke(Promise::output, run_.manifest_error);
      check_division();
      return;
    }
    if (!writes_file() || contains(run_.ended.error, "was overwritten in place")) return;
    if (output_tree(run_.before) == output_tree(run_.after)) return;
    // The new one is there whole when it was too late, when only the rest failed, or when there was
    // no memory to report it.
    const bool may_be_new = run_.plan.end ||
                            contains(run_.ended.error, "the output is complete and in its place") ||
                            contains(run_.ended.error, "out of memory");
    if (may_be_new && has_new_output()) return;
    broke(Promise::old_output, "neither the old output nor the new one: " +
                                   difference(run_.expected.output, run_.found));
  }

  void check_division() {
    if (!is_parts(job_) || kind_of(job_) == Kind::columns) return;
    std::vector<std::string> parts;
    for (const auto& [path, bytes] : run_.after) {
      if (path.starts_with(output_ + '/') && is_part(path.substr(output_.find('/') + 1)))
        parts.push_back(bytes);
    }
    const std::string wrong = wrong_division(job_, parts);
    if (!wrong.empty()) broke(Promise::output, wrong);
  }

  // Whether an error names something of that role.
  bool names(std::string_view role) const {
    const std::string_view text = run_.ended.error;
    if (role == "input") {
      return std::ranges::any_of(job_.inputs, [&](const Input& input) {
        return contains(text, input.path) || contains(text, "standard input");
      });
    }
    if (role == "scratch") return contains(text, "scratch");
    if (role == "output") {
      const std::string directory = output_.substr(0, output_.find('/'));
      return contains(text, directory + ':') || contains(text, directory + '/') ||
             contains(text, "the output is not a permutation");
    }
    return true;
  }

  // Whether an error has what the system says of one of the faults that struck files; of others it
  // may say whatever it does.
  bool says_why() const {
    bool must = false;
    for (const Struck& struck : run_.report.struck) {
      const Rule* const rule = find_rule(struck.role, struck.operation, struck.effect);
      if (rule != nullptr && rule->may == May::change_nothing) continue;
      const std::string_view words = words_of_error(struck.effect);
      const bool is_of_file = struck.role != "any";
      if (!is_of_file || words.empty() || contains(run_.ended.error, words)) return true;
      must = true;
    }
    return !must;
  }

  void check_message() {
    const std::string& error = run_.ended.error;
    const auto lines = std::ranges::count(error, '\n');
    if (was_cut(run_) || run_.ended.signal != 0) return;
    const bool as_expected = succeeded();
    if (as_expected && run_.ended.status == 0) {
      // Warnings are of what could be better.
      if (!error.empty() && error != run_.expected.error && !contains(error, ": warning: ")) {
        broke(Promise::message, "exit 0 and a message: " + shortened(error));
      }
      return;
    }
    if (run_.ended.status != 2) return;  // disorder found by --check, or a signal
    const bool usage = contains(error, "Try '");
    if ((lines != 1 && !usage) || !error.starts_with("xxl: ")) {
      return broke(Promise::message, "not one line: " + shortened(error));
    }
    if (as_expected || is_refused()) return;
    const bool named = std::ranges::any_of(
        run_.report.struck, [&](const Struck& struck) { return names(struck.role); });
    if (!run_.report.struck.empty() && !named) {
      broke(Promise::message, "it does not say where: " + shortened(error));
    }
    if (!usage && !says_why()) broke(Promise::message, "it does not say why: " + shortened(error));
  }

  void check_inputs() {
    for (const auto& [path, bytes] : run_.before) {
      if (!path.starts_with("in/") || is_of_output(path)) continue;
      const auto found = run_.after.find(path);
      if (found == run_.after.end() || found->second != bytes) {
        broke(Promise::inputs, path + " was changed");
      }
    }
  }

  void check_leftovers() {
    for (const auto& [path, bytes] : run_.after) {
      if (run_.before.contains(path) || is_of_output(path)) continue;
      if (is_temp_name(path) && may_leave_temp_names()) continue;
      broke(Promise::leftovers, path + " was left");
    }
  }

  // What replaces a file, or is a directory, has a name of its own for a while.
  bool is_temp_name(const std::string& path) const {
    const std::size_t name = path.find("/.xxl-");
    return job_.target != Target::fresh && name != std::string::npos &&
           contains(path.substr(name), ".tmp");
  }

  // A process that is killed cannot take such a name back, nor can one that is refused that as
  // well.
  bool may_leave_temp_names() const {
    if (run_.report.ended == "kill" || (run_.plan.end && run_.plan.end->how == "power"))
      return true;
    std::uint64_t refused = 0;
    for (const Struck& struck : run_.report.struck) {
      const bool names = struck.operation == "name" || struck.operation == "open";
      if (names && struck.role == "output") refused += struck.times;
    }
    // One that was refused once and did not fail the job was refused its removal, or it says so.
    const bool is_told = contains(run_.ended.error, "cannot be removed");
    return refused > 1 || (refused == 1 && (is_told || succeeded()));
  }

  void check_closed() {
    if (run_.report.ended != "exit") return;
    if (run_.report.files > 0) {
      broke(Promise::closed, std::to_string(run_.report.files) + " files were open at the end");
    }
    // Apache Arrow keeps those of its pool.
    if (run_.report.threads > 0 && kind_of(job_) != Kind::columns) {
      broke(Promise::closed, std::to_string(run_.report.threads) + " threads ran at the end");
    }
  }

  void check_memory() {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
    constexpr std::uint64_t kBeside = 48 * kMiB;
    constexpr std::uint64_t kLeastForLines = 4;  // a smaller -S is raised
    const auto budget = value_of(job_.resources, "--buffer-size");
    const bool simulates = has(job_.resources, "--device");  // GPUs, in memory of the process
    if (run_.report.memory == 0 || !budget || simulates) return;
    const std::uint64_t most = std::max<std::uint64_t>(std::stoul(*budget), kLeastForLines) * kMiB;
    if (run_.report.memory > most + kBeside) {
      broke(Promise::memory,
            std::to_string(run_.report.memory) + " bytes of memory with -S " + *budget);
    }
  }

  const Run& run_;
  const Job& job_;
  const std::string output_;
  std::vector<Broken> broken_;
};

}  // namespace

std::string_view name_of(Promise promise) {
  switch (promise) {
    case Promise::ends:
      return "ends";
    case Promise::output:
      return "output";
    case Promise::status:
      return "status";
    case Promise::old_output:
      return "old_output";
    case Promise::message:
      return "message";
    case Promise::inputs:
      return "inputs";
    case Promise::leftovers:
      return "leftovers";
    case Promise::closed:
      return "closed";
    case Promise::memory:
      return "memory";
    case Promise::repeats:
      return "repeats";
  }
  return "";
}

std::vector<Broken> check(const Run& run) {
  return Checks(run).all();
}

std::vector<Broken> check_repeated(const Run& first, const Run& again) {
  const auto describe = [](const Run& run) {
    return run.report.ended + ' ' + std::to_string(run.report.steps) + ' ' + run.report.trace +
           ' ' + shortened(run.ended.error);
  };
  if (describe(first) == describe(again)) return {};
  return {{Promise::repeats, describe(again) + " instead of " + describe(first)}};
}

bool may_strike(const Job& job, const Fault& fault) {
  const Rule* const rule = find_rule(fault.role, fault.operation, fault.effect);
  return rule != nullptr && is_found(*rule, job);
}

std::vector<FaultKind> fault_kinds(const Job& job) {
  static constexpr std::array<std::string_view, 3> kRoles{"input", "output", "scratch"};
  std::vector<FaultKind> kinds;
  for (const Rule& rule : kRules) {
    if (!is_found(rule, job)) continue;
    // A rule for all roles stands for each.
    for (const std::string_view role : kRoles) {
      if (!rule.role.empty() && rule.role != role && rule.role != "any") continue;
      const std::string_view of = rule.role == "any" ? rule.role : role;
      kinds.push_back({of, rule.operation, rule.effect});
      if (of == "any") break;
    }
  }
  return kinds;
}

}  // namespace xxl::campaign
