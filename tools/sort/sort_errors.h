// Errors of files in the words of sort(1), for scripts that match them.
#pragma once

#include "job/files/job_spec.h"

namespace xxl::cli {

// Throws `error`, met by `sort` or a check of its input. What sort(1) words differently is thrown
// as a CommandLineError with its words, each line after `prefix`.
[[noreturn]] void throw_as_sort(const Error& error, const SortSpec& sort, bool is_check,
                                const std::string& prefix);

}  // namespace xxl::cli
