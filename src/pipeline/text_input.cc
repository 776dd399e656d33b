#include "pipeline/text_input.h"

#include <utility>

namespace xxl {

TextInputs open_text_inputs(const std::vector<std::string>& paths) {
  TextInputs inputs;
  const auto open = [&](const std::string& path) {
    TextInput input;
    input.file = io::File::open_input(path);
    if (input.stored()) {
      inputs.bytes += input.file.size();
    } else {
      inputs.size_known = false;
    }
    inputs.push_back(std::move(input));
  };
  if (paths.empty()) open("-");
  for (const std::string& path : paths) open(path);
  return inputs;
}

}  // namespace xxl
