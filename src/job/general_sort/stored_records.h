// What the records of an input take in scratch: for the space that is reserved before they are
// read.
#pragma once

#include <cstdint>

#include "job/general_sort/general_plan.h"
#include "job/general_sort/record_sizes.h"
#include "job/inputs.h"
#include "record/record_syntax.h"
#include "record/record_tags.h"

namespace xxl {

// About how many records `inputs` of known size have, how many bytes they take with their tags and
// lengths, and the longest one: from samples that are spread over all of them. Files that cannot be
// sampled are left out; reading them will tell why.
StoredRecords sample_records(const Inputs& inputs, const RecordSyntax& syntax,
                             const RecordTags& tags = {});

// Scratch that runs of these records take at most while they are formed and merged, whatever the
// order of the records.
std::uint64_t most_scratch_bytes(const GeneralGeometry& geometry, const StoredRecords& records);

}  // namespace xxl
