#include "job/phase_name.h"

namespace xxl {

std::string phase_name(Phase phase, unsigned pass, unsigned passes) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::forming_runs:
      return "forming runs";
    case Phase::merging:
      if (passes <= 1) return "merging";
      return "merging, pass " + std::to_string(pass) + " of " + std::to_string(passes);
    case Phase::joining:
      return "joining";
    case Phase::building_table:
      return "building the table";
    case Phase::probing:
      return "probing";
    case Phase::verifying:
      return "verifying";
    case Phase::finishing:
      return "finishing";
  }
  return "";
}

}  // namespace xxl
