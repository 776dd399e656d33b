// Files that are compressed where their names say so. References are made of the job without that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "job.h"

namespace xxl::campaign {

// What names end with.
inline constexpr std::string_view kSuffixes[] = {".gz", ".zst", ".lz4"};

bool is_compressed(std::string_view path);

// The content of a file of that name: `bytes` themselves, or several frames of them.
std::string as_file(std::string_view path, const std::string& bytes);
// The other way; nothing if it is not valid.
std::optional<std::string> content_of(std::string_view path, const std::string& file);

// The same job, with plain files.
Job uncompressed(Job job);

}  // namespace xxl::campaign
