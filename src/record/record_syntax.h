// How records of text follow one another in a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/field_syntax.h"

namespace xxl {

// The length of a counted record, before it.
using RecordCount = std::uint32_t;

// A last record without its terminator is a record like any other, and gets one in the output.
struct RecordSyntax {
  char terminator = '\n';        // '\0' with sort -z
  std::size_t record_bytes = 0;  // not 0: records are of this size, and nothing lies between them
  bool counted = false;          // records have no terminators: each follows its RecordCount
  bool rows = false;             // of fields, as RFC 4180 has them; blank lines are none
  FieldSyntax fields{};          // rows only
  bool header = false;           // the first record of each input is a header: kept first, once
  bool tolerant = false;         // rows only: malformed ones do not end the job
  // With tolerant: a quote that is not closed within as many bytes after its line is not
  // closed at all (RowSplitter).
  std::size_t most_open_bytes = ~std::size_t{0};

  // A terminator may be part of a field.
  bool quoted() const { return rows && (fields.quotes || fields.escape != '\0'); }
  // Then: it is if an odd number of quotes precedes it.
  bool counts_quotes() const { return quoted() && !tolerant && fields.escape == '\0'; }
  // What a record takes beside its own bytes.
  std::size_t frame_bytes() const {
    if (record_bytes != 0) return 0;
    return counted ? sizeof(RecordCount) : 1;
  }
};

}  // namespace xxl
