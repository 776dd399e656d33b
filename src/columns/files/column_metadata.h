// Metadata of columns that have a meaning here.
#pragma once

namespace xxl {

// Why the values of a column have no order, though its type says nothing of that.
constexpr const char* kNoOrderKey = "xxl:no-order";

// Values of an Enum of Polars, in their order: "2;lo3;mid2;hi".
constexpr const char* kPolarsEnumKey = "_PL_ENUM_VALUES2";
constexpr const char* kOldPolarsEnumKey = "_PL_ENUM_VALUES";

}  // namespace xxl
