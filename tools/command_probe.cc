// xxl probe.
#include "command.h"

namespace xxl::cli {

int run_probe(const ParsedOptions& options) {
  throw_usage(options.command(), "probe is not built yet");
}

}  // namespace xxl::cli
