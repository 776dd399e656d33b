// What a file is, by its first bytes: text, or something that is never sorted as lines.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/codec.h"

namespace xxl::io {

// Bytes of the head of a file that recognize_content() looks at.
inline constexpr std::size_t kContentBytes = 512;

// The codec if a file that begins with `head` (kContentBytes, or the whole file) is compressed;
// otherwise Codec::none. Throws Error{bad_input} if it is a table (Parquet, Arrow) or an archive;
// `path` is for the message.
Codec recognize_content(std::span<const std::byte> head, const std::string& path);

}  // namespace xxl::io
