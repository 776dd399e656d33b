// How files are compressed: the words of --compression as Arrow's codecs.
#pragma once

#include <arrow/util/compression.h>

#include <string_view>

#include "columns/files/module_table.h"

namespace xxl::arrow_module {

// The codec of `word` in files of `format`. Throws Failed if there is none, or not with this level
// (0: the default).
::arrow::Compression::type codec_of(module_table::Format format, std::string_view word, int level);

}  // namespace xxl::arrow_module
