// Records of text one by one: the ranks of lines, and whether records are a permutation of others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "groups.h"
#include "job.h"

namespace xxl::campaign {

// The records of a job's text, with their ends, or binary ones. A last one of text without an end
// gets one. `record_bytes`: the size of binary records, if it is not that of the inputs.
std::vector<std::string> split_records(const Job& job, std::string_view bytes);
std::vector<std::string> split_records(const Job& job, std::string_view bytes,
                                       std::size_t record_bytes);

// Takes the header away, if the job has one.
std::string take_header(const Job& job, std::vector<std::string>& records);

// Lines as sort(1) writes them with --stable, and with --unique.
struct GroupedLines {
  bool ok = false;
  std::string sorted;
  std::string firsts;
};

// Nothing if `sort` cannot sort them.
std::optional<RankedInputs> rank_lines(const Job& job, const std::vector<std::string_view>& inputs,
                                       const std::function<GroupedLines(const std::string&)>& sort);

// Whether `output` has the records of all inputs, each as often.
bool is_permutation(const Job& job, const std::vector<std::string_view>& inputs,
                    std::string_view output);

}  // namespace xxl::campaign
