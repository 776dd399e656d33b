// xxl-campaign: random jobs of the program on simulated machines, with faults or without
// (tests/campaign/README.md).
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/program_options.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "case_file.h"
#include "draw.h"
#include "draw_plan.h"
#include "laboratory.h"
#include "process.h"
#include "random.h"
#include "shrink.h"
#include "summary.h"
#include "tree.h"

namespace xxl::campaign {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;
using Clock = std::chrono::steady_clock;

constexpr unsigned kFaultyRuns = 3;  // of each job
constexpr unsigned kMostShrinkingRuns = 300;
constexpr std::chrono::seconds kMostShrinking{20};
constexpr std::uint64_t kSeedsWithoutEnd = std::numeric_limits<std::uint64_t>::max();

struct Options {
  Settings settings;
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 100;
  Clock::time_point end = Clock::time_point::max();
  unsigned jobs = 1;
  unsigned repeat = 1;
  bool verbose = false;
  bool keep = false;
  bool stop_at_failure = false;
  bool no_faults = false;
  std::vector<std::string> cases;  // files
  bool only_cases = false;
  std::string junit;
};

std::atomic<bool> interrupted = false;

// SIGINT and SIGTERM end a campaign as the end of its time does, with its summary.
void end_when_interrupted() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

// The processors that this program may use.
std::vector<unsigned> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> allowed;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) allowed.push_back(i);
    }
  }
  return allowed;
}

// Whether shrinking has not led to another failure: the promise, and how its words begin.
bool is_same_failure(const Broken& a, const Broken& b) {
  constexpr std::size_t kSameBytes = 6;  // "exit 0"
  return a.promise == b.promise && a.how.substr(0, kSameBytes) == b.how.substr(0, kSameBytes);
}

// A worker: takes kept cases, then seeds, until there are no more or the time is over.
class Worker {
 public:
  Worker(const Options& options, unsigned number, std::atomic<std::size_t>& next_case,
         std::atomic<std::uint64_t>& next_seed, Summary& summary)
      : options_(options),
        laboratory_(options.settings, number),
        next_case_(next_case),
        next_seed_(next_seed),
        summary_(summary) {}

  void work() {
    for (std::size_t i; (i = next_case_++) < options_.cases.size();) try_kept(options_.cases[i]);
    if (options_.only_cases) return;
    for (std::uint64_t seed; (seed = next_seed_++) <= options_.last_seed;) {
      if (interrupted || Clock::now() >= options_.end ||
          (options_.stop_at_failure && summary_.failed()))
        return;
      try {
        try_seed(seed);
      } catch (const std::exception& error) {
        summary_.add_failure("seed " + std::to_string(seed), {{Promise::repeats, error.what()}},
                             "of the campaign itself\n");
      }
    }
  }

 private:
  void try_kept(const std::string& path) {
    const Case one = read_case(read_file(path));
    const std::string name = fs::path(path).filename().string();
    laboratory_.prepare(one.job);
    if (const auto broken = try_plan(name, one.plan); broken.empty())
      summary_.add_passed_case(name);
    else
      summary_.add_failure(name, broken, laboratory_.command_line());
  }

  void try_seed(std::uint64_t seed) {
    Random random(seed);
    const Job job = draw_job(random, laboratory_.has_tables());
    const Plan healthy = draw_machine(job, random);
    const std::string name = "seed " + std::to_string(seed);
    summary_.add_seed();
    laboratory_.prepare(job);
    if (fails(name, {job, healthy})) return;
    const bool has_faults = laboratory_.has_machine() && !options_.no_faults;
    for (unsigned i = 0; has_faults && i < kFaultyRuns; ++i) {
      if (fails(name, {job, draw_faults(job, healthy, last_report_, random)})) return;
    }
  }

  // Runs it; shrinks and reports it if it fails.
  bool fails(const std::string& name, const Case& one) {
    std::vector<Broken> broken = try_plan(name, one.plan);
    if (broken.empty()) return false;
    if (options_.stop_at_failure) {
      summary_.add_failure(name, broken,
                           write_case(one) + "# " + laboratory_.command_line() + '\n');
      return true;
    }
    const Broken first = broken.front();
    const auto end = std::min(options_.end, Clock::now() + kMostShrinking);
    const Case small = shrink(
        one,
        [&](const Case& candidate) {
          if (Clock::now() >= end) return false;
          std::vector<Broken> found = laboratory_.test(candidate, options_.repeat);
          const bool same = !found.empty() && is_same_failure(found.front(), first);
          if (same) broken = std::move(found);
          return same;
        },
        kMostShrinkingRuns);
    laboratory_.test(small);
    summary_.add_failure(name, broken,
                         write_case(small) + "# " + laboratory_.command_line() + '\n');
    return true;
  }

  std::vector<Broken> try_plan(const std::string& name, const Plan& plan) {
    const Run run = laboratory_.run(plan);
    std::vector<Broken> broken = check(run);
    for (unsigned i = 1; i < options_.repeat && broken.empty(); ++i) {
      broken = check_repeated(run, laboratory_.run(plan));
    }
    if (options_.verbose) describe(name, run);
    summary_.add(run, broken);
    last_report_ = run.report;
    return broken;
  }

  void describe(const std::string& name, const Run& run) const {
    std::string text = name + ": exit " + std::to_string(run.ended.status) + ", signal " +
                       std::to_string(run.ended.signal) + ", as " + std::string(run.expected.by) +
                       " says " + std::to_string(run.expected.status) + "; " + run.report.ended +
                       " after " + std::to_string(run.report.steps) + " steps\n  " +
                       laboratory_.command_line() + '\n';
    for (const std::string& line : lines_of(run.plan)) text += "  plan " + line + '\n';
    for (const Struck& struck : run.report.struck) {
      text += "  struck " + struck.role + ' ' + struck.operation + ' ' + struck.effect + ' ' +
              std::to_string(struck.times) + '\n';
    }
    if (!run.ended.error.empty()) text += "  " + run.ended.error;
    std::cout << text << std::flush;
  }

  const Options& options_;
  Laboratory laboratory_;
  std::atomic<std::size_t>& next_case_;
  std::atomic<std::uint64_t>& next_seed_;
  Summary& summary_;
  Report last_report_;
};

// "5", "1..100", "7.."
void read_seeds(const std::string& text, Options& options) {
  const auto number = [&](const std::string& digits) {
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (error == std::errc() && end == digits.data() + digits.size()) return seed;
    throw std::runtime_error("invalid --seeds=" + text + ": give A..B, A.. or A");
  };
  const std::size_t dots = text.find("..");
  options.first_seed = options.last_seed = number(text.substr(0, dots));
  if (dots == std::string::npos) return;
  const std::string last = text.substr(dots + 2);
  options.last_seed = last.empty() ? kSeedsWithoutEnd : number(last);
  if (options.last_seed < options.first_seed) {
    throw std::runtime_error("invalid --seeds=" + text + ": there are none");
  }
}

std::vector<std::string> kept_cases(const std::string& directory) {
  std::vector<std::string> files;
  if (!fs::is_directory(directory)) return files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".case") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// Nothing if only help was asked for.
std::optional<Options> parse(int argc, char** argv) {
  Options options;
  const std::string beside = fs::canonical("/proc/self/exe").parent_path().string();
  double minutes = 0;
  std::string seeds = "1..100";
  po::options_description known("Usage: xxl-campaign [OPTION]...\n\nOptions");
  auto add = known.add_options();
  add("help", "print this help and exit");
  add("seeds", po::value(&seeds), "A..B, A.. or A: the jobs (default: 1..100)");
  add("minutes", po::value(&minutes), "end after that time");
  add("jobs", po::value(&options.jobs), "workers (default: one for each processor)");
  add("verbose", po::bool_switch(&options.verbose), "say what is run, and how it ends");
  add("keep", po::bool_switch(&options.keep), "leave the directories of the workers");
  add("no-faults", po::bool_switch(&options.no_faults),
      "run each job once, on a machine that does not fail, and no kept cases");
  add("stop-at-failure", po::bool_switch(&options.stop_at_failure),
      "end with the first failure, which is not shrunk");
  add("work", po::value(&options.settings.work),
      "directory of the workers (default: a new one in /dev/shm)");
  add("machine", po::value(&options.settings.machine),
      "the library, or none: on the machine we have");
  add("xxl", po::value(&options.settings.xxl), "the program");
  add("case", po::value<std::vector<std::string>>(), "run this file, and no seeds; repeatable");
  add("tables", po::value(&options.settings.tables),
      "the program that makes files of columns, or none: no jobs of columns");
  add("repeat", po::value(&options.repeat), "run each job so often: it must do the same each time");
  add("junit", po::value(&options.junit), "write results to this file");
  options.jobs = static_cast<unsigned>(std::max<std::size_t>(processors().size(), 1));
  options.settings.xxl = beside + "/../../bin/xxl";
  options.settings.machine = beside + "/machine/libxxl_machine.so";
  options.settings.tables = beside + "/tables/xxl-campaign-tables";
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, known), given);
  po::notify(given);
  if (given.contains("help")) {
    std::cout << known;
    return std::nullopt;
  }
  if (given.contains("case")) {
    options.cases = given["case"].as<std::vector<std::string>>();
    options.only_cases = true;
  } else if (!options.no_faults) {
    options.cases = kept_cases(XXL_CAMPAIGN_CASES);
  }
  read_seeds(seeds, options);
  if (minutes > 0) {
    options.end =
        Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(minutes * 60'000));
  }
  options.settings.xxl = fs::canonical(options.settings.xxl).string();
  // What is looked for beside this program need not be there.
  const auto find = [&](const char* name, std::string& path) {
    if (path == "none" || !fs::exists(path)) {
      if (given.contains(name) && path != "none") {
        throw std::runtime_error("no such file: --" + std::string(name) + '=' + path);
      }
      path.clear();
    } else {
      path = fs::canonical(path).string();
    }
  };
  find("machine", options.settings.machine);
  find("tables", options.settings.tables);
  return options;
}

// Whether it reads files of columns.
bool has_module(const std::string& xxl) {
  Invocation call;
  call.program = xxl;
  call.arguments = {"sort", "--record=parquet", "--key=x", "/dev/null"};
  call.environment = plain_environment();
  call.directory = "/";
  return run(call).error.find("module") == std::string::npos;
}

int run_campaign(Options options) {
  const bool own_directory = options.settings.work.empty();
  if (own_directory) {
    std::string name = "/dev/shm/xxl-campaign-XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), name);
    options.settings.work = name;
  }
  fs::create_directories(options.settings.work);
  options.settings.work = fs::canonical(options.settings.work).string();
  if (!options.settings.tables.empty() && !has_module(options.settings.xxl)) {
    std::cout << "no jobs of columns: the program lacks its module\n";
    options.settings.tables.clear();
  }
  fix_addresses();
  end_when_interrupted();
  Summary summary(options.repeat > 1);
  std::atomic<std::size_t> next_case = 0;
  std::atomic<std::uint64_t> next_seed = options.first_seed;
  const auto start = Clock::now();
  const std::vector<unsigned> allowed = processors();
  std::atomic<bool> broke_down = false;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < options.jobs; ++i) {
      threads.emplace_back([&, i] {
        try {
          pin_to_processor(allowed[i % allowed.size()]);
          Worker(options, i, next_case, next_seed, summary).work();
        } catch (const std::exception& error) {
          std::cerr << "xxl-campaign: " << error.what() << std::endl;
          broke_down = true;
        }
      });
    }
  }
  summary.check_share();
  summary.print(std::chrono::duration<double>(Clock::now() - start).count());
  if (!options.junit.empty()) summary.write_junit(options.junit);
  if (own_directory && !options.keep)
    fs::remove_all(options.settings.work);
  else
    std::cout << "directory: " << options.settings.work << '\n';
  return summary.failed() || broke_down ? 1 : 0;
}

}  // namespace
}  // namespace xxl::campaign

int main(int argc, char** argv) {
  try {
    if (auto options = xxl::campaign::parse(argc, argv))
      return xxl::campaign::run_campaign(std::move(*options));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "xxl-campaign: " << error.what() << '\n';
    return 2;
  }
}
