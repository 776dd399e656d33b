// What is said where records were lost, or do not fit where they must, in the order of a
// comparator.
#pragma once

#include <string_view>

namespace xxl {

inline constexpr std::string_view kCheckComparator =
    "the comparator is probably not a strict weak order (`<=` is none, nor is `<` of numbers with "
    "NaN among them); if it is one, check this machine's memory and disks";

}  // namespace xxl
