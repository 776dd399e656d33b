// What the program finds out about its machine.
#pragma once

#include <string>

namespace xxl::cli {

// Name of the processor, or "unknown".
std::string processor_name();

}  // namespace xxl::cli
