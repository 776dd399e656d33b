// Dates and times as a format of strptime(3) says: %d/%m/%Y %H:%M.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "record/iso_date.h"

namespace xxl {

// What a format may have (the same in every locale):
//
//   %Y  year, 4 digits        %m  month, 1 to 12       %H  hour, 0 to 23     %p  AM or PM
//   %y  year, 69 is 1969,     %b  month, by its name,  %I  hour, 1 to 12     %z  +0130, +01:30, Z
//       68 is 2068            %B    whole or 3 letters %M  minute            %a  weekday, by its
//   %d  day of the month      %j  day of the year      %S  second            %A    name
//   %e  the same              %h  as %b                %f  fraction, 1 to 9 digits
//
// and %F (%Y-%m-%d), %D (%m/%d/%y), %T (%H:%M:%S), %R (%H:%M), %%. A blank stands for any number of
// blanks, also none. Numbers may lack leading zeros. What a format does not have is the first of
// its kind: year 0, January, day 1, midnight.
class DateFormat {
 public:
  // Why `text` is not a format; nothing if it is one.
  static std::optional<std::string> fault_of(std::string_view text);

  // REQUIRES: there is no fault.
  explicit DateFormat(std::string_view text);

  // Nothing if `text` is not such a date, is not in the calendar, or continues after it.
  std::optional<Moment> read(std::string_view text) const;

 private:
  std::string text_;  // without %F, %D, %T, %R
};

}  // namespace xxl
