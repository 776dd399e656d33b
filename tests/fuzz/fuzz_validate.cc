// Any bytes as a file of records, whole and in parts: what validate says, compared with records
// taken one after the other; and parts that are not what their manifest says.
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fuzz_input.h"
#include "job/part_directory.h"
#include "job/part_manifest.h"
#include "record/key_layout.h"
#include "testdata/validate.h"

namespace xxl {
namespace {

namespace fs = std::filesystem;
using fuzz::require;

class Directory {
 public:
  Directory() {
    std::string path = "/dev/shm/fuzz_validate.XXXXXX";
    require(mkdtemp(path.data()) != nullptr);
    path_ = path;
    fs::create_directory(path_ / "parts");
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string operator/(const char* name) const { return path_ / name; }
  void write(const char* name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

 private:
  fs::path path_;
};

ValidateReport reference(const RecordFormat& format, std::string_view file) {
  const KeyLayout layout(format);
  ValidateReport report;
  for (std::size_t at = 0; at < file.size(); at += format.record_bytes, ++report.records) {
    const char* const record = file.data() + at;
    report.checksum +=
        crc32(0, reinterpret_cast<const Bytef*>(record), static_cast<uInt>(format.record_bytes));
    if (at == 0) continue;
    const int order =
        layout.compare(reinterpret_cast<const std::byte*>(record) - format.record_bytes,
                       reinterpret_cast<const std::byte*>(record));
    if (order == 0) ++report.duplicate_keys;
    if (order > 0 && report.unordered_records++ == 0) report.first_unordered = report.records;
  }
  return report;
}

void require_same(const ValidateReport& a, const ValidateReport& b) {
  require(a.records == b.records && a.checksum == b.checksum &&
          a.duplicate_keys == b.duplicate_keys && a.first_unordered == b.first_unordered &&
          a.unordered_records == b.unordered_records);
}

template <class F>
bool fails(ErrorCode code, F&& f) {
  try {
    f();
    return false;
  } catch (const Error& error) {
    require(error.code() == code);
    return true;
  }
}

PartManifest::Part describe(const Directory& directory, const char* name,
                            const RecordFormat& format) {
  const io::File file = io::File::open_input(directory / name);
  PartManifest::Part part;
  part.file = fs::path(name).filename();
  part.bytes = file.size();
  part.records = part.bytes / format.record_bytes;
  part.checksum = part_checksum(file, part.bytes);
  return part;
}

void check_parts(const Directory& directory, const RecordFormat& format, std::string_view file,
                 std::size_t first_records, std::size_t damaged) {
  const std::size_t first = std::min(first_records * format.record_bytes, file.size());
  directory.write("parts/a", file.substr(0, first));
  directory.write("parts/b", file.substr(first));
  PartManifest manifest;
  manifest.record = format.name;
  manifest.parts = {describe(directory, "parts/a", format), describe(directory, "parts/b", format)};
  directory.write("parts/_manifest.json", manifest.text());
  require(validate_parts(directory / "parts") == 2);
  require_same(validate(format, directory / "parts"), reference(format, file));
  if (first == file.size()) return;
  std::string changed(file.substr(first));
  changed[damaged % changed.size()] ^= 1;
  directory.write("parts/b", changed);
  require(fails(ErrorCode::corrupt, [&] { validate_parts(directory / "parts"); }));
  changed.push_back('x');
  directory.write("parts/b", changed);
  require(fails(ErrorCode::bad_input, [&] { validate_parts(directory / "parts"); }));
  require(fails(ErrorCode::bad_input, [&] { validate(format, directory / "parts"); }));
}

}  // namespace
}  // namespace xxl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  static const Directory directory;
  fuzz::Input input(data, size);
  constexpr const char* kFormats[] = {"gensort", "u32", "kv32", "f64", "fixed:3"};
  const RecordFormat format = parse_record_format(kFormats[input.choose(5)]);
  const unsigned parallel = 1 + input.choose(2);
  const std::size_t first = input.choose(256), damaged = input.choose(256);
  std::string_view file = input.rest();
  if (first % 2 == 0) {
    file.remove_suffix(file.size() % format.record_bytes);
    check_parts(directory, format, file, first / 2, damaged);
    return 0;
  }
  directory.write("file", file);
  const auto check = [&] {
    require_same(validate(format, directory / "file", parallel), reference(format, file));
  };
  fuzz::require(fails(ErrorCode::bad_input, check) == (file.size() % format.record_bytes != 0));
  return 0;
}
