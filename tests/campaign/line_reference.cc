#include "line_reference.h"

#include <algorithm>
#include <array>
#include <map>

namespace xxl::campaign {

std::vector<std::string> split_records(const Job& job, std::string_view bytes) {
  std::vector<std::string> records;
  const bool binary = kind_of(job) == Kind::binary;
  const std::size_t record_bytes = binary ? format_of(job).record_bytes : 0;
  const char terminator = terminator_of(job);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end =
        binary ? at + record_bytes : std::min(bytes.find(terminator, at), bytes.size() - 1) + 1;
    records.emplace_back(bytes.substr(at, end - at));
    if (!binary && records.back().back() != terminator) records.back() += terminator;
    at = end;
  }
  return records;
}

std::optional<std::string> set_reference(const Job& job,
                                         const std::vector<std::string_view>& inputs) {
  static constexpr std::array kKnown{"--all", "--zero-terminated", "--merge", "--files0-from"};
  for (const std::string& option : job.options) {
    if (std::ranges::find(kKnown, option.substr(0, option.find('='))) == kKnown.end()) {
      return std::nullopt;
    }
  }
  // How often each input has the line.
  std::map<std::string, std::vector<std::uint64_t>> lines;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::string& line : split_records(job, inputs[i])) {
      line.pop_back();  // a prefix comes before what is longer
      std::vector<std::uint64_t>& counts = lines[std::move(line)];
      counts.resize(inputs.size());
      ++counts[i];
    }
  }
  const bool all = has(job.options, "--all");
  std::string result;
  for (auto& [line, counts] : lines) {
    std::uint64_t times = 0;
    if (job.operation == "union") {
      for (const std::uint64_t count : counts) times += count;
    } else if (job.operation == "intersect") {
      times = *std::ranges::min_element(counts);
    } else {
      times = counts.front();
      for (std::size_t i = 1; i < counts.size(); ++i) {
        // Without --all one elsewhere takes away all of them.
        times -= std::min(times, all || counts[i] == 0 ? counts[i] : times);
      }
    }
    if (!all) times = std::min<std::uint64_t>(times, 1);
    for (; times > 0; --times) result += line + terminator_of(job);
  }
  return result;
}

bool is_permutation(const Job& job, const std::vector<std::string_view>& inputs,
                    std::string_view output) {
  std::vector<std::string> wanted;
  for (const std::string_view input : inputs) {
    std::vector<std::string> records = split_records(job, input);
    wanted.insert(wanted.end(), std::make_move_iterator(records.begin()),
                  std::make_move_iterator(records.end()));
  }
  std::vector<std::string> found = split_records(job, output);
  std::ranges::sort(wanted);
  std::ranges::sort(found);
  return wanted == found;
}

}  // namespace xxl::campaign
