#include "groups.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace xxl::campaign {
namespace {

// Records with one key, in the order of the inputs, and how many each input has.
struct Group {
  std::vector<std::string> records;
  std::vector<std::size_t> counts;
};

// The first of them that is written, and how many are.
std::pair<std::size_t, std::size_t> selected(const Job& job, const Group& group) {
  const bool all = has(job.options, "--all");
  const std::size_t most = all ? group.records.size() : 1;
  if (job.operation == "union") return {0, most};
  if (job.operation == "intersect") {
    return {0, std::min(*std::ranges::min_element(group.counts), most)};
  }
  const std::size_t first = group.counts.front();
  const std::size_t others = group.records.size() - first;
  if (!all) return {0, others == 0 ? 1 : 0};
  const std::size_t taken = std::min(others, first);
  return {taken, first - taken};
}

// In the order that sort(1) gives lines with equal keys.
void sort_by_bytes(const Job& job, std::vector<std::string>& records) {
  const bool reverse = has(job.options, "--reverse");
  std::ranges::sort(records, [&](const std::string& a, const std::string& b) {
    const std::string_view x(a.data(), a.size() - 1), y(b.data(), b.size() - 1);
    return reverse ? y < x : x < y;
  });
}

}  // namespace

std::string cut_records(const Job& job, const std::vector<std::string>& records) {
  const std::size_t skip = std::min<std::size_t>(
      std::stoull(value_of(job.options, "--skip").value_or("0")), records.size());
  std::size_t left = records.size() - skip;
  for (const std::string_view name : {"--limit", "--head-count"}) {
    if (const auto most = value_of(job.options, name))
      left = std::min<std::size_t>(left, std::stoull(*most));
  }
  const auto from = records.begin() + static_cast<std::ptrdiff_t>(skip);
  return std::accumulate(from, from + static_cast<std::ptrdiff_t>(left), std::string());
}

std::string set_reference(const Job& job, const RankedInputs& ranked) {
  std::map<std::size_t, Group> groups;
  for (std::size_t i = 0; i < ranked.inputs.size(); ++i) {
    for (const Ranked& one : ranked.inputs[i]) {
      Group& group = groups[one.rank];
      group.records.push_back(one.record);
      group.counts.resize(ranked.inputs.size());
      ++group.counts[i];
    }
  }
  std::vector<std::string> result;
  for (auto& [rank, group] : groups) {
    const auto [from, count] = selected(job, group);
    if (job.operation == "union" && count > 1 && kind_of(job) == Kind::lines)
      sort_by_bytes(job, group.records);
    const auto first = group.records.begin() + static_cast<std::ptrdiff_t>(from);
    result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(count));
  }
  return ranked.header + cut_records(job, result);
}

std::string first_of_each_key(const Job& job, const RankedInputs& ranked) {
  std::set<std::size_t> seen;
  std::vector<std::string> result;
  for (const auto& input : ranked.inputs) {
    for (const Ranked& one : input) {
      if (seen.insert(one.rank).second) result.push_back(one.record);
    }
  }
  return ranked.header + cut_records(job, result);
}

}  // namespace xxl::campaign
