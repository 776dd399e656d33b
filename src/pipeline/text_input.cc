#include "pipeline/text_input.h"

#include <utility>

#include "pipeline/decoded_file.h"

namespace xxl {

void TextInputs::make_decoders(io::IoService& io, Monitor& monitor) {
  for (TextInput& input : *this) {
    if (input.codec == Codec::none) continue;
    input.decoder = std::make_unique<DecodedFile>(input.file, input.codec, io, monitor);
  }
}

TextInputs open_text_inputs(const std::vector<std::string>& paths, bool by_suffix) {
  TextInputs inputs;
  const auto open = [&](const std::string& path) {
    TextInput input;
    input.file = io::File::open_input(path);
    if (by_suffix) input.codec = io::codec_of(path);
    if (input.codec != Codec::none) ++inputs.compressed;
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
