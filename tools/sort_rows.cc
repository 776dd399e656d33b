// xxl sort of rows: --record=csv and --record=tsv.
#include <cstdio>

#include "base/error.h"
#include "base/units.h"
#include "machine.h"
#include "record/line_order.h"
#include "sort_shared.h"

namespace xxl::cli {

int sort_rows(const Caller& caller, const ParsedOptions& options) {
  (void)caller;
  throw_usage(options.command(), "--record=" + options.value("record", "") + " is not built yet");
}

}  // namespace xxl::cli
