// What a directory of parts says about its files (docs/parts.md): manifest.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
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

// What a part of a manifest says of the content of a file.
struct FileSum {
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;

  friend bool operator==(const FileSum&, const FileSum&) = default;
};
// Fills `data` from `offset` on; returns the bytes, fewer only at the end.
using ReadBytes = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> data)>;
// Reads a file to its end.
FileSum sum_of(const ReadBytes& read);
FileSum sum_of(const io::File& file);

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
