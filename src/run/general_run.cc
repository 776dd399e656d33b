#include "run/general_run.h"

#include <algorithm>

namespace xxl {

std::string_view separator(std::string_view before, std::string_view first, bool& separates) {
  const std::size_t most = std::min(before.size(), first.size());
  std::size_t common = 0;
  while (common < most && before[common] == first[common]) ++common;
  separates = common < first.size() && common < kMaxTriggerBytes;
  return first.substr(0, separates ? common + 1 : std::min(first.size(), kMaxTriggerBytes));
}

}  // namespace xxl
