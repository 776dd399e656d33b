// The keys of a sort, in plain words.
#pragma once

#include <string>
#include <vector>

#include "job/files/job_spec.h"

namespace xxl::cli {

// "column price, number, descending, empty first", for each key. Throws Error{usage}.
std::vector<std::string> key_words(const SortSpec& spec);

}  // namespace xxl::cli
