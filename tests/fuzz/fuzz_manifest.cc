// Any text as the manifest of a directory of parts: one line of error, or what is written and read
// the same again.
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fuzz_input.h"
#include "job/part_manifest.h"

namespace xxl {
namespace {

using fuzz::require;

void check_manifest(std::string_view text) {
  PartManifest manifest;
  try {
    manifest = parse_manifest(text, "manifest");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_input);
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return;
  }
  std::set<std::string> names;
  for (const PartManifest::Part& part : manifest.parts) {
    // Each is a file of its own in the directory.
    require(!part.file.empty() && part.file != "." && part.file != "..");
    require(part.file.find_first_of(std::string_view("/\0", 2)) == std::string::npos);
    require(names.insert(part.file).second);
  }
  require(parse_manifest(manifest.text(), "manifest") == manifest);
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xxl::check_manifest({reinterpret_cast<const char*>(data), size});
  return 0;
}
