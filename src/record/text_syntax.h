// How records of text follow one another in a file.
#pragma once

namespace xxl {

// A last record without its terminator is a record like any other, and gets one in the output.
struct TextSyntax {
  char terminator = '\n';       // '\0' with sort -z
  bool quoted = false;          // rows of RFC 4180: a terminator between quotes is part of a field
  char separator = ',';         // of the fields of a row (quoted only)
  bool header = false;          // the first record of each input is a header: kept first, once
  bool skip_malformed = false;  // quoted only: leave malformed rows out and count them
};

}  // namespace xxl
