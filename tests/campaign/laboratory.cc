#include "laboratory.h"

#include <filesystem>
#include <utility>

#include "compressed.h"
#include "contents.h"
#include "process.h"
#include "random.h"
#include "tables.h"

namespace xxl::campaign {
namespace {

constexpr std::uint64_t kRandomSourceBytes = 4096;

std::string in_two_digits(unsigned number) {
  return {char('0' + number / 10), char('0' + number % 10)};
}

std::string random_source() {
  std::string bytes;
  Random random(1);
  while (bytes.size() < kRandomSourceBytes) bytes += static_cast<char>(random());
  return bytes;
}

// Parts as the program writes them, of something else.
Tree make_old_parts(const Tools& tools) {
  write_tree(tools.directory,
             {{"in/", ""}, {"in/a", "b\na\nc\n"}, {"out/", ""}, {"scratch0/", ""}});
  Invocation call;
  call.program = tools.xxl;
  call.arguments = {"sort", "--parts=2", "--temporary-directory=scratch0", "in/a",
                    "--output=out/result"};
  call.environment = plain_environment();
  call.directory = tools.directory;
  run(call);
  return read_tree(tools.directory + "/out");
}

// Of the inputs, for --files0-from.
std::string names_of(const Job& job) {
  std::string names;
  for (const Input& input : job.inputs) names += input.path + '\0';
  return names;
}

std::string quoted(const std::string& word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

Laboratory::Laboratory(const Settings& settings, unsigned worker)
    : settings_(settings),
      directory_(settings.work + "/w" + in_two_digits(worker)),
      beside_(settings.work + "/m" + in_two_digits(worker)),
      tools_{settings.xxl, settings.work + "/r" + in_two_digits(worker), settings.tables} {
  std::filesystem::create_directories(beside_);
  old_parts_ = make_old_parts(tools_);
}

void Laboratory::prepare(const Job& job) {
  job_ = job;
  const Job plain = uncompressed(job);
  write_tree(tools_.directory, {{"in/", ""}, {"out/", ""}, {"scratch0/", ""}});
  before_ = {{"in/random", random_source()}, {"in/", ""}, {"out/", ""}};
  before_["in/names"] = names_of(job);
  write_file(tools_.directory + "/in/random", before_["in/random"]);
  write_file(tools_.directory + "/in/names", names_of(plain));
  auto inputs = make_inputs(plain, tools_);
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    const std::string& path = job.inputs[i].path;
    std::string& bytes = inputs.at(plain.inputs[i].path);
    const std::string in_reference = tools_.directory + '/' + plain.inputs[i].path;
    if (kind_of(job) == Kind::columns) {
      before_[path] = table_file(job, job.inputs[i], bytes, tools_);
      bytes = table_text(job, before_[path], tools_).value();
      write_file(in_reference, before_[path]);
    } else {
      before_[path] = as_file(path, bytes);
      write_file(in_reference, bytes);
    }
  }
  for (unsigned i = 0; i < job.scratch_directories; ++i) before_[scratch_directory(i) + '/'];
  if (job.target == Target::replaced) before_[output_path(job)] = "the old output\n";
  if (job.target == Target::replaced_parts) {
    for (const auto& [path, bytes] : old_parts_) before_["out/" + path] = bytes;
  }
  expected_ = expect(plain, inputs, tools_);
}

Run Laboratory::run(const Plan& plan) {
  write_tree(directory_, before_);
  Invocation call;
  call.program = settings_.xxl;
  call.arguments = arguments_of(job_);
  call.environment = plain_environment();
  call.directory = directory_;
  for (const Input& input : job_.inputs) {
    if (input.through == Through::file) continue;
    const std::string& bytes = before_.at(input.path);
    if (input.through == Through::pipe && bytes.size() <= kPipeBytes && !has_machine())
      call.piped = bytes;
    else
      call.input_file = input.path;
  }
  // On a simulated machine files are taken for pipes.
  call.output_through_pipe =
      job_.target == Target::pipe && !has_machine() && expected_.output.size() <= kPipeBytes / 2;
  const std::string plan_file = beside_ + "/plan";
  const std::string report_file = beside_ + "/report";
  if (has_machine()) {
    std::string text = "root " + directory_ + "\nreport " + report_file + '\n';
    text += "role " + directory_ + "/out output\n";
    // The directory of an input that is replaced is that of the output.
    if (job_.target != Target::first_input) {
      text += "role " + directory_ + "/in input\n";
    } else {
      text += "role " + directory_ + "/in output\n";
      for (const auto& [path, bytes] : before_) {
        const bool other = path != "in/" && path != job_.inputs.front().path;
        if (path.starts_with("in/") && other)
          text += "role " + directory_ + '/' + path + " input\n";
      }
    }
    for (unsigned i = 0; i < job_.scratch_directories; ++i) {
      text += "role " + directory_ + '/' + scratch_directory(i) + " scratch\n";
    }
    for (const Input& input : job_.inputs) {
      if (input.through == Through::pipe) text += "stdin pipe\n";
    }
    if (job_.target == Target::pipe) text += "stdout pipe\n";
    for (const std::string& line : lines_of(plan)) text += line + '\n';
    write_file(plan_file, text);
    std::filesystem::remove(report_file);
    call.environment.push_back("XXL_MACHINE=" + plan_file);
    call.environment.push_back("LD_PRELOAD=" + settings_.machine);
  }
  Ended ended = campaign::run(call);
  Report report;
  if (has_machine() && std::filesystem::exists(report_file))
    report = read_report(read_file(report_file));
  Tree after = read_tree(directory_);
  std::string found = content_of_output(after, ended.output);
  std::string manifest_error =
      after.contains(std::string(kOutput) + "/_manifest.json") ? validate_parts() : "";
  return {job_,
          plan,
          expected_,
          before_,
          std::move(after),
          std::move(ended),
          std::move(found),
          std::move(report),
          std::move(manifest_error)};
}

std::string Laboratory::content_of_output(const Tree& after, const std::string& printed) const {
  constexpr std::string_view kNotValid = "a file that is not valid";  // which nothing expects
  const bool columns = kind_of(job_) == Kind::columns;
  const auto content = [&](const std::string& path, const std::string& bytes) {
    return (columns ? table_text(job_, bytes, tools_) : content_of(path, bytes))
        .value_or(std::string(kNotValid));
  };
  switch (job_.target) {
    case Target::none:
      return printed;
    case Target::standard_output:
    case Target::pipe:
      return columns && !prints_count(job_) && !printed.empty() ? content("", printed) : printed;
    case Target::parts:
    case Target::replaced_parts: {
      Tree parts;
      for (const auto& [path, bytes] : after) {
        if (path.starts_with("out/") && is_part(path.substr(4)))
          parts[path.substr(4)] = content(path, bytes);
        else if (path == std::string(kOutput) + "/_manifest.json")
          parts[path.substr(4)] = bytes;
      }
      return bytes_of_parts(job_, parts);
    }
    default: {
      const auto found = after.find(output_path(job_));
      return found == after.end() ? std::string() : content(found->first, found->second);
    }
  }
}

// On the machine we have.
std::string Laboratory::validate_parts() const {
  Invocation call;
  call.program = settings_.xxl;
  call.arguments = {"validate", std::string(kOutput)};
  call.environment = plain_environment();
  call.directory = directory_;
  const Ended ended = campaign::run(call);
  return ended.status == 0 ? "" : "validate: " + ended.error;
}

std::vector<Broken> Laboratory::test(const Case& one, unsigned repeats) {
  prepare(one.job);
  const Run first = run(one.plan);
  std::vector<Broken> broken = check(first);
  for (unsigned i = 1; i < repeats && broken.empty(); ++i) {
    broken = check_repeated(first, run(one.plan));
  }
  return broken;
}

std::string Laboratory::command_line() const {
  std::string text = "cd " + directory_ + " && ";
  if (has_machine())
    text += "XXL_MACHINE=" + beside_ + "/plan LD_PRELOAD=" + settings_.machine + ' ';
  text += "LC_ALL=C " + settings_.xxl;
  for (const std::string& argument : arguments_of(job_)) text += ' ' + quoted(argument);
  for (const Input& input : job_.inputs) {
    if (input.through == Through::standard_input) text += " < " + input.path;
    if (input.through == Through::pipe) text += " < <(cat " + input.path + ")";
  }
  return text;
}

}  // namespace xxl::campaign
