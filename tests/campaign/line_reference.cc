#include "line_reference.h"

#include <algorithm>
#include <unordered_map>

#include "row_reference.h"

namespace xxl::campaign {

std::vector<std::string> split_records(const Job& job, std::string_view bytes,
                                       std::size_t record_bytes) {
  std::vector<std::string> records;
  if (kind_of(job) == Kind::rows) {
    for (const std::string_view row : split_rows(bytes)) records.emplace_back(row);
  } else {
    const char terminator = terminator_of(job);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = record_bytes != 0
                                  ? at + record_bytes
                                  : std::min(bytes.find(terminator, at), bytes.size() - 1) + 1;
      records.emplace_back(bytes.substr(at, end - at));
      at = end;
    }
  }
  const bool ends =
      records.empty() || record_bytes != 0 || records.back().back() == terminator_of(job);
  if (!ends) records.back() += terminator_of(job);
  return records;
}

std::vector<std::string> split_records(const Job& job, std::string_view bytes) {
  return split_records(job, bytes, kind_of(job) == Kind::binary ? format_of(job).record_bytes : 0);
}

std::string take_header(const Job& job, std::vector<std::string>& records) {
  if (!has(job.options, "--header") || records.empty()) return {};
  std::string header = std::move(records.front());
  records.erase(records.begin());
  return header;
}

std::optional<RankedInputs> rank_lines(
    const Job& job, const std::vector<std::string_view>& inputs,
    const std::function<GroupedLines(const std::string&)>& sort) {
  RankedInputs ranked;
  std::string all;
  for (const std::string_view input : inputs) {
    std::vector<std::string> lines = split_records(job, input);
    const std::string header = take_header(job, lines);
    if (ranked.header.empty()) ranked.header = header;
    auto& records = ranked.inputs.emplace_back();
    for (std::string& line : lines) {
      all += line;
      records.push_back({std::move(line), 0});
    }
  }
  const GroupedLines grouped = sort(all);
  if (!grouped.ok) return std::nullopt;
  // Equal lines have equal keys, and each key begins with its first line.
  const std::vector<std::string> firsts = split_records(job, grouped.firsts);
  std::unordered_map<std::string, std::size_t> ranks;
  std::size_t begun = 0;
  for (std::string& line : split_records(job, grouped.sorted)) {
    if (begun < firsts.size() && line == firsts[begun]) ++begun;
    ranks.emplace(std::move(line), begun);
  }
  for (auto& records : ranked.inputs) {
    for (Ranked& one : records) one.rank = ranks.at(one.record);
  }
  return ranked;
}

bool is_permutation(const Job& job, const std::vector<std::string_view>& inputs,
                    std::string_view output) {
  std::vector<std::string> wanted;
  for (const std::string_view input : inputs) {
    std::vector<std::string> records = split_records(job, input);
    take_header(job, records);
    wanted.insert(wanted.end(), std::make_move_iterator(records.begin()),
                  std::make_move_iterator(records.end()));
  }
  std::vector<std::string> found = split_records(job, output);
  take_header(job, found);
  std::ranges::sort(wanted);
  std::ranges::sort(found);
  return wanted == found;
}

}  // namespace xxl::campaign
