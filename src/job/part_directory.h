// Directories of parts as inputs, and as what an output replaces: their manifests, compared with
// the files that are there. The data of these is not read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/part_manifest.h"

namespace xxl {

// The manifest of `directory`; none if it has no file of that name. Throws Error{bad_input} if that
// is not a valid manifest, if one of its files is not there in the size that it says, or if there
// is a part that it does not have.
std::optional<PartManifest> read_manifest(const std::string& directory);

// The path of a file in `directory`.
std::string path_in(const std::string& directory, const std::string& file);

// `paths`, with each directory of parts replaced by its files, in the order of their keys, without
// empty ones. Throws as read_manifest().
std::vector<std::string> with_parts(std::vector<std::string> paths);

// For inputs of which a directory stands for all files in it, whatever made them: throws as
// read_manifest() for those of `paths` that are directories of parts.
void check_parts(const std::vector<std::string>& paths);

// Throws Error{io} unless the directory, which exists, may be replaced by another one of parts: it
// holds what its manifest says, and nothing else.
void check_replaceable_parts(const std::string& directory);

}  // namespace xxl
