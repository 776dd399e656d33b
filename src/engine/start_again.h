// Starts a sort again on the CPU after a failure of an optional accelerator.
#pragma once

#include <string>

#include "base/error.h"
#include "io/open_files.h"
#include "xxl/sort.h"

namespace xxl {

// Runs a `Sort`, made of `options`: it has run(), and may_start_again(), which says after a failure
// whether nothing has been output. Throws what that throws.
template <class Sort, class Options>
SortReport run_or_start_again(const Options& options) {
  const io::StandardInputPlace input;
  std::string failure;
  {
    Sort sort(options);
    try {
      return sort.run();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::device || !sort.may_start_again()) throw;
      failure = error.what();
    }
  }
  // Nothing is lost: the input is unchanged, and no output has appeared.
  input.restore();
  Options on_cpu = options;
  on_cpu.acceleration = Acceleration::never;
  SortReport report = Sort(on_cpu).run();
  report.plan.no_accelerator = failure;
  return report;
}

}  // namespace xxl
