// What a job has to leave, by another way than its own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job.h"

namespace xxl::campaign {

// Programs, and where references are made: a directory that looks like that of the job, as far as
// inputs go, and is empty otherwise.
struct Tools {
  std::string xxl;
  std::string directory;
  std::string tables;  // xxl-campaign-tables; empty: there are no files of columns
};

struct Expected {
  int status = 0;
  std::string output;         // of parts: of all of them together, the header once
  std::string error = {};     // what the program said, when it was the reference for itself
  std::size_t row_bytes = 0;  // rows come in any order: records of that size,
  bool any_order = false;     // or else lines
  std::string_view by;        // the reference: "records", "sort(1)", "xxl" and so on
};

// The environment of everything that the campaign runs.
std::vector<std::string> plain_environment();

// The contents of the inputs by path (of columns: rows as text). Those of Input::presorted are
// sorted as the job wants them.
std::map<std::string, std::string> make_inputs(const Job& job, const Tools& tools);

// Inputs must lie in the directory of `tools`; `inputs` are their contents (of columns as text).
Expected expect(const Job& job, const std::map<std::string, std::string>& inputs,
                const Tools& tools);

// Whether a file below "out" is a part of it.
bool is_part(std::string_view path);
// Whether standard output has a number and no rows.
bool prints_count(const Job& job);

// The contents of a directory of parts, one after the other, without repeated headers.
std::string bytes_of_parts(const Job& job, const std::map<std::string, std::string>& files);

}  // namespace xxl::campaign
