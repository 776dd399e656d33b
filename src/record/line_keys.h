// Keys of lines in the order of sort(1), as byte strings.
//
// The encodings: docs/internals/text-keys.md.
#pragma once

#include <memory>

#include "record/key_extractor.h"
#include "record/line_order.h"

namespace xxl {

// Keys that order lines as `order` says, in the locale that the process has now (setlocale is
// called before; later changes make no difference). Lines are without their terminators; they may
// have bytes 0. Throws Error{usage} for options that exclude each other.
std::shared_ptr<const KeyExtractor> make_line_keys(const LineOrder& order);

}  // namespace xxl
