// Names with version numbers as parts of a key: option V of sort(1), ls -v.
//
// A name is compared first without its suffix (the longest end of the form .x.y.z, each starting
// with a letter or ~), then whole. Within, stretches of other bytes and numbers alternate; a number
// that is missing is 0, and so the end of a name is like "0" without end. In the other stretches ~
// comes before the end, then letters, then all else. One byte for each of these:
//
//   ~   0 before ~   end   0 before other   number: its length, digits   letters   others
//
//   "a1.b"   61' N 1 digit 1, end (of "a1"); then what follows it in the whole name: .' b' end
//   "a0"     61' end end                     (' is the place of a byte in that order)
//
// Before all this, a byte for names that always come first: "", ".", "..", then names with a
// period.
#pragma once

#include <string>
#include <string_view>

#include "record/key_stretch.h"

namespace xxl {

// Delimits itself.
void append_version_key(std::string_view text, KeyStretch& key);

}  // namespace xxl
