// Whether an input of lines looks sorted, by samples of it: then it may be joined or copied as it
// is read, and whoever does so must be ready to be wrong.
#pragma once

#include "engine/inputs.h"
#include "record/key_extractor.h"
#include "record/text_syntax.h"

namespace xxl {

// True if all samples of `input`, taken from its start to its end, are in the order of `keys`, each
// in itself and to the one before. False of what cannot be read at any place, and of rows: only
// their start says where they begin. Throws Error.
bool looks_sorted(const io::File& input, const TextSyntax& syntax, const KeyExtractor& keys);

}  // namespace xxl
