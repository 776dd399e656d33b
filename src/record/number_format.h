// How people write numbers, said by an example: 1.234,56 or $1,234.56 or 12,5 %.
//
//   example        thousands   decimal mark   reads
//   1.234,56       .           ,              1.234,56   1234,56   -0,5   1.000.000
//   1 234,56 EUR   blank       ,              1 234,56   7 EUR   (blanks of other widths, too)
//   1,234          ,           .              1,234      1,234.5
//   $1234.56       none        .              $5         -$5.10    5
//
// A mark that three digits follow, after one to three, separates thousands; the last mark is the
// decimal mark otherwise. What stands before and after the digits (a currency, %) may be left out
// in a field. It does not change the value: 12% is 12.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace xxl {

class NumberFormat {
 public:
  // None if `example` is not such an example.
  static std::optional<NumberFormat> parse(std::string_view example);
  // Bytes of the example that `text` starts with, which ends at a ':', if `comma_ends` at a ','
  // after the number, or with the text. 0: there is none, as for a text that starts with a letter
  // where `letter_starts` is false.
  static std::size_t example_at(std::string_view text, bool comma_ends, bool letter_starts);

  // Sets `plain` to the number in `field`, -?digits[.digits], of any length. False if it is none.
  bool read(std::string_view field, std::string& plain) const;
  // The same, the other way round: -?digits[.digits] as people write it.
  std::string written(std::string_view plain) const;

 private:
  // The digits and marks that `text` starts with. False if it starts with no digit.
  bool parse_digits(std::string_view text, std::size_t& size);
  bool takes_thousands_mark(std::string_view& text) const;

  std::string before_;     // what is in front of the digits, with blanks
  std::string after_;      // and behind them
  std::string thousands_;  // a character; empty: none
  std::string decimal_ = ".";
};

}  // namespace xxl
