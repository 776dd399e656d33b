// Numbers of sort(1) as parts of a key: options n, h and g. Every part delimits itself: none is a
// prefix of another.
#pragma once

#include <locale.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "record/byte_classes.h"
#include "record/key_stretch.h"

namespace xxl {

// Option n: blanks, a minus sign, digits with separators of thousands, a decimal point, digits; as
// many as there are. Anything else is zero, like -0 and the empty text.
//
// With the value written 0.DDDD x 10^E, without zeros in front or at the end: one byte for sign and
// E, then the digits, two a byte, doubled, plus one if further digits follow.
//
//   0      80
//   12.5   80+32+2 = a2   2*12+1 = 19   2*50 = 64      (E = 2, digits 12 5)
//   -12.5  the same, all bits inverted
void append_numeric_key(std::string_view text, const ByteClasses& classes, KeyStretch& key);

// Option h: as n, after a byte for the unit (K M G T P E Z Y, negative for negative numbers).
void append_human_numeric_key(std::string_view text, const ByteClasses& classes, KeyStretch& key);

// Option g: what strtold reads in locale `locale`. One byte for the class (no number, NaN, number),
// then NaNs as their bits lie in memory, numbers as sign, exponent and mantissa from the highest
// bit down, inverted if negative, the sign inverted otherwise.
void append_general_numeric_key(std::string_view text, const ByteClasses& classes, locale_t locale,
                                std::string& key);

}  // namespace xxl
