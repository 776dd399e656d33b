#include "case_file.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace xxl::campaign {
namespace {

constexpr std::array<std::pair<Target, std::string_view>, 8> kTargets{{
    {Target::fresh, "fresh"},
    {Target::replaced, "replaced"},
    {Target::first_input, "first_input"},
    {Target::standard_output, "standard_output"},
    {Target::pipe, "pipe"},
    {Target::parts, "parts"},
    {Target::replaced_parts, "replaced_parts"},
    {Target::none, "none"},
}};

std::string write_input(const Input& input) {
  std::string line = "input " + input.path + ' ' + input.shape + ' ' +
                     std::to_string(input.records) + ' ' + std::to_string(input.seed);
  if (input.unended) line += " unended";
  if (input.carriage) line += " carriage";
  if (input.presorted) line += " presorted";
  if (input.through == Through::standard_input) line += " stdin";
  if (input.through == Through::pipe) line += " pipe";
  return line;
}

Input read_input(std::istringstream& words) {
  Input input;
  words >> input.path >> input.shape >> input.records >> input.seed;
  if (!words) throw std::runtime_error("an input");
  for (std::string word; words >> word;) {
    if (word == "unended")
      input.unended = true;
    else if (word == "carriage")
      input.carriage = true;
    else if (word == "presorted")
      input.presorted = true;
    else if (word == "stdin")
      input.through = Through::standard_input;
    else if (word == "pipe")
      input.through = Through::pipe;
    else
      throw std::runtime_error(word);
  }
  return input;
}

void read_case_line(const std::string& name, const std::string& rest, Case& one) {
  std::istringstream words(rest);
  if (name == "command")
    words >> one.job.command;
  else if (name == "operation")
    words >> one.job.operation;
  else if (name == "option")
    one.job.options.push_back(rest);
  else if (name == "resource")
    one.job.resources.push_back(rest);
  else if (name == "input")
    one.job.inputs.push_back(read_input(words));
  else if (name == "suffix")
    words >> one.job.output_suffix;
  else if (name == "scratch")
    words >> one.job.scratch_directories;
  else if (name == "target") {
    const auto* const found =
        std::ranges::find(kTargets, rest, &std::pair<Target, std::string_view>::second);
    if (found == kTargets.end()) throw std::runtime_error("a target");
    one.job.target = found->first;
  } else if (name != "machine" || !read_line(rest, one.plan)) {
    throw std::runtime_error(name);
  }
}

}  // namespace

std::string write_case(const Case& one) {
  const Job& job = one.job;
  std::string text = "command " + job.command + '\n';
  if (!job.operation.empty()) text += "operation " + job.operation + '\n';
  for (const std::string& option : job.options) text += "option " + option + '\n';
  for (const std::string& option : job.resources) text += "resource " + option + '\n';
  for (const Input& input : job.inputs) text += write_input(input) + '\n';
  const auto* const target =
      std::ranges::find(kTargets, job.target, &std::pair<Target, std::string_view>::first);
  text += "target " + std::string(target->second) + '\n';
  if (!job.output_suffix.empty()) text += "suffix " + job.output_suffix + '\n';
  text += "scratch " + std::to_string(job.scratch_directories) + '\n';
  for (const std::string& line : lines_of(one.plan)) text += "machine " + line + '\n';
  return text;
}

Case read_case(const std::string& text) {
  Case one;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t blank = line.find(' ');
    const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    try {
      read_case_line(line.substr(0, blank), rest, one);
    } catch (const std::exception& error) {
      throw std::runtime_error("not understood: '" + line + "': " + error.what());
    }
  }
  if (one.job.inputs.empty()) throw std::runtime_error("a case without inputs");
  return one;
}

}  // namespace xxl::campaign
