// What is in the inputs: records made to be awkward.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "job.h"

namespace xxl::campaign {

// Of all kinds but for `bytes` and `long`, which binary records do not have.
inline constexpr std::string_view kShapes[] = {
    "words",                    // of few different keys
    "wide",                     // of many, without order
    "ascending", "descending",  // the same in the order of their bytes
    "equal",                    // all the same
    "few",                      // of five
    "bytes",                    // any bytes
    "long",                     // longer than a block
};

// The columns of rows; the first line of a file, and names for --header.
inline constexpr std::string_view kColumns[] = {"id", "name", "amount", "day", "note"};

// Of tables in files of columns (tables.h).
inline constexpr std::string_view kTableColumns[] = {"id",   "name", "amount", "flag",
                                                     "code", "day",  "tags"};

// Of columns rows as text. Without regard to Input::presorted. The same job and input give the same
// bytes.
std::string contents_of(const Job& job, const Input& input);

// The first field separator of the job's lines or rows.
char separator_of(const Job& job);

}  // namespace xxl::campaign
