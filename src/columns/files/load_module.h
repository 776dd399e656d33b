// Finds and loads the optional module that reads and writes files of columns.
#pragma once

#include "columns/files/module_table.h"

namespace xxl {

// The module's functions; it is loaded by the first call, and stays. It is $XXL_MODULE_PATH if that
// is set, else libxxl_arrow.so in ../lib/xxl beside the directory of the program. Throws
// Error{usage} that says how to get it if there is none, or one of another version.
const module_table::ModuleTable& load_arrow_module();

// Throws what `failure` says.
[[noreturn]] void throw_failure(const module_table::Failure& failure);

}  // namespace xxl
