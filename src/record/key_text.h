// Keys of binary records as text that people and programs can read.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "record/record_format.h"

namespace xxl {

// What gives the key of a record of `format`: numbers in decimal, byte strings in hexadecimal, the
// fields of a key of several separated by commas. Empty if a comparator is the key.
std::function<std::string(std::string_view record)> key_text_of(const RecordFormat& format);

}  // namespace xxl
