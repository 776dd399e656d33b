// The commands of xxl-mpi.
#pragma once

#include "cli/option_spec.h"

namespace xxl::cli {

// Their options are those of xxl sort and xxl join that make sense for several ranks.
const CommandSpec& mpi_sort_command();
const CommandSpec& mpi_join_command();

}  // namespace xxl::cli
