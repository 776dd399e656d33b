#include "base/same_file.h"

#include <filesystem>
#include <system_error>

namespace xxl {

bool is_same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  // A relative name of which nothing exists stays relative otherwise.
  const auto whole = [&](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name, error), error);
  };
  return whole(a) == whole(b);
}

}  // namespace xxl
