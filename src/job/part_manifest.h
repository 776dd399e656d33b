// The manifest of a directory of parts, _manifest.json (docs/internals/parts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace xxl {

// Other programs do not read files as data whose names begin with '_'.
inline constexpr const char* kManifestName = "_manifest.json";

// Whose names sort.
inline constexpr std::size_t kMostParts = 100'000;

// The most bytes of a manifest: 1 KiB for each part.
inline constexpr std::uint64_t kMostManifestBytes = (kMostParts + 1) * 1024;

// The most bytes of a key in a manifest. With more than kMostPartsOfLongKeys parts, keys are short:
// the manifest must not exceed kMostManifestBytes, and JSON may need six bytes for one.
inline constexpr std::size_t kMostKeyBytes = 256;
inline constexpr std::size_t kShortKeyBytes = 40;
inline constexpr std::size_t kMostPartsOfLongKeys = 10'000;

struct PartManifest {
  struct Part {
    std::string file;  // its path in the directory: maybe in one of its own, NAME=VALUE
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    std::string first_key;  // of its records; empty if there are none
    std::string last_key;
    std::uint64_t checksum = 0;  // sector_checksum()

    friend bool operator==(const Part&, const Part&) = default;
  };
  std::string record;  // their kind, as --record has it
  std::vector<Part> parts;

  // As JSON.
  std::string text() const;

  friend bool operator==(const PartManifest&, const PartManifest&) = default;
};

// The text of a manifest, made part by part: so it takes little more memory than its text.
class ManifestText {
 public:
  // `record`: their kind. `records`, `bytes`: of all parts.
  ManifestText(const std::string& record, std::uint64_t records, std::uint64_t bytes);
  void add(const PartManifest::Part& part);
  // After the last part.
  std::string finish() &&;
  // The checksum that finish() writes: of the text without it.
  std::uint64_t checksum();

 private:
  std::string text_;
};

// The name of the file of a part, by its number, without an ending.
std::string part_name(std::size_t part);
// The name of a file in a directory of its own, NAME=VALUE, that has `number` files already.
std::string name_in_directory(std::size_t number);
// The ending that `record`, a kind of records, gives to such names: .csv. Empty for binary records.
std::string part_ending(std::string_view record);
// The ending of such a name; none for other names.
std::optional<std::string> ending_of_part(std::string_view name);

// PartManifest::Part::checksum of `file`, of `bytes`, which is read: if what is written to it is
// noted, compared with that. Throws Error.
std::uint64_t part_checksum(const io::File& file, std::uint64_t bytes);

// What text() made. Throws Error{bad_input} naming `path` and the place in it, if it is not such a
// manifest, contradicts itself, or was changed.
PartManifest parse_manifest(std::string_view text, const std::string& path);

// True if `text` is meant to be such a manifest, broken or not: other programs have files of that
// name.
bool is_meant_as_manifest(std::string_view text);

}  // namespace xxl
