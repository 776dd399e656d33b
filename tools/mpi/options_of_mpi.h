// The command sort of xxl-mpi.
#pragma once

#include "cli/option_spec.h"

namespace xxl::cli {

// Its options are those of xxl sort that make sense for several ranks.
const CommandSpec& mpi_sort_command();

}  // namespace xxl::cli
