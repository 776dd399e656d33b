// Byte strings as parts of a key.
//
// A part that others follow, or that is reversed, needs an end that sorts before every continuation
// of it. Byte 0 ends it; bytes 0 and 1 of the text are escaped by a preceding byte 1, and so stay
// above the end and in order:
//
//   "a"    61 00            "a\0"  61 01 01 00       "a\1"  61 01 02 00      "a\2"  61 02 00
#pragma once

#include <cstddef>
#include <string>

namespace xxl {

// Turns key[from, end) into a delimited part; without its end if it is not `complete`.
void delimit_byte_string(std::string& key, std::size_t from, bool complete = true);

}  // namespace xxl
