// What a directory of parts says about its files (docs/parts.md): manifest.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace xxl {

inline constexpr const char* kManifestName = "manifest.json";

struct PartManifest {
  struct Part {
    std::string file;  // its name in the directory
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

// PartManifest::Part::checksum of `file`, of `bytes`, which is read: if what is written to it is
// noted, compared with that. Throws Error.
std::uint64_t part_checksum(const io::File& file, std::uint64_t bytes);

// What text() made. Throws Error{bad_input} naming `path` if it is not such a manifest.
PartManifest parse_manifest(std::string_view text, const std::string& path);

// Of `directory`; none if it has no file of that name. Throws Error{bad_input} if that is not such
// a manifest.
std::optional<PartManifest> read_manifest(const std::string& directory);

// `paths`, with each directory of parts replaced by its files, in the order of their keys, without
// empty ones. Throws
// Error{bad_input} if a file has not the size that the manifest says.
std::vector<std::string> with_parts(const std::vector<std::string>& paths);

// Throws Error{io} unless the directory, which exists, may be replaced by another one of parts: it
// holds what its manifest says, and nothing else.
void check_replaceable_parts(const std::string& directory);

}  // namespace xxl
