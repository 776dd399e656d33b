// Whether an input of lines looks sorted, by samples of it: then it may be joined or copied as it
// is read, and whoever does so must be ready to be wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/job.h"
#include "io/file.h"
#include "record/key_extractor.h"
#include "record/text_syntax.h"

namespace xxl {

// The files of `paths`, to be looked at; nothing if one cannot be read twice, or is compressed, so
// that a guess would be of no use. Throws Error.
std::optional<std::vector<io::File>> inputs_to_guess(const std::vector<std::string>& paths,
                                                     const JobOptions& options);

// True if all samples of `input`, taken from its start to its end, are in the order of `keys`, each
// in itself and to the one before. False of what cannot be read at any place, and of rows: only
// their start says where they begin. Throws Error.
bool looks_sorted(const io::File& input, const TextSyntax& syntax, const KeyExtractor& keys);

}  // namespace xxl
