// Names of months as parts of a key: option M of sort(1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/byte_classes.h"

namespace xxl {

// The abbreviated names of months in the locale of the process when this is made.
class MonthNames {
 public:
  explicit MonthNames(const ByteClasses& classes);

  // 1 to 12 if `text` starts with the name of a month after blanks, in upper or lower case; else 0,
  // before all months.
  int month_of(std::string_view text, const ByteClasses& classes) const;

 private:
  struct Month {
    std::string name;  // without blanks, upper case
    int number = 0;
  };
  std::vector<Month> months_;  // by name
};

}  // namespace xxl
