// Writes a stream of batches to the files of a target.
#pragma once

#include "columns/files/module_table.h"

namespace xxl::arrow_module {

// Writes all of `in`. Throws Failed, also for what `in` reports.
module_table::TargetFacts write_stream(const module_table::TargetOptions& options,
                                       ArrowArrayStream* in);

}  // namespace xxl::arrow_module
