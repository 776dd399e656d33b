// Whether samples of an input of lines are in order: then it may be joined or copied as it is read,
// by callers that can recover from a wrong guess.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/file.h"
#include "job/inputs.h"
#include "record/key_extractor.h"
#include "record/record_syntax.h"

namespace xxl {

// The files of `paths`, to be sampled; nothing if one cannot be read twice, is compressed (which
// `recognize` tells), or is a directory, so that a guess would be useless. Throws Error.
std::optional<std::vector<io::File>> inputs_to_guess(const std::vector<std::string>& paths,
                                                     Recognize recognize);

// True if all samples of `input`, taken from its start to its end, are in the order of `keys`, each
// in itself and after the one before. False for what cannot be read at any place, for rows, as
// where they begin is known only from the start, and for records of a fixed size. Throws Error.
bool looks_sorted(const io::File& input, const RecordSyntax& syntax, const KeyExtractor& keys);

}  // namespace xxl
